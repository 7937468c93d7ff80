package turnlogtest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// testQueue follows messages that wait: sent, dropped, changed, and what their
// run ids can't be used for afterwards.
func testQueue(t *testing.T, subject Subject) {
	dir := t.TempDir()
	b := newBook(t)
	s := mustOpen(t, subject, dir, Options{})
	b.commit(s, b.group("c", asked("q1", "hi"), started("r1", "a1")))
	b.commit(s, b.group("c", queued(event.QueueAdd, "r2", "q2", "first", "")))
	b.commit(s, b.group("d", queued(event.QueueAdd, "r3", "q3", "elsewhere", "")))
	b.commit(s, b.group("c", queued(event.QueueAdd, "r4", "q4", "second", ""), fact(event.Queue{Op: event.QueueHold})))
	b.commit(s, b.group("c", fact(event.Queue{Op: event.QueueAdd, Run: "r5", RegenerateOf: "q1", Request: "h5"})))
	b.commit(s, b.group("c", queued(event.QueueEdit, "r4", "q4", "second, changed", "")))
	b.holds(t, s)
	want := []turnlog.RunInfo{
		{Run: "r2", Conversation: "c", Queued: 3, Request: "hash of first"},
		{Run: "r3", Conversation: "d", Queued: 1, Request: "hash of elsewhere"},
		{Run: "r4", Conversation: "c", Queued: 4, Request: "hash of second, changed"},
		{Run: "r5", Conversation: "c", Queued: 6, Request: "h5"},
	}
	if got, err := s.Queued(t.Context()); err != nil || !cmp.Equal(got, want) {
		t.Errorf("queued %+v, %v; want %+v", got, err, want)
	}
	b.commit(s, b.group("c", ended("r1", "a1"), unqueued(event.QueueSend, "r2"), asked("q2", "first"), started("r2", "a2")))
	b.commit(s, b.group("c", unqueued(event.QueueRemove, "r4")))
	refused := []struct {
		name  string
		group turnlog.Group
	}{
		{"one that waits", b.group("c", queued(event.QueueAdd, "r5", "q9", "x", ""))},
		{"one that was sent", b.group("c", queued(event.QueueAdd, "r2", "q9", "x", ""))},
		{"one that was dropped", b.group("c", queued(event.QueueAdd, "r4", "q9", "x", ""))},
		{"one that was started", b.group("c", queued(event.QueueAdd, "r1", "q9", "x", ""))},
		{"one of another conversation", b.group("c", queued(event.QueueAdd, "r3", "q9", "x", ""))},
		{"a start of another conversation's", b.group("c", started("r3", "a9"))},
		{"a start of one that was dropped", b.group("c", started("r4", "a9"))},
	}
	for range 2 {
		for _, c := range refused {
			if err := commitOne(t.Context(), s, c.group); !errors.Is(err, turnlog.ErrRunUsed) {
				t.Errorf("%s: %v, want ErrRunUsed", c.name, err)
			}
		}
		b.holds(t, s)
		sent := turnlog.RunInfo{Run: "r2", Conversation: "c", Message: "a2", Queued: 3, First: 11, Request: "hash of r2"}
		if got, err := s.Run(t.Context(), "r2"); err != nil || got != sent {
			t.Errorf("the one that was sent: %+v, %v; want %+v", got, err, sent)
		}
		dropped := turnlog.RunInfo{Run: "r4", Conversation: "c", Queued: 4, Dropped: 12, Request: "hash of second, changed"}
		if got, err := s.Run(t.Context(), "r4"); err != nil || got != dropped {
			t.Errorf("the one that was dropped: %+v, %v; want %+v", got, err, dropped)
		}
		reindexed(t, subject, s, b)
		mustClose(t, s)
		s = mustOpen(t, subject, dir, Options{})
	}
	// What does not fit the queue makes no run.
	b.commit(s, b.group("c", unqueued(event.QueueRemove, "r9"), queued(event.QueueEdit, "r9", "q9", "x", "")))
	if _, err := s.Run(t.Context(), "r9"); !errors.Is(err, turnlog.ErrNoRun) {
		t.Errorf("a run that never waited: %v, want ErrNoRun", err)
	}
}

func testApprovals(t *testing.T, subject Subject) {
	dir := t.TempDir()
	b := newBook(t)
	s := mustOpen(t, subject, dir, Options{})
	b.commit(s, b.group("c", asked("q1", "hi"), started("r1", "a1"), called("r1", "a1", "call_1", `{}`), requested("r1", "a1", "call_1", "ap1")))
	b.commit(s, b.group("c", called("r1", "a1", "call_2", `{}`), requested("r1", "a1", "call_2", "ap2")))
	b.commit(s, b.group("c", resolved("r1", "a1", "ap2", event.DecisionDeny)))
	for range 2 {
		want := map[id.Approval]turnlog.ApprovalInfo{
			"ap1": {Approval: "ap1", Conversation: "c", Run: "r1", Seq: 4},
			"ap2": {Approval: "ap2", Conversation: "c", Run: "r1", Seq: 6, Resolved: 7, Decision: event.DecisionDeny},
		}
		for a, want := range want {
			if got, err := s.Approval(t.Context(), a); err != nil || got != want {
				t.Errorf("%+v, %v; want %+v", got, err, want)
			}
		}
		if _, err := s.Approval(t.Context(), "ap3"); !errors.Is(err, turnlog.ErrNoApproval) {
			t.Errorf("one that never was: %v, want ErrNoApproval", err)
		}
		b.holds(t, s)
		reindexed(t, subject, s, b)
		mustClose(t, s)
		s = mustOpen(t, subject, dir, Options{})
	}
}

// testDoomed follows the list of what is to be erased.
func testDoomed(t *testing.T, subject Subject) {
	b := newBook(t)
	s := mustOpen(t, subject, t.TempDir(), Options{})
	b.commit(s, b.group("c", asked("q1", "hi"), started("r1", "a1"), ended("r1", "a1"), asked("q2", "ho")))
	b.commit(s, b.group("d", asked("q3", "hi")))
	steps := []struct {
		name string
		do   func()
		want []string
	}{
		{"a message", func() { b.commit(s, b.group("c", fact(event.MessageDeleted{Message: "q1"}))) }, []string{"c q1"}},
		{"again", func() { b.commit(s, b.group("c", fact(event.MessageDeleted{Message: "q1"}))) }, []string{"c q1"}},
		{"another", func() { b.commit(s, b.group("c", fact(event.MessageDeleted{Message: "q2"}))) }, []string{"c q1", "c q2"}},
		{"restored", func() { b.commit(s, b.group("c", fact(event.MessageRestored{Message: "q1"}))) }, []string{"c q2"}},
		{"a conversation", func() { b.commit(s, b.group("d", fact(event.ConversationDeleted{}))) }, []string{"c q2", "d "}},
		{"it is restored", func() { b.commit(s, b.group("d", fact(event.ConversationRestored{}))) }, []string{"c q2"}},
		{"deleted again", func() { b.commit(s, b.group("d", fact(event.ConversationDeleted{}))) }, []string{"c q2", "d "}},
		{"a message is erased", func() { b.erase(s, "c", turnlog.Erasure{Seqs: []int64{4}}) }, []string{"d "}},
		{"a conversation is erased", func() { b.erase(s, "d", turnlog.Erasure{Through: 3}) }, nil},
		{"nothing is left to delete", func() { b.commit(s, b.group("d", fact(event.ConversationDeleted{}))) }, nil},
		{"begun anew and deleted", func() {
			b.commit(s, b.group("d", asked("q4", "hi")))
			b.commit(s, b.group("d", fact(event.ConversationDeleted{})))
		}, []string{"d "}},
	}
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			step.do()
			doomed, err := s.Doomed(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range doomed {
				got = append(got, string(d.Conversation)+" "+string(d.Message))
			}
			if !cmp.Equal(got, step.want) && len(got)+len(step.want) > 0 {
				t.Errorf("doomed %q, want %q", got, step.want)
			}
			b.holds(t, s)
			reindexed(t, subject, s, b)
		})
	}
}

// testErase erases in every way, over and over, and reopens.
func testErase(t *testing.T, subject Subject) {
	whole := t
	dir := t.TempDir()
	b := newBook(t)
	s := mustOpen(t, subject, dir, Options{})
	b.commit(s, b.group("c", attached("q1", "first", "blob1"), started("r1", "a1"), reasoned("r1", "a1", "hm"), said("r1", "a1", 0, "one")))
	b.commit(s, b.group("c", queued(event.QueueAdd, "r2", "q2", "waits", "blob2"), queued(event.QueueAdd, "r3", "q3", "is dropped", "blob3")))
	b.commit(s, b.group("c", called("r1", "a1", "call_1", `{"a":1}`), requested("r1", "a1", "call_1", "ap1"), resolved("r1", "a1", "ap1", event.DecisionAllow)))
	b.commit(s, b.group("c", returned("r1", "a1", "call_1", "out", "blob4"), ended("r1", "a1"), unqueued(event.QueueRemove, "r3")))
	b.commit(s, b.group("c", unqueued(event.QueueSend, "r2"), attached("q2", "waits", "blob2"), started("r2", "a2"), said("r2", "a2", 0, "two"), ended("r2", "a2")))
	b.commit(s, b.group("d", attached("q5", "elsewhere", "blob1")))
	b.commit(s, b.group("c", fact(event.MessageDeleted{Message: "q2"}), fact(event.Title{Title: "named"}), asked("q4", "last")))
	steps := []struct {
		name string
		c    id.Conversation
		e    turnlog.Erasure
	}{
		{"nothing", "c", turnlog.Erasure{}},
		{"what is not there", "c", turnlog.Erasure{Seqs: []int64{0, 99}, Runs: []id.Run{"r9"}}},
		{"in a conversation that is not there", "e", turnlog.Erasure{Through: 9}},
		{"a run of another conversation", "d", turnlog.Erasure{Runs: []id.Run{"r1"}}},
		{"a turn with its wait in the queue", "c", turnlog.Erasure{Seqs: []int64{14}, Runs: []id.Run{"r2"}}},
		{"the same again", "c", turnlog.Erasure{Seqs: []int64{14}, Runs: []id.Run{"r2"}}},
		{"one that only waited", "c", turnlog.Erasure{Runs: []id.Run{"r3"}}},
		{"a delta and a title", "c", turnlog.Erasure{Seqs: []int64{4, 19}}},
		{"up to a place", "c", turnlog.Erasure{Through: 5}},
		{"a turn that was not deleted", "c", turnlog.Erasure{Seqs: []int64{20}}},
		{"all", "c", turnlog.Erasure{Through: 1 << 40}},
	}
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			if step.c == "e" {
				if blobs, err := s.Erase(t.Context(), step.c, step.e); err != nil || len(blobs) > 0 {
					t.Errorf("got %v, %v", blobs, err)
				}
				return
			}
			b.erase(s, step.c, step.e)
			b.holds(t, s)
			reindexed(t, subject, s, b)
			mustClose(t, s)
			s = mustOpen(whole, subject, dir, Options{})
			b.holds(t, s)
			b.commit(s, b.group("d", asked(id.Message("q"+step.name), "goes on")))
		})
	}
	if err := commitOne(t.Context(), s, b.group("c", queued(event.QueueAdd, "r3", "q9", "x", ""))); !errors.Is(err, turnlog.ErrRunUsed) {
		t.Errorf("an erased run's id was used again: %v", err)
	}
}

// testImport writes a conversation as another store read it.
func testImport(t *testing.T, subject Subject) {
	b := newBook(t)
	from := mustOpen(t, subject, t.TempDir(), Options{})
	b.story(from, 0, func() {})
	b.story(from, 1, func() {})
	b.erase(from, "c0", turnlog.Erasure{Seqs: []int64{1}, Runs: []id.Run{"r0.0"}})
	dir := t.TempDir()
	to := mustOpen(t, subject, dir, Options{})
	copied := newBook(t)
	for _, c := range []id.Conversation{"c2", "c0"} {
		// Tombstones are imported as they are.
		copied.imports(to, turnlog.Group{Conversation: c, Records: readAll(t, from, c, false)})
	}
	copied.holds(t, to)
	whole := turnlog.Group{Conversation: "c0", Records: readAll(t, from, "c0", false)}
	if err := to.Import(t.Context(), whole); !errors.Is(err, turnlog.ErrExists) {
		t.Errorf("over a conversation that is there: %v, want ErrExists", err)
	}
	if err := to.Import(t.Context(), renamed(whole, "new")); !errors.Is(err, turnlog.ErrRunUsed) {
		t.Errorf("with run ids that are taken: %v, want ErrRunUsed", err)
	}
	late := turnlog.Group{Conversation: "c1", Records: readAll(t, from, "c1", false)[1:]}
	if err := to.Import(t.Context(), late); err == nil {
		t.Error("records that do not begin with the first were written")
	}
	copied.holds(t, to)
	reindexed(t, subject, to, copied)
	mustClose(t, to)
	to = mustOpen(t, subject, dir, Options{})
	copied.holds(t, to)
	copied.commit(to, copied.group("c0", asked("next", "goes on")))
	copied.holds(t, to)
}

func renamed(g turnlog.Group, c id.Conversation) turnlog.Group {
	other := turnlog.Group{Conversation: c}
	for _, r := range g.Records {
		r.Conversation = c
		other.Records = append(other.Records, r)
	}
	return other
}
