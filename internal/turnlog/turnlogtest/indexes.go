package turnlogtest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

func testReopen(t *testing.T, subject Subject) {
	dir := t.TempDir()
	b := newBook(t)
	openings := int64(0)
	var epoch id.Epoch
	open := func() turnlog.Store {
		s := mustOpen(t, subject, dir, Options{})
		if openings++; openings == 1 {
			epoch = s.Epoch()
		}
		if s.Epoch() != epoch || epoch == "" {
			t.Errorf("epoch %q at opening %d, first it was %q", s.Epoch(), openings, epoch)
		}
		if s.Start() != openings {
			t.Errorf("start number %d at opening %d", s.Start(), openings)
		}
		b.holds(t, s)
		return s
	}
	for round := range 3 {
		s := open()
		b.story(s, round, func() {})
		b.holds(t, s)
		before := look(t, s, b.runs)
		mustClose(t, s)
		s = open()
		if d := cmp.Diff(before, look(t, s, b.runs)); d != "" {
			t.Errorf("indexes (-before closing +after):\n%s", d)
		}
		reindexed(t, subject, s, b.runs)
		mustClose(t, s)
	}
}

func testIndexes(t *testing.T, subject Subject) {
	project := "Ops"
	long := "one\r\ntwo\nthree\rfour 你好 five six seven eight nine ten eleven"
	steps := []struct {
		name   string
		drafts []turnlog.Draft
		title  string
		rows   int // 0: not listed
		quiet  bool
	}{
		{name: "question and start", drafts: []turnlog.Draft{asked("q1", long), started("r1", "a1")}, title: "one two three four 你好 five six seven eight nine ", rows: 2},
		{name: "text", drafts: []turnlog.Draft{said("r1", "a1", 0, "x")}, title: "one two three four 你好 five six seven eight nine ", rows: 2, quiet: true},
		{name: "end", drafts: []turnlog.Draft{ended("r1", "a1")}, title: "one two three four 你好 five six seven eight nine ", rows: 2},
		{name: "title", drafts: []turnlog.Draft{fact(event.Title{Title: "named"})}, title: "named", rows: 2, quiet: true},
		{name: "project", drafts: []turnlog.Draft{fact(event.Settings{Project: &project})}, title: "named", rows: 2, quiet: true},
		{name: "regenerated", drafts: []turnlog.Draft{again("r2", "a1", "q1"), ended("r2", "a1")}, title: "named", rows: 2},
		{name: "question without an answer", drafts: []turnlog.Draft{asked("q2", "b")}, title: "named", rows: 3},
		{name: "deleted", drafts: []turnlog.Draft{fact(event.MessageDeleted{Message: "q2"})}, title: "named", rows: 2, quiet: true},
		{name: "deleted again", drafts: []turnlog.Draft{fact(event.MessageDeleted{Message: "q2"})}, title: "named", rows: 2, quiet: true},
		{name: "restored", drafts: []turnlog.Draft{fact(event.MessageRestored{Message: "q2"})}, title: "named", rows: 3, quiet: true},
		{name: "answered turn deleted", drafts: []turnlog.Draft{fact(event.MessageDeleted{Message: "q1"})}, title: "named", rows: 1, quiet: true},
		{name: "what is not there deleted", drafts: []turnlog.Draft{fact(event.MessageDeleted{Message: "q9"})}, title: "named", rows: 1, quiet: true},
		{name: "retry", drafts: []turnlog.Draft{started("r3", "a2"), retried("r3", "a2")}, title: "named", rows: 2},
		{name: "stopped", drafts: []turnlog.Draft{{Run: "r3", Message: "a2", Event: event.Cancelled{By: "owner"}}}, title: "named", rows: 2},
		{name: "conversation deleted", drafts: []turnlog.Draft{fact(event.ConversationDeleted{})}, rows: 0},
		{name: "begun anew", drafts: []turnlog.Draft{asked("q3", ""), started("r4", "a3")}, title: "", rows: 2},
		{name: "second question", drafts: []turnlog.Draft{asked("q4", "a later question")}, title: "a later question", rows: 3},
	}
	dir := t.TempDir()
	b := newBook(t)
	s := mustOpen(t, subject, dir, Options{})
	updated := int64(0)
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			g := b.group("c", step.drafts...)
			b.commit(s, g)
			var want []turnlog.ConversationInfo
			if !step.quiet {
				updated = g.Records[0].At.UnixMilli()
			}
			if step.rows > 0 {
				want = []turnlog.ConversationInfo{{Conversation: "c", Title: step.title, Updated: updated, Rows: step.rows}}
			}
			got, err := s.Conversations(t.Context(), 10)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				got[i].Project = ""
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("list (-want +got):\n%s", d)
			}
			reindexed(t, subject, s, b.runs)
		})
	}
	testOrder(t, b, s)
}

func testOrder(t *testing.T, b *book, s turnlog.Store) {
	for _, c := range []id.Conversation{"d", "e", "f", "d"} {
		b.commit(s, b.group(c, asked(id.Message("q"+string(c)), "hi")))
	}
	list, err := s.Conversations(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	var got []id.Conversation
	for _, c := range list {
		got = append(got, c.Conversation)
	}
	if want := []id.Conversation{"d", "f", "e"}; !cmp.Equal(got, want) {
		t.Errorf("newest three are %v, want %v", got, want)
	}
}

func testRunIndex(t *testing.T, subject Subject) {
	dir := t.TempDir()
	b := newBook(t)
	s := mustOpen(t, subject, dir, Options{})
	b.commit(s, b.group("c", asked("q1", "hi"), started("r1", "a1")), b.group("d", asked("q2", "hi"), started("r2", "a2")))
	b.commit(s, b.group("c", ended("r1", "a1")))
	refused := []struct {
		name  string
		group turnlog.Group
	}{
		{"a second start", b.group("d", started("r2", "a2"))},
		{"a start after the end", b.group("c", started("r1", "a1"))},
		{"a retry after the end", b.group("c", retried("r1", "a1"))},
		{"text after the end", b.group("c", said("r1", "a1", 0, "late"))},
		{"a second end", b.group("c", ended("r1", "a1"))},
		{"the run of another conversation", b.group("c", started("r2", "a2"))},
	}
	for _, reopened := range []bool{false, true} {
		for _, c := range refused {
			if err := commitOne(t.Context(), s, c.group); err == nil {
				t.Errorf("%s was written (reopened: %v)", c.name, reopened)
			}
		}
		b.holds(t, s)
		want := turnlog.RunInfo{Run: "r1", Conversation: "c", Message: "a1", Request: "hash of r1", First: 2, Last: 3}
		if got, err := s.Run(t.Context(), "r1"); err != nil || got != want {
			t.Errorf("run %+v, %v; want %+v", got, err, want)
		}
		open := []turnlog.RunInfo{{Run: "r2", Conversation: "d", Message: "a2", Request: "hash of r2", First: 2}}
		if got, err := s.Unfinished(t.Context()); err != nil || !cmp.Equal(got, open) {
			t.Errorf("unfinished %+v, %v; want %+v", got, err, open)
		}
		if _, err := s.Run(t.Context(), "r9"); !errors.Is(err, turnlog.ErrNoRun) {
			t.Errorf("an unknown run: %v, want ErrNoRun", err)
		}
		mustClose(t, s)
		s = mustOpen(t, subject, dir, Options{})
	}
}

func testBadGroup(t *testing.T, subject Subject) {
	b := newBook(t)
	s := mustOpen(t, subject, t.TempDir(), Options{})
	b.commit(s, b.group("a", asked("q1", "hi"), started("r1", "a1")), b.group("b", asked("q2", "hi")))
	hole := b.group("b", asked("q3", "hi"), asked("q4", "hi"))
	hole.Records[1].Seq++
	good := []turnlog.Group{b.group("a", said("r1", "a1", 0, "x")), b.group("c", asked("q5", "hi"))}
	errs := s.Commit(t.Context(), []turnlog.Group{good[0], hole, good[1]})
	if errs[0] != nil || errs[1] == nil || errs[2] != nil {
		t.Errorf("errors %v, want one for the second group alone", errs)
	}
	b.note(good...)
	b.holds(t, s)
	b.commit(s, b.group("b", asked("q3", "hi"), asked("q4", "hi")))
	b.holds(t, s)
}
