package chat

import (
	"context"

	"verbatim/internal/id"
)

// lane is one conversation's run and what waits behind it. It exists while it
// has either, or a command at work.
type lane struct {
	conversation id.Conversation
	// turn is held by the one command that changes the conversation.
	turn chan struct{}

	// Guarded by Service.mu.
	run     *active
	waiting []*active
	// held says that what waits is not started by itself.
	held bool
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
