package chat

import (
	"context"
	"time"

	"verbatim/internal/agent"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

// UndoTime is how long a deletion can be undone. Then what was deleted is
// erased.
const UndoTime = 30 * time.Second

// Delete hides a conversation at once; what waits in it is dropped and its run
// cancelled first. A later message begins it anew. Missing when it is not there.
func (s *Service) Delete(ctx context.Context, c id.Conversation, via event.Via) error {
	l, release, err := s.enter(ctx, c)
	if err != nil {
		return err
	}
	defer release()
	state, err := s.facts(ctx, c)
	if err != nil {
		return err
	}
	if !hasRows(state) && len(state.Queue) == 0 {
		return missing(c)
	}
	s.adopt(l, state)
	if err := s.stopLane(ctx, l, event.Cancelled{By: "delete", Via: via}); err != nil {
		return err
	}
	if err := s.idle(ctx, l); err != nil {
		return err
	}
	return s.hide(ctx, c, event.ConversationDeleted{Via: via})
}

// idle waits until a lane's run, which was stopped, is over.
func (s *Service) idle(ctx context.Context, l *lane) error {
	run, _ := s.current(l)
	if run == nil {
		return nil
	}
	select {
	case <-run.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hide records a deletion and lets the eraser know.
func (s *Service) hide(ctx context.Context, c id.Conversation, gone ...event.Event) error {
	var drafts []turnlog.Draft
	for _, e := range gone {
		drafts = append(drafts, turnlog.Draft{Event: e})
	}
	if _, err := s.opt.Log.Append(ctx, c, drafts...); err != nil {
		return err
	}
	s.forgetShown(c)
	select {
	case s.doomed <- struct{}{}:
	default:
	}
	return nil
}

func (s *Service) forgetShown(c id.Conversation) {
	if s.opt.Hidden != nil {
		s.opt.Hidden(c)
	}
}

// DeleteAll deletes every conversation and returns how many there were.
func (s *Service) DeleteAll(ctx context.Context, via event.Via) (int, error) {
	n := 0
	for {
		list, err := s.opt.Log.Conversations(ctx, turnlog.Query{Limit: 1000})
		if err != nil || len(list) == 0 {
			return n, err
		}
		for _, c := range list {
			if err := s.Delete(ctx, c.Conversation, via); err != nil {
				return n, err
			}
			n++
		}
	}
}

// Restore undoes the deletion of a conversation. Missing when there is none to
// undo, or its time is over.
func (s *Service) Restore(ctx context.Context, c id.Conversation) error {
	return s.restore(ctx, c, "", event.ConversationRestored{})
}

// DeleteMessage hides a turn, question and answer, at once; a run of it is
// cancelled first, what waits behind it goes on. It returns how many rows are
// left. Refusals: Missing, Conflict.
func (s *Service) DeleteMessage(ctx context.Context, c id.Conversation, target Target, via event.Via) (remaining int, err error) {
	l, release, err := s.enter(ctx, c)
	if err != nil {
		return 0, err
	}
	defer release()
	row, _, err := s.row(ctx, c, target)
	if err != nil {
		return 0, err
	}
	if err := s.stopTurn(ctx, l, row.Turn, via); err != nil {
		return 0, err
	}
	// Its run may have come to another end than the one it was told.
	state, err := s.facts(ctx, c)
	if err != nil {
		return 0, err
	}
	gone := []event.Event{event.MessageDeleted{Message: row.Turn.User.Message, Via: via}}
	if state.Held {
		// What holds the queue may be the end of this turn's run, which will
		// be erased.
		gone = append(gone, event.Queue{Op: event.QueueHold, Via: via})
	}
	if err := s.hide(ctx, c, gone...); err != nil {
		return 0, err
	}
	state, err = s.facts(ctx, c)
	if err != nil {
		return 0, err
	}
	return len(state.Rows()), nil
}

// stopTurn cancels the lane's run if it is of this turn, and waits for its end.
func (s *Service) stopTurn(ctx context.Context, l *lane, t *transcript.Turn, via event.Via) error {
	s.mu.Lock()
	ours := false
	for _, run := range t.Runs {
		if l.run != nil && l.run.run == run.ID {
			ours = true
			l.run.cancel(&agent.Stop{Terminal: event.Cancelled{By: "delete", Via: via}})
		}
	}
	s.mu.Unlock()
	if !ours {
		return nil
	}
	return s.idle(ctx, l)
}

// RestoreMessage undoes the deletion of a turn, named by its user message.
// Missing when there is none to undo, or its time is over.
func (s *Service) RestoreMessage(ctx context.Context, c id.Conversation, user id.Message) error {
	return s.restore(ctx, c, user, event.MessageRestored{Message: user})
}

func (s *Service) restore(ctx context.Context, c id.Conversation, user id.Message, undo event.Event) error {
	_, release, err := s.enter(ctx, c)
	if err != nil {
		return err
	}
	defer release()
	all, err := s.opt.Log.Doomed(ctx)
	if err != nil {
		return err
	}
	for _, d := range all {
		if d.Conversation != c || d.Message != user || s.opt.Now().After(due(d)) {
			continue
		}
		_, err := s.opt.Log.Append(ctx, c, turnlog.Draft{Event: undo})
		return err
	}
	return refuse(Missing, "There is nothing to bring back: it was not deleted, or more than %d seconds ago.", int(UndoTime.Seconds()))
}

func due(d turnlog.Doomed) time.Time { return time.UnixMilli(d.At).Add(UndoTime) }
