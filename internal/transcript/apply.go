package transcript

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// Fold applies records, in the order of their seqs, to the empty state.
//
// Records may be structural ones alone (see event.Spec). Then parts have no
// text, and a segment counts from its end on: rows and statuses are those of
// the whole, and so are versions and places while no run is going on.
func Fold(records []event.Record) (*Conversation, error) {
	c := &Conversation{}
	for _, r := range records {
		if err := c.Apply(r); err != nil {
			return c, err
		}
	}
	return c, nil
}

// Apply adds a record. One that was applied before (its seq says so) changes
// nothing, and one of an unknown kind is counted. What does not fit what came
// before is left out and noted in Broken. The error is for a body that can't be
// read; the state is then as it was before.
func (c *Conversation) Apply(r event.Record) error {
	if r.Seq <= c.Seq {
		return nil
	}
	ev, err := r.Event()
	if err != nil {
		return fmt.Errorf("record %d of %s: %w", r.Seq, r.Conversation, err)
	}
	c.ID = r.Conversation
	c.Seq = r.Seq
	if r.Run != "" {
		c.applyRun(r, ev)
		return nil
	}
	c.applyFact(r, ev)
	return nil
}

func (c *Conversation) broken(r event.Record, format string, args ...any) {
	c.Broken = append(c.Broken, fmt.Sprintf("%d %s: ", r.Seq, r.Kind)+fmt.Sprintf(format, args...))
}

func (c *Conversation) applyFact(r event.Record, ev event.Event) {
	switch ev := ev.(type) {
	case event.UserMessage:
		c.userMessage(r, ev)
	case event.Title:
		c.Title, c.TitleSet = ev.Title, true
	case event.VersionActive:
		c.choose(r, ev)
	case event.MessageDeleted:
		c.markDeleted(ev.Message, true)
	case event.MessageRestored:
		c.markDeleted(ev.Message, false)
	case event.Erased:
		c.erased(r, ev)
	case event.Queue:
		c.queue(r, ev)
	case event.ForkedFrom:
		c.Forked, c.Deleted, c.Updated = &ev, false, r.At
	case event.Settings:
		c.settings(ev)
	case event.ConversationDeleted:
		c.hide(r)
	case event.ConversationRestored:
		c.unhide()
	case event.Unknown:
		c.Unknown++
	default:
		c.broken(r, "belongs to a run, and the record names none")
	}
}

func (c *Conversation) userMessage(r event.Record, ev event.UserMessage) {
	c.Deleted = false
	c.Updated = r.At
	c.Returned = nil
	c.Turns = append(c.Turns, &Turn{User: ev, UserSeq: r.Seq, UserAt: r.At})
	c.retitle()
}

// retitle keeps the title of a conversation that nobody named: a question that
// is deleted names nothing any more.
func (c *Conversation) retitle() {
	if c.TitleSet {
		return
	}
	c.Title = ""
	for _, t := range c.Turns {
		if title := DefaultTitle(t.User.Text); !t.Deleted && title != "" {
			c.Title = title
			return
		}
	}
}

// hide takes everything away that came before. Runs stay known by their ids:
// records of theirs that are still to come belong to no turn.
func (c *Conversation) hide(r event.Record) {
	*c = Conversation{
		ID: c.ID, Seq: c.Seq, Deleted: true, Updated: r.At, Broken: c.Broken, Unknown: c.Unknown, Erased: c.Erased,
		Read: c.Read, runs: c.runs, last: c.last,
		hidden: &hidden{
			turns: c.Turns, title: c.Title, titleSet: c.TitleSet, project: c.Project, model: c.Model,
			pinned: c.Pinned, archived: c.Archived, forked: c.Forked, deletedAt: r.Seq,
		},
	}
}

// unhide brings back what the last deletion hid, before whatever came since.
// What was named or set since then stays as it is.
func (c *Conversation) unhide() {
	h := c.hidden
	if h == nil {
		return
	}
	c.hidden = nil
	c.Turns = append(h.turns[:len(h.turns):len(h.turns)], c.Turns...)
	c.Deleted = len(c.Turns) == 0
	if !c.TitleSet {
		c.Title, c.TitleSet = h.title, h.titleSet
	}
	if c.Project == "" {
		c.Project = h.project
	}
	if c.Model == "" {
		c.Model = h.model
	}
	if c.Forked == nil {
		c.Forked = h.forked
	}
	c.Pinned, c.Archived = c.Pinned || h.pinned, c.Archived || h.archived
	c.retitle()
}

// MaxTitle is how many code points of the first prompt make a title.
const MaxTitle = 48

// DefaultTitle is the title of a conversation that nobody named, made of its
// first prompt that is not empty: the first MaxTitle code points, with a space
// in the place of each line break.
func DefaultTitle(prompt string) string {
	prompt = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(prompt)
	n := 0
	for i := range prompt {
		if n == MaxTitle {
			return prompt[:i]
		}
		n++
	}
	return prompt
}

func (c *Conversation) choose(r event.Record, ev event.VersionActive) {
	for _, t := range slices.Backward(c.Turns) {
		if t.Message == ev.Message && t.run(ev.Run) != nil {
			t.Chosen, t.ChosenSeq = ev.Run, r.Seq
			return
		}
	}
	c.broken(r, "run %s is no version of message %s", ev.Run, ev.Message)
}

func (c *Conversation) markDeleted(message id.Message, deleted bool) {
	if t := c.Turn(message); t != nil {
		t.Deleted = deleted
		c.retitle()
	}
}

// erased keeps the place of an erased question, so that the run that follows
// it finds no other turn. The turn was deleted before.
func (c *Conversation) erased(r event.Record, ev event.Erased) {
	c.Erased++
	if ev.Was == (event.UserMessage{}).Kind() {
		c.Turns = append(c.Turns, &Turn{UserSeq: r.Seq, UserAt: r.At, Deleted: true})
	}
}

func (c *Conversation) queue(r event.Record, ev event.Queue) {
	if ev.Op == event.QueueHold || ev.Op == event.QueueResume {
		c.Held = ev.Op == event.QueueHold
		return
	}
	i := slices.IndexFunc(c.Queue, func(q Queued) bool { return q.Run == ev.Run })
	switch {
	case ev.Op == event.QueueAdd && i < 0 && (ev.Message != nil) != (ev.RegenerateOf != ""):
		q := Queued{Run: ev.Run, RegenerateOf: ev.RegenerateOf, NoTools: ev.NoTools, Request: ev.Request, Via: ev.Via, Seq: r.Seq}
		if ev.Message != nil {
			q.Message = *ev.Message
		}
		c.Queue, c.Held = append(c.Queue, q), false
	case ev.Op == event.QueueEdit && i >= 0 && ev.Message != nil:
		c.Queue[i].Message = *ev.Message
	case ev.Op == event.QueueRemove && i >= 0:
		c.Returned = append(c.Returned, c.Queue[i])
		c.Queue = slices.Delete(c.Queue, i, i+1)
	case ev.Op == event.QueueSend && i >= 0:
		c.Queue = slices.Delete(c.Queue, i, i+1)
	default:
		c.broken(r, "%s of run %s does not fit the queue", ev.Op, ev.Run)
	}
	if len(c.Queue) == 0 {
		c.Held = false
	}
}

// HoldsQueue reports whether a run that ended so keeps the messages behind it
// waiting for a person: an error that the next run might meet too. A stop takes
// them out of the queue, and an interrupted run had nothing wrong with it.
func HoldsQueue(terminal event.Event) bool {
	e, ok := terminal.(event.Error)
	return ok && e.Type != event.ErrorEmpty && e.Type != event.ErrorNoAnswer && e.Code != event.CodeInterrupted
}

func (c *Conversation) settings(ev event.Settings) {
	if ev.Project != nil {
		c.Project = *ev.Project
	}
	if ev.Pinned != nil {
		c.Pinned = *ev.Pinned
	}
	if ev.Archived != nil {
		c.Archived = *ev.Archived
	}
	if ev.Model != nil {
		c.Model = *ev.Model
	}
	if ev.Read != nil {
		c.Read = *ev.Read
	}
}

// Turn returns the turn of a user message, deleted or not; nil when there is
// none.
func (c *Conversation) Turn(user id.Message) *Turn {
	for _, t := range slices.Backward(c.Turns) {
		if t.User.Message == user && user != "" {
			return t
		}
	}
	return nil
}

// Run returns a run; nil when the conversation has none of this id.
func (c *Conversation) Run(run id.Run) *Run { return c.runs[run] }

// Open returns the run that has no terminal yet; nil when none is going on.
func (c *Conversation) Open() *Run {
	if c.last != nil && c.last.Terminal == 0 {
		return c.last
	}
	return nil
}

// grow applies a piece at an offset to what is held. A piece, or the head of
// one, that is held already is a repeat and changes nothing; ok is false, and
// held comes back as it was, when the piece leaves a gap or contradicts.
func grow(held []byte, offset int64, piece string) (grown []byte, ok bool) {
	have := int64(len(held))
	if offset < 0 || offset > have {
		return held, false
	}
	known := min(have-offset, int64(len(piece)))
	if !bytes.Equal(held[offset:offset+known], []byte(piece[:known])) {
		return held, false
	}
	return append(held, piece[known:]...), true
}
