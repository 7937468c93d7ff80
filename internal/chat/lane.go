package chat

import (
	"context"
	"slices"

	"verbatim/internal/id"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

// lane is one conversation's run and what waits behind it. It exists while it
// has either, or a command at work. Whether what waits is held the log says.
type lane struct {
	conversation id.Conversation
	// turn is held by the one command that changes the conversation.
	turn chan struct{}

	// Guarded by Service.mu.
	run     *active
	waiting []*active
	// owesHold says that what waits is not to start by itself though the log
	// doesn't say so yet; somebody is telling it. Only where something waits.
	owesHold, telling bool
	// users counts the commands that hold or want the turn.
	users int
}

// enter waits for the turn to change a conversation. release gives it back.
func (s *Service) enter(ctx context.Context, c id.Conversation) (l *lane, release func(), err error) {
	s.mu.Lock()
	l = s.lanes[c]
	if l == nil {
		l = &lane{conversation: c, turn: make(chan struct{}, 1)}
		s.lanes[c] = l
	}
	l.users++
	s.mu.Unlock()
	select {
	case l.turn <- struct{}{}:
		return l, func() { <-l.turn; s.leave(l) }, nil
	case <-ctx.Done():
		s.leave(l)
		return nil, nil, ctx.Err()
	}
}

func (s *Service) leave(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.users--
	s.tidy(l)
}

// tidy drops a lane that holds nothing. Service.mu is held.
func (s *Service) tidy(l *lane) {
	if l.users == 0 && l.run == nil && len(l.waiting) == 0 {
		delete(s.lanes, l.conversation)
	}
}

// current returns the lane's run, and how many wait behind it.
func (s *Service) current(l *lane) (run *active, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return l.run, len(l.waiting)
}

// adopt takes up what waits in a conversation by its log and is not in the lane
// yet, as after a start of the process or an import. state was read since the
// lane's turn is held, so nothing that waits is missing from it.
func (s *Service) adopt(l *lane, state *transcript.Conversation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(state.Queue) == len(l.waiting) {
		return
	}
	var waiting []*active
	for _, q := range state.Queue {
		i := slices.IndexFunc(l.waiting, func(a *active) bool { return a.run == q.Run })
		if i >= 0 {
			waiting = append(waiting, l.waiting[i])
			continue
		}
		a := newWaiting(l.conversation, q)
		s.runs[a.run] = a
		waiting = append(waiting, a)
	}
	l.waiting = waiting
}

// newWaiting returns a run whose message is in the queue of the log.
func newWaiting(c id.Conversation, q transcript.Queued) *active {
	a := newActive(q.Run, c, q.Request)
	a.info = turnlog.RunInfo{Run: q.Run, Conversation: c, Request: q.Request, Queued: q.Seq}
	a.waits = &intent{regenerate: q.RegenerateOf, noTools: q.NoTools, via: q.Via, queued: true}
	if q.RegenerateOf == "" {
		a.waits.user = new(q.Message)
	}
	close(a.started)
	return a
}
