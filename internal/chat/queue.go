package chat

import (
	"context"
	"errors"
	"slices"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

// MaxQueue is how many messages of a conversation may wait.
const MaxQueue = 20

// enqueue commits a request to the queue. The lane's turn is held.
func (s *Service) enqueue(ctx context.Context, l *lane, a *active, in *intent) error {
	if _, waiting := s.current(l); waiting >= MaxQueue {
		return refuse(TooMany, "%d messages wait in this conversation already; wait for an answer, or take one out.", MaxQueue)
	}
	q := event.Queue{
		Op: event.QueueAdd, Run: a.run, Message: in.user, RegenerateOf: in.regenerate,
		NoTools: in.noTools, Request: a.request, Via: in.via,
	}
	records, err := s.opt.Log.Append(ctx, l.conversation, turnlog.Draft{Event: q})
	if errors.Is(err, turnlog.ErrFull) {
		return full()
	}
	if err != nil {
		return err
	}
	in.queued = true
	s.mu.Lock()
	defer s.mu.Unlock()
	a.waits = in
	a.info = turnlog.RunInfo{Run: a.run, Conversation: l.conversation, Request: a.request, Queued: records[0].Seq}
	l.waiting, l.owesHold = append(l.waiting, a), false
	return nil
}

// next starts what waits after a run has ended.
func (s *Service) next(c id.Conversation) {
	l, release, err := s.enter(context.Background(), c)
	if err != nil {
		return
	}
	defer release()
	s.startWaiting(context.Background(), l)
}

// startWaiting starts the first that waits, unless the conversation has a run or
// its queue is held. The lane's turn is held. One that can't be started any more
// is dropped; when the log refuses, the queue is held.
func (s *Service) startWaiting(ctx context.Context, l *lane) {
	for dropped := true; dropped; {
		a := s.first(l)
		if a == nil {
			return
		}
		dropped = s.startOrDrop(ctx, l, a)
		s.all.Done()
	}
}

// first returns the run whose turn it is, or nil; the caller owes s.all a Done.
func (s *Service) first(l *lane) *active {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping || l.owesHold || l.run != nil || len(l.waiting) == 0 {
		return nil
	}
	s.all.Add(1)
	return l.waiting[0]
}

// startOrDrop reports whether the run was dropped, so that the turn is that of
// the next.
func (s *Service) startOrDrop(ctx context.Context, l *lane, a *active) (dropped bool) {
	err := s.startQueued(ctx, l, a)
	if err == nil {
		return false
	}
	var refused *Error
	if errors.As(err, &refused) && refused.Code == Missing {
		err = s.drop(ctx, l, []*active{a}, event.Via{Surface: "system"})
		if err == nil {
			return true
		}
	}
	s.opt.Logger.Error("start queued run", "conversation", l.conversation, "run", a.run, "err", err)
	s.hold(l)
	return false
}

// startQueued starts a run that waits. In a held queue it does nothing: whether
// the end of the last run holds what waits depends on which of the two the log
// has first.
func (s *Service) startQueued(ctx context.Context, l *lane, a *active) error {
	state, err := s.facts(ctx, l.conversation)
	if err != nil || state.Held {
		return err
	}
	if !s.opt.Log.HasRoom() {
		return turnlog.ErrFull
	}
	_, err = s.start(ctx, l, a, state, a.waits)
	return err
}

// drop takes messages out of the queue unsent, as one unit. The lane's turn is
// held.
func (s *Service) drop(ctx context.Context, l *lane, out []*active, via event.Via) error {
	if len(out) == 0 {
		return nil
	}
	var drafts []turnlog.Draft
	for _, a := range out {
		drafts = append(drafts, turnlog.Draft{Event: event.Queue{Op: event.QueueRemove, Run: a.run, Via: via}})
	}
	if _, err := s.opt.Log.Append(ctx, l.conversation, drafts...); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l.waiting = slices.DeleteFunc(l.waiting, func(a *active) bool { return slices.Contains(out, a) })
	l.owesHold = l.owesHold && len(l.waiting) > 0
	for _, a := range out {
		a.waits = nil
		delete(s.runs, a.run)
		close(a.done)
	}
	return nil
}

// waitingIn returns what waits in a lane.
func (s *Service) waitingIn(l *lane) []*active {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(l.waiting)
}

// EditQueued changes the text of a message that waits. Missing when it does not
// wait any more.
func (s *Service) EditQueued(ctx context.Context, c id.Conversation, run id.Run, text string, via event.Via) error {
	l, release, err := s.enter(ctx, c)
	if err != nil {
		return err
	}
	defer release()
	a, err := s.waitingRun(ctx, l, run)
	if err != nil {
		return err
	}
	if a == nil || a.waits.user == nil {
		return notWaiting(run)
	}
	changed := *a.waits.user
	if err := checkPrompt(text, len(changed.Attachments)); err != nil {
		return err
	}
	changed.Text = text
	q := event.Queue{Op: event.QueueEdit, Run: run, Message: &changed, Request: a.request, Via: via}
	if _, err := s.opt.Log.Append(ctx, c, turnlog.Draft{Event: q}); err != nil {
		return err
	}
	a.waits.user = &changed
	return nil
}

// waitingRun returns what waits of a run, nil when nothing does. The lane's turn
// is held.
func (s *Service) waitingRun(ctx context.Context, l *lane, run id.Run) (*active, error) {
	if a := s.findWaiting(l, run); a != nil {
		return a, nil
	}
	state, err := s.facts(ctx, l.conversation)
	if err != nil {
		return nil, err
	}
	s.adopt(l, state)
	return s.findWaiting(l, run), nil
}

func (s *Service) findWaiting(l *lane, run id.Run) *active {
	for _, a := range s.waitingIn(l) {
		if a.run == run {
			return a
		}
	}
	return nil
}

func notWaiting(run id.Run) *Error {
	return refuse(Missing, "No message of run %s waits in this chat; it was sent or taken out.", run)
}

// RemoveQueued takes a message out of the queue. Missing when it does not wait
// any more.
func (s *Service) RemoveQueued(ctx context.Context, c id.Conversation, run id.Run, via event.Via) error {
	l, release, err := s.enter(ctx, c)
	if err != nil {
		return err
	}
	defer release()
	a, err := s.waitingRun(ctx, l, run)
	if err != nil {
		return err
	}
	if a == nil {
		return notWaiting(run)
	}
	return s.drop(ctx, l, []*active{a}, via)
}

// Resume lets a held queue go on. On one that is not held it changes nothing.
// Conflict while the run before it could not be stored to its end.
func (s *Service) Resume(ctx context.Context, c id.Conversation, via event.Via) error {
	l, release, err := s.enter(ctx, c)
	if err != nil {
		return err
	}
	defer release()
	// Whoever has seen the end that holds the queue must be able to resume it.
	if err := s.settled(ctx, l); err != nil {
		return err
	}
	state, err := s.facts(ctx, c)
	if err != nil {
		return err
	}
	s.adopt(l, state)
	s.mu.Lock()
	held := state.Held || l.owesHold
	s.mu.Unlock()
	if !held {
		return nil
	}
	if _, err := s.opt.Log.Append(ctx, c, turnlog.Draft{Event: event.Queue{Op: event.QueueResume, Via: via}}); err != nil {
		return err
	}
	s.mu.Lock()
	l.owesHold = false
	s.mu.Unlock()
	s.startWaiting(context.WithoutCancel(ctx), l)
	return nil
}

// Queue is what waits in a conversation.
type Queue struct {
	Held bool
	// Waiting are in order; Returned were taken out unsent since the last
	// message was sent.
	Waiting, Returned []transcript.Queued
}

// Queue returns what waits in a conversation; nothing for one that is not there.
func (s *Service) Queue(ctx context.Context, c id.Conversation) (Queue, error) {
	state, err := s.facts(ctx, c)
	if err != nil {
		return Queue{}, err
	}
	return Queue{Held: state.Held, Waiting: state.Queue, Returned: state.Returned}, nil
}
