package e2e

import (
	"context"
	"errors"
	"fmt"
	"time"

	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

var testVia = event.Via{Surface: "test"}

// maxChats bounds the conversations of a schedule, forks included.
const maxChats = 6

func (s *schedule) anyRow() chat.Target { return chat.Target{Index: s.random.IntN(8)} }

func (s *schedule) deleteChat() error {
	c := s.anyChat()
	s.note("delete %s", c)
	return s.allow(s.engine.chat.Delete(context.Background(), c, testVia), chat.Missing)
}

func (s *schedule) deleteMessage() error {
	c, row := s.anyChat(), s.anyRow()
	s.note("delete row %s of %s", row, c)
	left, err := s.engine.chat.DeleteMessage(context.Background(), c, row, testVia)
	if err != nil {
		return s.allow(err, chat.Missing)
	}
	state, err := s.state(c)
	if err == nil && len(state.Rows()) < left {
		err = fmt.Errorf("%d rows are left after a deletion that left %d", len(state.Rows()), left)
	}
	return err
}

// undo brings back something that was deleted and not yet erased.
func (s *schedule) undo() error {
	all, err := s.engine.log.Doomed(context.Background())
	if err != nil || len(all) == 0 {
		return err
	}
	d := all[s.random.IntN(len(all))]
	s.note("undo the deletion of %s in %s", d.Message, d.Conversation)
	if d.Message == "" {
		err = s.engine.chat.Restore(context.Background(), d.Conversation)
	} else {
		err = s.engine.chat.RestoreMessage(context.Background(), d.Conversation, d.Message)
	}
	return s.allow(err, chat.Missing)
}

func (s *schedule) rename() error {
	c := s.anyChat()
	s.note("rename %s", c)
	return s.allow(s.engine.chat.Rename(context.Background(), c, fmt.Sprint("Title ", s.random.IntN(10))), chat.Missing)
}

func (s *schedule) chooseVersion() error {
	c, row, n := s.anyChat(), s.anyRow(), s.random.IntN(3)
	s.note("show version %d of row %s of %s", n, row, c)
	shown, err := s.engine.chat.SetVersion(context.Background(), c, row, n)
	if err != nil {
		return s.allow(err, chat.Missing)
	}
	state, err := s.state(c)
	if err != nil {
		return err
	}
	for _, r := range state.Rows() {
		if r.Index == row.Index && r.Turn.Active().ID != shown.Run && r.Turn.Runs[len(r.Turn.Runs)-1].Terminal != 0 {
			return fmt.Errorf("%s is shown, and run %s was chosen", r.Turn.Active().ID, shown.Run)
		}
	}
	return nil
}

func (s *schedule) fork() error {
	if len(s.chats) >= maxChats {
		return nil
	}
	c, row := s.anyChat(), s.anyRow()
	before, err := s.state(c)
	if err != nil {
		return err
	}
	s.note("fork %s at row %s", c, row)
	made, err := s.engine.chat.Fork(context.Background(), c, row)
	if err != nil {
		return s.allow(err, chat.Missing, chat.Full)
	}
	s.adopt(made)
	copied, err := s.state(made)
	if err != nil {
		return err
	}
	return sameRows(copied, before, row.Index+1)
}

func (s *schedule) adopt(c id.Conversation) {
	s.note("  it is %s", c)
	s.chats, s.forks[c] = append(s.chats, c), true
}

// sameRows compares a fork with the first rows of its source as it was before.
// An answer that was being given may have come further.
func sameRows(copied, source *transcript.Conversation, n int) error {
	got, want := copied.Rows(), source.Rows()
	if len(got) != n {
		return fmt.Errorf("a fork at row %d has %d rows", n-1, len(got))
	}
	for i := range got {
		g, w := got[i].Turn, want[i].Turn
		if got[i].Role != want[i].Role || g.User.Text != w.User.Text {
			return fmt.Errorf("row %d of a fork is %q, of its source %q", i, g.User.Text, w.User.Text)
		}
		if got[i].Role == transcript.RoleUser {
			continue
		}
		for j, run := range w.Runs {
			if run.Terminal != 0 && g.Runs[j].Content() != run.Content() {
				return fmt.Errorf("an answer of a fork is %q, of its source %q", g.Runs[j].Content(), run.Content())
			}
		}
	}
	return nil
}

func (s *schedule) editAndSend() error {
	if len(s.chats) >= maxChats {
		return nil
	}
	c, row := s.anyChat(), s.anyRow()
	r := s.newMessage()
	s.note("edit row %s of %s and send %s", row, c, r.Run)
	info, err := s.engine.chat.EditAndSend(context.Background(), c, row, r)
	if err != nil {
		return s.allow(err, chat.Missing, chat.Invalid, chat.Full)
	}
	s.adopt(info.Conversation)
	r.Conversation = info.Conversation
	return s.taken(r)
}

// waiting returns the requests that wait in a conversation's queue.
func (s *schedule) waiting() (out []*request, err error) {
	for _, q := range s.asked {
		info, err := s.engine.log.Run(context.Background(), q.send.Run)
		if err != nil {
			return nil, err
		}
		if info.First == 0 && info.Dropped == 0 {
			out = append(out, q)
		}
	}
	return out, nil
}

func (s *schedule) editQueued() error {
	waiting, err := s.waiting()
	if err != nil || len(waiting) == 0 {
		return err
	}
	q := waiting[s.random.IntN(len(waiting))]
	s.prompts++
	text := fmt.Sprintf("Question %d of %d, edited?", s.prompts, s.number)
	s.note("edit %s in the queue", q.send.Run)
	err = s.engine.chat.EditQueued(context.Background(), q.send.Conversation, q.send.Run, text, testVia)
	if err == nil {
		q.prompt = text
	}
	return s.allow(err, chat.Missing)
}

func (s *schedule) removeQueued() error {
	waiting, err := s.waiting()
	if err != nil || len(waiting) == 0 {
		return err
	}
	q := waiting[s.random.IntN(len(waiting))]
	s.note("take %s out of the queue", q.send.Run)
	return s.allow(s.engine.chat.RemoveQueued(context.Background(), q.send.Conversation, q.send.Run, testVia))
}

func (s *schedule) resume() error {
	c := s.anyChat()
	s.note("resume %s", c)
	resumed := s.engine.chat.Resume(context.Background(), c, testVia)
	state, err := s.state(c)
	switch {
	case err != nil:
		return err
	case resumed == nil && state.Held:
		return fmt.Errorf("%s is held after it was resumed", c)
	case state.Open() != nil:
		// Its end may be one that the disk does not take yet.
		return s.allow(resumed, chat.Conflict)
	}
	return s.allow(resumed)
}

// checkErasures: what was deleted is erased when its time is over, and nothing
// else is.
func (s *schedule) checkErasures() error {
	// The eraser tries again after a minute when the disk fails.
	const patient = chat.UndoTime + 2*time.Minute
	all, err := s.engine.log.Doomed(context.Background())
	if err != nil {
		return err
	}
	for _, d := range all {
		if age := time.Since(time.UnixMilli(d.At)); age > patient {
			return fmt.Errorf("%s in %s was deleted %v ago and is not erased", d.Message, d.Conversation, age)
		}
	}
	for _, c := range s.chats {
		state, err := s.state(c)
		if err != nil {
			return err
		}
		for _, row := range state.Rows() {
			if row.Turn.User.Message == "" {
				return fmt.Errorf("%s shows row %d, which is erased", c, row.Index)
			}
		}
	}
	return nil
}

// checkCopies writes each conversation into an empty log, as an import does, and
// reads the same there; into the log that has it, it can't be written again.
func (s *schedule) checkCopies() error {
	for _, c := range s.chats {
		records, err := s.records(c)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			continue
		}
		if err := s.engine.log.Import(context.Background(), c, records); !errors.Is(err, turnlog.ErrExists) {
			return fmt.Errorf("%s was written over: %w", c, err)
		}
		if err := sameCopy(c, records); err != nil {
			return err
		}
	}
	return nil
}

func sameCopy(c id.Conversation, records []event.Record) error {
	log := turnlog.New(newMemDisk().open(), turnlog.Options{})
	if err := log.Import(context.Background(), c, records); err != nil {
		return errors.Join(fmt.Errorf("write a copy of %s: %w", c, err), log.Close())
	}
	var copied []event.Record
	for len(copied) < len(records) {
		more, err := log.After(context.Background(), c, int64(len(copied)), turnlog.Limit{})
		if err != nil || len(more) == 0 {
			return errors.Join(fmt.Errorf("the copy of %s has %d records of %d: %w", c, len(copied), len(records), err), log.Close())
		}
		copied = append(copied, more...)
	}
	return errors.Join(isPrefix(records, copied), log.Close())
}
