package turnlogtest

import (
	"cmp"
	"maps"
	"slices"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

// view works out what a store's indexes must say, the slow way: rows, titles
// and settings by the fold, the rest by looking at each record.
func (b *book) view() view {
	v := view{Runs: map[id.Run]turnlog.RunInfo{}, Approvals: map[id.Approval]turnlog.ApprovalInfo{}}
	for _, c := range slices.Sorted(maps.Keys(b.records)) {
		m := model{view: &v, c: c, queued: b.records[c]}
		for _, r := range b.now(c) {
			e, err := r.Event()
			if err != nil {
				b.t.Fatal(err)
			}
			m.record(r, e)
		}
		v.Doomed = append(v.Doomed, m.doomed...)
		if line, ok := b.line(c, m); ok {
			v.Conversations = append(v.Conversations, line)
		}
	}
	for _, r := range b.runs {
		info, ok := v.Runs[r]
		if ok && info.First != 0 && info.Last == 0 {
			v.Unfinished = append(v.Unfinished, info)
		}
		if ok && info.First == 0 && info.Dropped == 0 {
			v.Queued = append(v.Queued, info)
		}
	}
	slices.SortStableFunc(v.Doomed, func(x, y turnlog.Doomed) int { return cmp.Compare(x.At, y.At) })
	slices.SortStableFunc(v.Conversations, func(x, y turnlog.ConversationInfo) int { return cmp.Compare(y.Updated, x.Updated) })
	return v
}

// line is a conversation's line in the list, and false when it has none.
func (b *book) line(c id.Conversation, m model) (turnlog.ConversationInfo, bool) {
	b.t.Helper()
	folded, err := transcript.Fold(b.now(c))
	if err != nil {
		b.t.Fatal(err)
	}
	line := turnlog.ConversationInfo{
		Conversation: c, Title: folded.Title, Project: folded.Project, Pinned: folded.Pinned, Archived: folded.Archived,
		Model: folded.Model, Rows: len(folded.Rows()), Queued: len(folded.Queue),
		Updated: folded.Updated.UnixMilli(), News: m.news, Read: m.read,
	}
	last := int64(0)
	for _, info := range m.view.Runs {
		if info.Conversation == c && info.First > last && info.Last == 0 {
			line.Running, last = info.Run, info.First
		}
	}
	return line, line.Rows > 0
}

// model is what the records of one conversation have come to.
type model struct {
	view *view
	c    id.Conversation
	// queued are the records as they were before any erasure: a tombstone does
	// not tell which run had waited.
	queued     []event.Record
	doomed     []turnlog.Doomed
	deletion   int64 // of the conversation, that a restoring would undo
	questions  []asking
	left       bool // something before is not erased
	news, read int64
}

func (m *model) record(r event.Record, e event.Event) {
	kind := r.Kind
	if stone, ok := e.(event.Erased); ok {
		kind = stone.Was
		if q, ok := m.was(r).(event.Queue); ok {
			m.queue(r, q, true)
		}
	}
	if r.Run != "" {
		m.ofRun(r, kind, e)
	}
	if isNews(e) {
		m.news = r.Seq
	}
	m.fact(r, e)
	switch r.Kind {
	case "erased", "conversation_deleted", "conversation_restored":
	default:
		m.left = true
	}
}

// isNews reports whether a person would call it news. A retry is none.
func isNews(e event.Event) bool {
	switch e := e.(type) {
	case event.UserMessage, event.ForkedFrom:
		return true
	case event.Start:
		return !e.Retry
	}
	spec, _ := event.Lookup(e.Kind())
	return spec.Terminal
}

// was is the event that a record had before any erasure.
func (m *model) was(r event.Record) event.Event {
	e, err := m.queued[r.Seq-1].Event()
	if err != nil {
		return nil
	}
	return e
}

func (m *model) ofRun(r event.Record, kind event.Kind, e event.Event) {
	info := m.view.Runs[r.Run]
	info.Run, info.Conversation, info.Message = r.Run, m.c, r.Message
	if kind == "start" && info.First == 0 {
		info.First = r.Seq
		if s, ok := e.(event.Start); ok {
			info.Request = s.Request
		}
	}
	if spec, _ := event.Lookup(kind); spec.Terminal {
		info.Last = r.Seq
	}
	m.view.Runs[r.Run] = info
	switch e := e.(type) {
	case event.ApprovalRequest:
		m.view.Approvals[e.Approval] = turnlog.ApprovalInfo{Approval: e.Approval, Conversation: m.c, Run: r.Run, Seq: r.Seq}
	case event.ApprovalResolved:
		if a, ok := m.view.Approvals[e.Approval]; ok {
			a.Resolved, a.Decision = r.Seq, e.Decision
			m.view.Approvals[e.Approval] = a
		}
	}
}

func (m *model) queue(r event.Record, q event.Queue, erased bool) {
	info, ok := m.view.Runs[q.Run]
	switch {
	case q.Op == event.QueueAdd:
		info = turnlog.RunInfo{Run: q.Run, Conversation: m.c, Queued: r.Seq, Request: q.Request}
	case ok && q.Op == event.QueueEdit:
		info.Request = q.Request
	case ok && q.Op == event.QueueRemove:
		info.Dropped = r.Seq
	}
	if erased {
		info.Request = ""
	}
	if info.Run != "" {
		m.view.Runs[q.Run] = info
	}
}

func (m *model) fact(r event.Record, e event.Event) {
	doom := func(message id.Message) {
		m.doomed = append(m.doomed, turnlog.Doomed{Conversation: m.c, Message: message, Seq: r.Seq, At: r.At.UnixMilli()})
	}
	spare := func(f func(turnlog.Doomed) bool) { m.doomed = slices.DeleteFunc(m.doomed, f) }
	switch e := e.(type) {
	case event.Queue:
		m.queue(r, e, false)
	case event.Settings:
		if e.Read != nil {
			m.read = *e.Read
		}
	case event.UserMessage:
		m.questions = append(m.questions, asking{message: e.Message})
	case event.MessageDeleted:
		if m.mark(e.Message, true) {
			doom(e.Message)
		}
	case event.MessageRestored:
		if m.mark(e.Message, false) {
			spare(func(d turnlog.Doomed) bool { return d.Message == e.Message })
		}
	case event.ConversationDeleted:
		m.deletion = r.Seq
		for i := range m.questions {
			m.questions[i].gone = cmp.Or(m.questions[i].gone, r.Seq)
		}
		if m.left {
			doom("")
		}
	case event.ConversationRestored:
		spare(func(d turnlog.Doomed) bool { return d.Message == "" && d.Seq == m.deletion })
		for i := range m.questions {
			if m.questions[i].gone == m.deletion {
				m.questions[i].gone = 0
			}
		}
		m.deletion = 0
	}
}

// asking is what became of a question.
type asking struct {
	message id.Message
	deleted bool
	gone    int64 // the deletion of the conversation that took it, 0 for none
}

// mark deletes a question or restores it, and reports whether that changed
// anything.
func (m *model) mark(message id.Message, deleted bool) bool {
	for i, q := range m.questions {
		if q.message == message && q.gone == 0 && q.deleted != deleted {
			m.questions[i].deleted = deleted
			return true
		}
	}
	return false
}
