package library_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/library"
	"verbatim/internal/turnlog"
)

func TestPageGoesOnWhereTheLastOneEnded(t *testing.T) {
	l := &fakeLog{t: t}
	l.ask("1", "q")
	for i := range 7 {
		// Two of each time, so that a place needs its key too.
		l.lines = append(l.lines, turnlog.ConversationInfo{
			Conversation: id.Conversation(fmt.Sprint("c", i)), Updated: int64(1000 - i/2), Key: int64(50 - i), Rows: 1,
		})
	}
	lib := library.New(l)
	var got []string
	cursor, sizes := "", []int{}
	for {
		page, err := lib.Page(t.Context(), library.ListQuery{Limit: 3, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Items {
			got = append(got, string(c.ID))
		}
		sizes = append(sizes, len(page.Items))
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	want := []string{"c0", "c1", "c2", "c3", "c4", "c5", "c6"}
	if !slices.Equal(got, want) || !slices.Equal(sizes, []int{3, 3, 1}) {
		t.Errorf("pages have %v, in %v", got, sizes)
	}
}

func TestPageAsksForWhatIsWanted(t *testing.T) {
	l := &fakeLog{t: t}
	lib := library.New(l)
	for _, row := range []struct {
		name string
		ask  library.ListQuery
		want turnlog.Query
	}{
		{"nothing said", library.ListQuery{}, turnlog.Query{Limit: library.DefaultItems + 1}},
		{"too many", library.ListQuery{Limit: 1 << 30}, turnlog.Query{Limit: library.MaxItems + 1}},
		{"less than none", library.ListQuery{Limit: -1}, turnlog.Query{Limit: library.DefaultItems + 1}},
		{"filters", library.ListQuery{Project: new(""), Archived: new(true)}, turnlog.Query{Limit: library.DefaultItems + 1, Project: new(""), Archived: new(true)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			l.asked = nil
			page, err := lib.Page(t.Context(), row.ask)
			if err != nil || page.Next != "" || page.Items == nil {
				t.Errorf("page = %+v, %v; want an empty list and no next", page, err)
			}
			if diff := cmp.Diff([]turnlog.Query{row.want}, l.asked); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, cursor := range []string{"x", "MTAw", "MTAwLg", "MTAwLjA1", "====", "MTAwLjUK", "é"} {
		if _, err := lib.Page(t.Context(), library.ListQuery{Cursor: cursor}); !errors.Is(err, library.ErrCursor) {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}

func TestItemOfTheListTellsAllOfALine(t *testing.T) {
	l := &fakeLog{t: t}
	l.ask("1", "q")
	l.lines = []turnlog.ConversationInfo{{
		Conversation: "c1", Title: "T", Project: "P", Updated: 1767323060999, Rows: 4, Pinned: true, Archived: true,
		Model: "openai/x", News: 9, Read: 8, Running: "r1", Queued: 2,
	}}
	page, err := library.New(l).Page(t.Context(), library.ListQuery{})
	if err != nil {
		t.Fatal(err)
	}
	running := id.Run("r1")
	want := []library.Item{{
		ID: "c1", Title: "T", Project: "P", Updated: "2026-01-02T03:04:20.999Z", Count: 4, Pinned: true, Archived: true,
		Unread: true, Model: "openai/x", Running: &running, Queued: 2, LastSeq: 2,
	}}
	if diff := cmp.Diff(want, page.Items); diff != "" {
		t.Error(diff)
	}
}

// threeTurns has questions at 1, 6 and 11, answers at 2, 7 and 12, and another
// version of the second answer behind them all.
func threeTurns(t *testing.T) *fakeLog {
	l := &fakeLog{t: t}
	for _, n := range []string{"1", "2", "3"} {
		l.ask(n, "question "+n)
		l.say(n, "s1", "answer "+n, event.PhaseAnswer)
		l.end(n)
	}
	l.add("r2b", "m2", event.Start{Model: "openai/fake", RegenerateOf: "u2", Version: 2})
	l.say("2b", "s1", "better 2", event.PhaseAnswer)
	l.end("2b")
	return l
}

func contents(page library.RowPage) []string {
	var out []string
	for _, row := range page.Messages {
		out = append(out, row.Content)
	}
	return out
}

func TestMessagesArePagedBySeq(t *testing.T) {
	lib := library.New(threeTurns(t))
	for _, row := range []struct {
		name   string
		before int64
		limit  int
		want   []string
		next   int64
	}{
		{"the newest", 0, 2, []string{"question 3", "answer 3"}, 11},
		{"before them", 11, 3, []string{"answer 1", "question 2", "better 2"}, 2},
		{"the rest", 2, 3, []string{"question 1"}, 0},
		{"a seq that began no row", 13, 1, []string{"answer 3"}, 12},
		{"before the first", 1, 3, nil, 0},
		{"all, exactly", 0, 6, []string{"question 1", "answer 1", "question 2", "better 2", "question 3", "answer 3"}, 0},
		{"all", 0, 0, []string{"question 1", "answer 1", "question 2", "better 2", "question 3", "answer 3"}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			page, err := lib.Messages(t.Context(), "c1", row.before, row.limit)
			if err != nil {
				t.Fatal(err)
			}
			next := int64(0)
			if page.Next != nil {
				next = *page.Next
			}
			if diff := cmp.Diff(row.want, contents(page)); diff != "" || next != row.next || page.LastSeq != 19 {
				t.Errorf("next %d, want %d; last seq %d; rows (-want +got):\n%s", next, row.next, page.LastSeq, diff)
			}
		})
	}
	if _, err := lib.Messages(t.Context(), "c9", 0, 0); !errors.Is(err, library.ErrMissing) {
		t.Errorf("unknown: %v", err)
	}
}

// TestMessagesAreTheRowsOfTheChat: whatever the pages, joined they are what the
// whole shows, to the byte.
func TestMessagesAreTheRowsOfTheChat(t *testing.T) {
	build := threeTurns(t)
	build.add("r1", "m1", event.Usage{}) // after its end: broken, left out everywhere
	build.ask("4", "question 4")
	build.add("r4", "m4", event.Delta{Segment: "s1", Text: "half a sen"})
	whole := rows(t, build)
	for limit := 1; limit <= len(whole)+1; limit++ {
		var joined []map[string]any
		for before, more := int64(0), true; more; {
			page, err := library.New(build).Messages(t.Context(), "c1", before, limit)
			if err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(page.Messages)
			if err != nil {
				t.Fatal(err)
			}
			var part []map[string]any
			if err := json.Unmarshal(b, &part); err != nil {
				t.Fatal(err)
			}
			joined = append(part, joined...)
			if more = page.Next != nil; more {
				before = *page.Next
			}
		}
		if diff := cmp.Diff(whole, joined); diff != "" {
			t.Errorf("in pages of %d (-whole +joined):\n%s", limit, diff)
		}
	}
}

func TestMessagesReadOnlyTheTextOfTheirRows(t *testing.T) {
	l := threeTurns(t)
	l.after = map[int64]bool{}
	if _, err := library.New(l).Messages(t.Context(), "c1", 0, 2); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[int64]bool{11: true}, l.after); diff != "" {
		t.Errorf("text was read behind these seqs (-want +got):\n%s", diff)
	}
}

func TestConversation(t *testing.T) {
	l := threeTurns(t)
	l.add("", "", event.Settings{Pinned: new(true), Model: new("openai/x"), Read: new(int64(19))})
	l.ask("4", "question 4")
	waits := event.UserMessage{Message: "u5", Text: " next\n", Attachments: []event.Attachment{{ID: "f1", Name: "a.txt", MIME: "text/plain", Size: 1, Blob: "b_1"}}}
	l.add("", "", event.Queue{Op: event.QueueAdd, Run: "r5", Message: &waits})
	l.add("", "", event.Queue{Op: event.QueueAdd, Run: "r6", RegenerateOf: "u1"})
	l.add("", "", event.Queue{Op: event.QueueAdd, Run: "r7", Message: &event.UserMessage{Message: "u7", Text: "not this"}})
	l.add("", "", event.Queue{Op: event.QueueRemove, Run: "r7"})
	lib := library.New(l)
	c, err := lib.Conversation(t.Context(), "c1")
	if err != nil {
		t.Fatal(err)
	}
	running, again := id.Run("r4"), id.Message("u1")
	item := library.Item{
		ID: "c1", Title: "question 1", Updated: "2026-01-02T03:04:22.000Z", Count: 8, Pinned: true, Unread: true,
		Model: "openai/x", Running: &running, Queued: 2, LastSeq: 26,
	}
	want := library.Queue{
		Waiting: []library.Queued{
			{Run: "r5", Text: " next\n", Attachments: waits.Attachments, Seq: 23},
			{Run: "r6", Attachments: []event.Attachment{}, RegenerateOf: &again, Seq: 24},
		},
		Returned: []library.Queued{{Run: "r7", Text: "not this", Attachments: []event.Attachment{}, Seq: 25}},
	}
	if diff := cmp.Diff(item, c.Item); diff != "" {
		t.Errorf("item (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, c.Queue); diff != "" {
		t.Errorf("queue (-want +got):\n%s", diff)
	}
	if len(c.Messages) != 8 || c.Messages[3].Content != "better 2" || c.Forked != nil {
		t.Errorf("messages %v, forked from %v", c.Messages, c.Forked)
	}
	alone, err := lib.Item(t.Context(), "c1")
	if diff := cmp.Diff(item, alone); diff != "" || err != nil {
		t.Errorf("%v (-of the conversation +alone):\n%s", err, diff)
	}
	l.add("", "", event.Settings{Read: new(int64(27))})
	if alone, _ = lib.Item(t.Context(), "c1"); alone.Unread {
		t.Error("it is unread after all was read")
	}
	l.add("", "", event.ConversationDeleted{})
	if _, err := lib.Item(t.Context(), "c1"); !errors.Is(err, library.ErrMissing) {
		t.Errorf("deleted: %v", err)
	}
}

func TestForkSaysWhereItIsFrom(t *testing.T) {
	l := &fakeLog{t: t}
	l.ask("1", "q")
	l.end("1")
	l.add("", "", event.ForkedFrom{Conversation: "c0", Message: "m0", Seq: 7})
	c, err := library.New(l).Conversation(t.Context(), "c1")
	if diff := cmp.Diff(&library.Origin{Conversation: "c0", Message: "m0"}, c.Forked); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func TestQuestionAndVersion(t *testing.T) {
	l := threeTurns(t)
	l.add("", "", event.MessageDeleted{Message: "u3"})
	lib := library.New(l)
	for m, want := range map[id.Message]id.Message{"u1": "u1", "m2": "u2", "m3": "u3", "m9": "", "": ""} {
		got, err := lib.Question(t.Context(), "c1", m)
		if got != want || (want == "") != errors.Is(err, library.ErrMissing) {
			t.Errorf("question of %q = %q, %v; want %q", m, got, err, want)
		}
	}
	for _, row := range []struct {
		message id.Message
		run     id.Run
		want    int
		missing bool
	}{
		{"m2", "r2", 0, false}, {"m2", "r2b", 1, false}, {"u2", "r2b", 1, false},
		{"m1", "r2", 0, true}, {"m3", "r3", 0, true}, {"m2", "r9", 0, true},
	} {
		n, err := lib.Version(t.Context(), "c1", row.message, row.run)
		if n != row.want || errors.Is(err, library.ErrMissing) != row.missing {
			t.Errorf("version of %s %s = %d, %v", row.message, row.run, n, err)
		}
	}
}

func TestContentIsThatOfTheRun(t *testing.T) {
	l := threeTurns(t)
	l.ask("4", "q")
	l.add("r4", "m4", event.Delta{Segment: "s1", Text: "so far"})
	for run, want := range map[id.Run]string{"r2": "answer 2", "r2b": "better 2", "r4": "so far", "r9": ""} {
		got, err := library.New(l).Content(t.Context(), "c1", run)
		if got != want || (want == "") != errors.Is(err, library.ErrMissing) {
			t.Errorf("content of %s = %q, %v", run, got, err)
		}
	}
}

func TestRun(t *testing.T) {
	l := threeTurns(t)
	l.ask("4", "q")
	l.add("r4", "m4", event.Error{Type: event.ErrorRateLimit, Code: event.CodeQuota, Message: "Used up."})
	l.ask("5", "q")
	l.add("", "", event.Queue{Op: event.QueueAdd, Run: "r6", RegenerateOf: "u1"})
	l.add("", "", event.Queue{Op: event.QueueAdd, Run: "r7", Message: &event.UserMessage{Message: "u7"}})
	l.add("", "", event.MessageDeleted{Message: "u3"})
	lib := library.New(l)
	run := func(info turnlog.RunInfo) (library.Run, error) {
		info.Conversation = "c1"
		return lib.RunStatus(t.Context(), info)
	}
	for _, row := range []struct {
		info turnlog.RunInfo
		want library.Run
	}{
		{turnlog.RunInfo{Run: "r2b", First: 16}, library.Run{
			Message: "m2", Status: "complete", Model: "openai/fake", RegenerateOf: "u2", Finish: event.FinishStop,
			Started: new("2026-01-02T03:04:16.000Z"), Ended: new("2026-01-02T03:04:19.000Z"),
		}},
		{turnlog.RunInfo{Run: "r4", First: 21}, library.Run{
			Message: "m4", Status: "failed", Model: "openai/fake", Started: new("2026-01-02T03:04:21.000Z"), Ended: new("2026-01-02T03:04:22.000Z"),
			Error: &library.Fault{Kind: event.ErrorRateLimit, Code: event.CodeQuota, Message: "Used up."},
		}},
		{turnlog.RunInfo{Run: "r5", First: 24}, library.Run{Message: "m5", Status: "running", Model: "openai/fake", Started: new("2026-01-02T03:04:24.000Z")}},
		{turnlog.RunInfo{Run: "r6", Queued: 25}, library.Run{Status: library.StatusQueued, Waiting: 1, RegenerateOf: "u1"}},
		{turnlog.RunInfo{Run: "r7", Queued: 26}, library.Run{Status: library.StatusQueued, Waiting: 2}},
		{turnlog.RunInfo{Run: "r8", Queued: 3, Dropped: 4}, library.Run{Status: library.StatusDropped}},
	} {
		t.Run(string(row.info.Run), func(t *testing.T) {
			row.want.Run, row.want.Conversation = row.info.Run, "c1"
			got, err := run(row.info)
			if diff := cmp.Diff(row.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	if _, err := run(turnlog.RunInfo{Run: "r3", First: 12}); !errors.Is(err, library.ErrMissing) {
		t.Errorf("deleted: %v", err)
	}
}
