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
		before := look(t, s, b)
		mustClose(t, s)
		s = open()
		if d := cmp.Diff(before, look(t, s, b)); d != "" {
			t.Errorf("indexes (-before closing +after):\n%s", d)
		}
		reindexed(t, subject, s, b)
		mustClose(t, s)
	}
}

func testIndexes(t *testing.T, subject Subject) {
	project, other, model, yes, no := "Ops", "Home", "demo/other", true, false
	seen := int64(4)
	long := "one\r\ntwo\nthree\rfour 你好 five six seven eight nine ten eleven"
	cut := "one two three four 你好 five six seven eight nine "
	steps := []struct {
		name   string
		drafts []turnlog.Draft
		title  string
		rows   int // 0: not listed
	}{
		{"question and start", []turnlog.Draft{asked("q1", long), started("r1", "a1")}, cut, 2},
		{"text", []turnlog.Draft{said("r1", "a1", 0, "x")}, cut, 2},
		{"end", []turnlog.Draft{ended("r1", "a1")}, cut, 2},
		{"second question", []turnlog.Draft{asked("q2", "another"), started("r2", "a2"), ended("r2", "a2")}, cut, 4},
		{"first question deleted", []turnlog.Draft{fact(event.MessageDeleted{Message: "q1"})}, "another", 2},
		{"second question deleted", []turnlog.Draft{fact(event.MessageDeleted{Message: "q2"})}, "", 0},
		{"first question restored", []turnlog.Draft{fact(event.MessageRestored{Message: "q1"})}, cut, 2},
		{"title", []turnlog.Draft{fact(event.Title{Title: "named"})}, "named", 2},
		{"settings", []turnlog.Draft{fact(event.Settings{Project: &project, Pinned: &yes, Model: &model, Read: &seen})}, "named", 2},
		{"other settings", []turnlog.Draft{fact(event.Settings{Project: &other, Archived: &yes})}, "named", 2},
		{"taken back", []turnlog.Draft{fact(event.Settings{Archived: &no})}, "named", 2},
		{"regenerated", []turnlog.Draft{again("r3", "a1", "q1"), ended("r3", "a1")}, "named", 2},
		{"question without an answer", []turnlog.Draft{asked("q3", "b")}, "named", 3},
		{"deleted", []turnlog.Draft{fact(event.MessageDeleted{Message: "q3"})}, "named", 2},
		{"deleted again", []turnlog.Draft{fact(event.MessageDeleted{Message: "q3"})}, "named", 2},
		{"restored", []turnlog.Draft{fact(event.MessageRestored{Message: "q3"})}, "named", 3},
		{"restored again", []turnlog.Draft{fact(event.MessageRestored{Message: "q3"})}, "named", 3},
		{"what is not there deleted", []turnlog.Draft{fact(event.MessageDeleted{Message: "q9"})}, "named", 3},
		{"retry", []turnlog.Draft{started("r4", "a3"), retried("r4", "a3")}, "named", 4},
		{"stopped", []turnlog.Draft{cancelled("r4", "a3")}, "named", 4},
		{"conversation deleted", []turnlog.Draft{fact(event.ConversationDeleted{})}, "", 0},
		{"a message in it restored", []turnlog.Draft{fact(event.MessageRestored{Message: "q2"})}, "", 0},
		{"conversation restored", []turnlog.Draft{fact(event.ConversationRestored{})}, "named", 4},
		{"restored twice", []turnlog.Draft{fact(event.ConversationRestored{})}, "named", 4},
		{"deleted for good", []turnlog.Draft{fact(event.ConversationDeleted{})}, "", 0},
		{"begun anew", []turnlog.Draft{asked("q4", ""), started("r5", "a4"), ended("r5", "a4")}, "", 2},
		{"a question that has a text", []turnlog.Draft{asked("q5", "a later question")}, "a later question", 3},
		{"both are there", []turnlog.Draft{fact(event.ConversationRestored{})}, "named", 7},
		{"deleted, begun and named", []turnlog.Draft{fact(event.ConversationDeleted{}), asked("q6", "c"), fact(event.Title{Title: "newer"})}, "newer", 1},
		{"the newer name stays", []turnlog.Draft{fact(event.ConversationRestored{})}, "newer", 8},
		{"a copy", []turnlog.Draft{fact(event.ForkedFrom{Conversation: "c", Message: "q1", Seq: 1})}, "newer", 8},
	}
	dir := t.TempDir()
	b := newBook(t)
	s := mustOpen(t, subject, dir, Options{})
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			b.commit(s, b.group("c", step.drafts...))
			list, err := s.Conversations(t.Context(), turnlog.Query{Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			title, rows := "", 0
			for _, line := range list {
				title, rows = line.Title, line.Rows
			}
			if title != step.title || rows != step.rows {
				t.Errorf("%d rows under %q, want %d under %q", rows, title, step.rows, step.title)
			}
			indexed(t, s, b)
			reindexed(t, subject, s, b)
		})
	}
}

// testList checks order, pages and filters of the list of conversations.
func testList(t *testing.T, subject Subject) {
	ops, none, yes, no := "Ops", "", true, false
	b := newBook(t)
	s := mustOpen(t, subject, t.TempDir(), Options{})
	set := func(c id.Conversation, settings event.Settings) { b.commit(s, b.group(c, fact(settings))) }
	for _, c := range []id.Conversation{"d", "e", "f", "g", "h", "d"} {
		b.commit(s, b.group(c, asked(id.Message("q"+string(c)), "hi")))
	}
	set("e", event.Settings{Project: &ops})
	set("g", event.Settings{Project: &ops, Archived: &yes})
	set("h", event.Settings{Archived: &yes, Pinned: &yes})
	set("f", event.Settings{Archived: &no, Project: &none})
	cases := []struct {
		name  string
		query turnlog.Query
		want  []id.Conversation
	}{
		{"all", turnlog.Query{}, []id.Conversation{"d", "h", "g", "f", "e"}},
		{"as many as asked for", turnlog.Query{Limit: 3}, []id.Conversation{"d", "h", "g"}},
		{"too many", turnlog.Query{Limit: turnlog.MaxConversations + 1}, []id.Conversation{"d", "h", "g", "f", "e"}},
		{"a project", turnlog.Query{Project: &ops}, []id.Conversation{"g", "e"}},
		{"no project", turnlog.Query{Project: &none}, []id.Conversation{"d", "h", "f"}},
		{"the archive", turnlog.Query{Archived: &yes}, []id.Conversation{"h", "g"}},
		{"not the archive", turnlog.Query{Archived: &no}, []id.Conversation{"d", "f", "e"}},
		{"a project's archive", turnlog.Query{Project: &ops, Archived: &yes}, []id.Conversation{"g"}},
		{"a project without its archive", turnlog.Query{Project: &ops, Archived: &no}, []id.Conversation{"e"}},
		{"the archive without projects", turnlog.Query{Project: &none, Archived: &yes}, []id.Conversation{"h"}},
		{"another project", turnlog.Query{Project: new(string("Home"))}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, page := range []int{c.query.Limit, 1, 2} {
				if got := pages(t, s, c.query, page); !cmp.Equal(got, c.want) && len(got)+len(c.want) > 0 {
					t.Errorf("in pages of %d: %v, want %v", page, got, c.want)
				}
			}
		})
	}
	indexed(t, s, b)
}

// pages reads a list by pages, each from where the last one ended; a query with
// a limit of its own is one page.
func pages(t *testing.T, s turnlog.Store, q turnlog.Query, size int) (all []id.Conversation) {
	t.Helper()
	one := q.Limit != 0
	if !one {
		q.Limit = size
	}
	for {
		page, err := s.Conversations(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range page {
			all = append(all, line.Conversation)
			q.Before = turnlog.Place{Updated: line.Updated, Key: line.Key}
		}
		if len(page) == 0 || one {
			return all
		}
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
