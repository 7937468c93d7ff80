package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

// follower is a reader with a cursor, which reads a little now and then and
// keeps what it got.
type follower struct {
	chat    id.Conversation
	records []event.Record
}

// follow lets a reader come, go or read on.
func (s *schedule) follow() error {
	switch {
	case len(s.readers) == 0, len(s.readers) < 4 && s.random.IntN(4) == 0:
		s.readers = append(s.readers, &follower{chat: s.anyChat()})
		return nil
	case s.random.IntN(8) == 0:
		s.readers = slices.Delete(s.readers, 0, 1)
		return nil
	}
	f := s.readers[s.random.IntN(len(s.readers))]
	limit := turnlog.Limit{Records: 1 + s.random.IntN(10)}
	records, err := s.engine.log.After(context.Background(), f.chat, int64(len(f.records)), limit)
	if err != nil {
		return err
	}
	f.records = append(f.records, records...)
	now, err := s.records(f.chat)
	if err != nil {
		return err
	}
	return isPrefix(f.records, now)
}

// records reads a whole conversation from the log.
func (s *schedule) records(c id.Conversation) ([]event.Record, error) {
	var out []event.Record
	for {
		records, err := s.engine.log.After(context.Background(), c, int64(len(out)), turnlog.Limit{})
		if err != nil || len(records) == 0 {
			return out, err
		}
		out = append(out, records...)
	}
}

func (s *schedule) state(c id.Conversation) (*transcript.Conversation, error) {
	records, err := s.records(c)
	if err != nil {
		return nil, err
	}
	return folded(c, records)
}

func folded(c id.Conversation, records []event.Record) (*transcript.Conversation, error) {
	state := &transcript.Conversation{ID: c}
	for _, r := range records {
		if err := state.Apply(r); err != nil {
			return nil, fmt.Errorf("record %d of %s: %w", r.Seq, c, err)
		}
	}
	return state, nil
}

// check holds after every step, whatever is under way. It looks at the
// conversations that have grown.
func (s *schedule) check() error {
	for _, c := range s.chats {
		head, err := s.engine.log.Head(context.Background(), c)
		if err != nil {
			return err
		}
		if head == int64(len(s.observed[c])) {
			continue
		}
		if err := s.checkChat(c); err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
	}
	return s.checkTools()
}

// checkAll is check for every conversation and every reader: after a restart
// nothing that was seen before may have changed.
func (s *schedule) checkAll() error {
	for _, c := range s.chats {
		if err := s.checkChat(c); err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
	}
	for _, f := range s.readers {
		if err := isPrefix(f.records, s.observed[f.chat]); err != nil {
			return fmt.Errorf("%s: a reader: %w", f.chat, err)
		}
	}
	return s.checkErasures()
}

func (s *schedule) checkChat(c id.Conversation) error {
	records, err := s.records(c)
	if err != nil {
		return err
	}
	if findings := transcript.Check(records); len(findings) > 0 {
		return errors.New(strings.Join(findings, "; "))
	}
	if err := isPrefix(s.observed[c], records); err != nil {
		return fmt.Errorf("what was read before: %w", err)
	}
	s.observed[c] = records
	return s.checkRuns(c, records)
}

// isPrefix reports a difference between what someone has read and the log. What
// was erased since has left a tombstone.
func isPrefix(read, log []event.Record) error {
	if len(read) > len(log) {
		return fmt.Errorf("%d records were read, the log has %d", len(read), len(log))
	}
	for i, r := range read {
		l := log[i]
		if stone, ok := mustEvent(l).(event.Erased); ok && l.Kind != r.Kind {
			if stone.Was != r.Kind || stone.Bytes != int64(len(r.Body)) || l.Seq != r.Seq || l.Run != r.Run || !l.At.Equal(r.At) {
				return fmt.Errorf("record %d was %s of %d bytes, its tombstone says %s", r.Seq, r.Kind, len(r.Body), l.Body)
			}
			continue
		}
		if l.Seq != r.Seq || l.Kind != r.Kind || l.Run != r.Run || !bytes.Equal(l.Body, r.Body) {
			return fmt.Errorf("record %d was read as %s %s, the log has %s %s", r.Seq, r.Kind, r.Body, l.Kind, l.Body)
		}
	}
	return nil
}

// heard is what the log has of a run.
type heard struct {
	text                   string
	started, ended, erased bool
}

// hear collects the runs of a conversation.
func hear(records []event.Record) map[id.Run]heard {
	runs := map[id.Run]heard{}
	for _, r := range records {
		if r.Run == "" {
			continue
		}
		run := runs[r.Run]
		switch e := mustEvent(r).(type) {
		case event.Delta:
			run.text += e.Text
		case event.Start:
			run.text, run.started = "", true
		case event.End, event.Error, event.Cancelled:
			run.ended = true
		case event.Erased:
			run.erased = true
		}
		runs[r.Run] = run
	}
	return runs
}

// checkRuns compares each run that was taken with what the model said.
func (s *schedule) checkRuns(c id.Conversation, records []event.Record) error {
	runs := hear(records)
	for _, q := range s.asked {
		if q.send.Conversation != c {
			continue
		}
		info, err := s.engine.log.Run(context.Background(), q.send.Run)
		if err != nil {
			return fmt.Errorf("run %s was taken: %w", q.send.Run, err)
		}
		run := runs[q.send.Run]
		switch {
		case run.erased:
			q.ended = true
		case info.First == 0 && (run.started || q.said != ""):
			return fmt.Errorf("run %s waits or was taken out, and %q was said", q.send.Run, q.said)
		case info.First == 0:
			q.ended = info.Dropped > 0
		default:
			q.ended = run.ended
			if err := q.compare(run.text); err != nil {
				return err
			}
		}
	}
	return nil
}

func (q *request) compare(stored string) error {
	switch {
	case !strings.HasPrefix(q.said, stored):
		return fmt.Errorf("run %s: stored %q, the model said %q", q.send.Run, stored, q.said)
	case q.whole && q.ended && stored != q.said:
		return fmt.Errorf("run %s: only %q is stored of %q", q.send.Run, stored, q.said)
	}
	return nil
}

// leftOver returns the runs that a process left without a terminal, and checks
// that the index knows the same.
func (s *schedule) leftOver() (map[id.Run]bool, error) {
	left := map[id.Run]bool{}
	for _, c := range s.chats {
		state, err := s.state(c)
		if err != nil {
			return nil, err
		}
		if err := s.checkIndex(c, state, left); err != nil {
			return nil, err
		}
	}
	unfinished, err := s.engine.log.Unfinished(context.Background())
	if err != nil {
		return nil, err
	}
	for _, info := range unfinished {
		if _, ok := left[info.Run]; !ok {
			return nil, fmt.Errorf("the index has run %s as unfinished, the log has not", info.Run)
		}
	}
	if len(unfinished) != len(left) {
		return nil, fmt.Errorf("the index has %d unfinished runs, the log %d", len(unfinished), len(left))
	}
	return left, nil
}

// checkIndex compares what the index says of the runs and rows of a
// conversation with the fold. It collects unfinished runs; true for one of
// which nothing but its start is stored.
func (s *schedule) checkIndex(c id.Conversation, state *transcript.Conversation, left map[id.Run]bool) error {
	open := false
	for _, turn := range state.Turns {
		if turn.User.Message == "" {
			continue // erased: the fold has only what is left of its runs
		}
		for _, run := range turn.Runs {
			info, err := s.engine.log.Run(context.Background(), run.ID)
			if err != nil || info.First != run.First || info.Last != run.Terminal || info.Conversation != c {
				return fmt.Errorf("index of run %s: %+v (%v), fold: %d to %d", run.ID, info, err, run.First, run.Terminal)
			}
			if run.Terminal == 0 {
				open = true
				left[run.ID] = len(run.Parts) == 0 && run.Usage == nil && !run.Retried
			}
		}
	}
	facts, err := s.facts(c)
	if err != nil {
		return err
	}
	// Facts tell of a segment when it ends, so they may not know yet that a
	// run under way is a version.
	if got, want := outline(facts), outline(state); got != want && !open {
		return fmt.Errorf("%s: facts alone give\n%s\nall records give\n%s", c, got, want)
	}
	return s.checkList(c, state)
}

func (s *schedule) facts(c id.Conversation) (*transcript.Conversation, error) {
	state := &transcript.Conversation{ID: c}
	for {
		records, err := s.engine.log.Facts(context.Background(), c, state.Seq, turnlog.Limit{Records: 7})
		if err != nil || len(records) == 0 {
			return state, err
		}
		for _, r := range records {
			if err := state.Apply(r); err != nil {
				return nil, err
			}
		}
	}
}

// outline writes rows, versions and states without their text.
func outline(state *transcript.Conversation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q", state.Title)
	for _, q := range state.Queue {
		fmt.Fprintf(&b, " waits %s", q.Run)
	}
	fmt.Fprintf(&b, " held %t\n", state.Held)
	for _, row := range state.Rows() {
		fmt.Fprintf(&b, "%d %s %q", row.Index, row.Role, row.Turn.User.Text)
		for _, run := range row.Turn.Runs {
			fmt.Fprintf(&b, " %s %s", run.ID, run.Status)
		}
		if active := row.Turn.Active(); active != nil {
			fmt.Fprintf(&b, " active %s of %d", active.ID, len(row.Turn.Versions()))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (s *schedule) checkList(c id.Conversation, state *transcript.Conversation) error {
	list, err := s.engine.log.Conversations(context.Background(), turnlog.Query{})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(info turnlog.ConversationInfo) bool { return info.Conversation == c })
	rows := len(state.Rows())
	switch {
	case i < 0 && rows == 0:
		return nil
	case i < 0:
		return fmt.Errorf("%s has %d rows and is not in the list", c, rows)
	case list[i].Queued != len(state.Queue):
		return fmt.Errorf("%s is in the list with %d messages that wait; the fold has %d", c, list[i].Queued, len(state.Queue))
	case list[i].Rows != rows || list[i].Title != state.Title:
		return fmt.Errorf("%s is in the list with %d rows, title %q; the fold has %d, %q", c, list[i].Rows, list[i].Title, rows, state.Title)
	}
	return nil
}

// checkRecovery compares what became of the runs that a process left: one of
// which only the start was stored is begun again, once; any other is closed as
// interrupted.
func (s *schedule) checkRecovery(left map[id.Run]bool) error {
	for _, q := range s.asked {
		again, ok := left[q.send.Run]
		if !ok {
			continue
		}
		if again {
			q.said, q.whole = "", true
			if s.engine.answering(q.prompt) == nil {
				return fmt.Errorf("run %s was not begun again", q.send.Run)
			}
			continue
		}
		state, err := s.state(q.send.Conversation)
		if err != nil {
			return err
		}
		if run := state.Run(q.send.Run); run == nil || run.Status != transcript.Interrupted {
			return fmt.Errorf("run %s was left open and is not closed as interrupted", q.send.Run)
		}
	}
	return s.checkAll()
}

// checkAtRest ends the last runs and checks everything once more, now that
// nothing moves.
func (s *schedule) checkAtRest() error {
	for _, q := range s.asked {
		err := s.engine.chat.Cancel(context.Background(), q.send.Run, "owner", event.Via{Surface: "test"})
		if err != nil && !errors.Is(err, turnlog.ErrNoRun) {
			return fmt.Errorf("cancel at the end: %w", err)
		}
		if err := s.settle(); err != nil {
			return err
		}
	}
	left, err := s.leftOver()
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("runs are left without a terminal: %v", left)
	}
	if pending := s.engine.desk.Pending(); len(pending) > 0 {
		return fmt.Errorf("requests are left that nobody waits for: %v", pending)
	}
	return errors.Join(s.checkAll(), s.checkCopies())
}
