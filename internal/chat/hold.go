package chat

import (
	"context"
	"errors"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// hold keeps what waits from starting until somebody resumes it or sends
// something new. It is for a queue that the log would let go on: the log is told
// once the lane has no run, again and again until it takes it. A process that
// ends before that forgets it. The lane's turn is held.
func (s *Service) hold(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.owesHold = true
	if l.telling || s.stopping {
		return
	}
	l.telling = true
	s.all.Add(1)
	go func() {
		defer s.all.Done()
		s.tellHold(l.conversation)
	}()
}

func (s *Service) tellHold(c id.Conversation) {
	for wait := firstCloseWait; ; {
		busy, err := s.tryHold(c)
		var again <-chan time.Time
		switch {
		case busy != nil:
		case err == nil:
			return
		default:
			s.opt.Logger.Error("hold queue", "conversation", c, "err", err, "again_in", wait)
			again = time.After(wait)
			wait = min(2*wait, maxCloseWait)
		}
		select {
		case <-busy:
		case <-again:
		case <-s.ending:
			return
		}
	}
}

// tryHold tells the log that a queue is held. While the lane has a run it does
// nothing, and returns what is closed at its end: a good end lets a queue go on.
// An error is worth another try.
func (s *Service) tryHold(c id.Conversation) (busy chan struct{}, err error) {
	ctx := context.Background()
	l, release, err := s.enter(ctx, c)
	if err != nil {
		return nil, err
	}
	defer release()
	s.mu.Lock()
	run, owed := l.run, l.owesHold
	s.mu.Unlock()
	if owed && run != nil {
		return run.done, nil
	}
	if owed {
		err = s.writeHold(ctx, c)
	}
	over := errors.Is(err, turnlog.ErrFenced) || errors.Is(err, turnlog.ErrClosed)
	if err != nil && !over {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l.owesHold, l.telling = over, false
	return nil, nil
}

func (s *Service) writeHold(ctx context.Context, c id.Conversation) error {
	state, err := s.facts(ctx, c)
	if err != nil || state.Held {
		return err
	}
	_, err = s.opt.Log.Append(ctx, c, turnlog.Draft{Event: event.Queue{Op: event.QueueHold, Via: event.Via{Surface: "system"}}})
	return err
}
