package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/search"
	"verbatim/internal/turnlog"
)

func TestSearchShowsWhatItFound(t *testing.T) {
	l := newLibrary(t)
	l.ask("c1", "r1", "Is the Café's disk full?")
	l.answer("c1", "r1", "Let me look.", " \n", "The disk is full, the disks are not.")
	l.commit("c1", "", event.Title{Title: "Disk space"})
	got := l.search(search.Request{Text: "disk full"})
	at := time.UnixMilli(1_700_000_000_000).UTC()
	want := search.Page{Hits: []search.Hit{
		{
			Conversation: "c1", Title: "Disk space", Message: "ar1", Run: "r1", Role: search.RoleAnswer, Seq: 12, Turn: 1,
			At: at.Add(12 * time.Millisecond),
			Snippet: search.Snippet{
				Text: "Let me look.\n\nThe disk is full, the disks are not.", Ranges: []search.Range{{Start: 18, End: 22}, {Start: 26, End: 30}, {Start: 36, End: 41}},
			},
			Ranges: []search.Range{{Start: 18, End: 22}, {Start: 26, End: 30}, {Start: 36, End: 41}},
		},
		{
			Conversation: "c1", Title: "Disk space", Message: "qr1", Role: search.RoleQuestion, Seq: 1, Turn: 1,
			At: at.Add(time.Millisecond),
			Snippet: search.Snippet{
				Text: "Is the Café's disk full?", Ranges: []search.Range{{Start: 15, End: 19}, {Start: 20, End: 24}},
			},
			Ranges: []search.Range{{Start: 15, End: 19}, {Start: 20, End: 24}},
		},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("page (-want +got):\n%s", d)
	}
}

func TestSearchFinds(t *testing.T) {
	l := newLibrary(t)
	for _, m := range []struct {
		run  id.Run
		text string
	}{
		{"Latin", "The Café serves naïve strangers"},
		{"German", "Die Straße ist lang"},
		{"Turkish", "İstanbul'da ıssız bir ada"},
		{"Greek", "Ὀδυσσεύς ταξιδεύει"},
		{"Russian", "Ёлка и ещё ёж"},
		{"Chinese", "我们的数据库是最快的。"},
		{"Japanese", "データベースを検索する"},
		{"Korean", "데이터베이스를 검색합니다"},
		{"emoji", "👍🏽 great 👩‍👩‍👧"},
		{"operators", `near "and" or not: (x*) -y ^z`},
	} {
		l.ask("c", m.run, m.text)
		l.answer("c", m.run, "-")
	}
	for _, c := range []struct {
		name, query string
		want        []string
	}{
		{"an accent less", "cafe", []string{"qLatin"}},
		{"an accent more", "cáfé", []string{"qLatin"}},
		{"by the beginning", "nai stra", []string{"qLatin"}},
		{"two texts, newest first", "stra", []string{"qGerman", "qLatin"}},
		{"sharp s", "STRASSE", []string{"qGerman"}},
		{"Turkish i", "istanbul issiz", []string{"qTurkish"}},
		{"Greek without accents", "οδυσσευς", []string{"qGreek"}},
		{"Russian without dots", "елка еще", []string{"qRussian"}},
		{"one Chinese character", "库", []string{"qChinese"}},
		{"two Chinese characters", "据库", []string{"qChinese"}},
		{"a Chinese sentence", "数据库是最快的", []string{"qChinese"}},
		{"Chinese in another order", "库数", nil},
		{"two Japanese characters", "検索", []string{"qJapanese"}},
		{"half width", "ﾃﾞｰﾀ", []string{"qJapanese"}},
		{"the middle of a Korean word", "베이스", []string{"qKorean"}},
		{"decomposed Korean", "\u1100\u1165\u11b7\u1109\u1162\u11a8", []string{"qKorean"}},
		{"emoji beside a word", "great 👍", []string{"qemoji"}},
		{"emoji alone", "👍", nil},
		{"operators as words", `"and" OR NOT near`, []string{"qoperators"}},
		{"column and star", "near:* (x)", []string{"qoperators"}},
		{"a quote that stays open", `"near`, []string{"qoperators"}},
		{"OR is no operator", "cafe OR straße", nil},
		{"nothing", "", nil},
		{"only signs", `"*-^:()`, nil},
		{"a zero byte", "caf\x00", []string{"qLatin"}},
	} {
		l.finds(c.name, words(c.query), c.want...)
	}
	// What is found does not depend on what the process remembers.
	l.close()
	l.open()
	l.finds("after a restart", words("据库"), "qChinese")
}

// A text is found right after its commit, and not before.
func TestSearchIsAsNewAsTheLog(t *testing.T) {
	l := newLibrary(t)
	if errs := l.db.Commit(t.Context(), []turnlog.Group{
		l.group("c", "r1", question("r1", "needle"), event.Start{}, event.Start{}),
	}); errs[0] == nil {
		t.Fatal("a run started twice")
	}
	l.finds("after a commit that failed", words("needle"))
	l.ask("c", "r1", "needle")
	l.finds("after the commit", words("needle"), "qr1")
	l.commit("c", "r1", event.Delta{Segment: "s1", Text: "a needle"})
	l.commit("c", "r1", event.SegmentEnd{Segment: "s1", Phase: event.PhaseAnswer, Bytes: 8, Visible: true})
	l.finds("while the run goes on", words("needle"), "qr1")
	l.commit("c", "r1", event.Cancelled{By: "owner"})
	l.finds("when it has ended", words("needle"), "ar1", "qr1")
}

func TestSearchKeepsToWhatIsAsked(t *testing.T) {
	l := newLibrary(t)
	for _, c := range []id.Conversation{"c1", "c2"} {
		run := id.Run(c)
		l.ask(c, run, "needle one")
		l.commit(c, run, event.ToolResult{Call: "call_1", Name: "list_directory", OK: true, Output: "needle.txt\n"})
		l.answer(c, run, "a needle")
	}
	ops, none := "Ops", ""
	l.commit("c2", "", event.Settings{Project: &ops})
	all := []string{"ac2", "qc2", "ac1", "qc1"}
	for _, c := range []struct {
		name    string
		request search.Request
		want    []string
	}{
		{"what was said", search.Request{}, all},
		{"what tools put out too", search.Request{Tools: true}, []string{"ac2", "ac2 call_1", "qc2", "ac1", "ac1 call_1", "qc1"}},
		{"one conversation", search.Request{Conversation: "c1"}, []string{"ac1", "qc1"}},
		{"one conversation with tools", search.Request{Conversation: "c1", Tools: true}, []string{"ac1", "ac1 call_1", "qc1"}},
		{"no such conversation", search.Request{Conversation: "c3"}, nil},
		{"a project", search.Request{Project: &ops}, []string{"ac2", "qc2"}},
		{"no project", search.Request{Project: &none}, []string{"ac1", "qc1"}},
		{"at most one", search.Request{Limit: 1}, all[:1]},
		{"the best", search.Request{Ranked: true, Limit: 3}, []string{"ac2", "qc2", "ac1"}},
	} {
		c.request.Text = "need"
		l.finds(c.name, c.request, c.want...)
	}
}

func TestSearchGoesOn(t *testing.T) {
	l := newLibrary(t)
	want := []string{}
	for i := range 7 {
		run := id.Run(rune('a' + i))
		l.ask("c", run, "needle")
		want = append([]string{"q" + string(run)}, want...)
		l.answer("c", run, "other")
	}
	got := []string{}
	q := search.Request{Text: "needle", Limit: 3}
	for pages := 1; ; pages++ {
		page := l.search(q)
		for _, h := range page.Hits {
			got = append(got, string(h.Message))
		}
		if q.Before = page.Next; page.Next == 0 {
			if pages != 3 {
				t.Errorf("%d pages, want 3", pages)
			}
			break
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("all pages (-want +got):\n%s", d)
	}
}

func TestSearchRanks(t *testing.T) {
	l := newLibrary(t)
	for _, m := range []struct {
		run  id.Run
		text string
	}{
		{"best", "needle, needle and needle"},
		{"good", "a needle"},
		{"begins", "needles"},
		{"long", "needle in much else, much else, much else, much else, much else, much else, much else"},
	} {
		l.ask("c", m.run, m.text)
		l.answer("c", m.run, "other")
	}
	l.finds("newest first", words("needle"), "qlong", "qbegins", "qgood", "qbest")
	l.finds("best first", search.Request{Text: "needle", Ranked: true}, "qbest", "qgood", "qlong", "qbegins")
}

func TestSearchLeavesDeletedTurnsOut(t *testing.T) {
	l := newLibrary(t)
	for _, run := range []id.Run{"r1", "r2"} {
		l.ask("c", run, "needle")
		l.answer("c", run, "needle")
	}
	all := []string{"ar2", "qr2", "ar1", "qr1"}
	l.commit("c", "", event.MessageDeleted{Message: "qr1"})
	l.finds("a deleted message", words("needle"), all[:2]...)
	l.finds("a deleted message, ranked", search.Request{Text: "needle", Ranked: true}, all[:2]...)
	l.commit("c", "", event.MessageRestored{Message: "qr1"})
	l.finds("restored", words("needle"), all...)
	l.commit("c", "", event.ConversationDeleted{})
	l.finds("a deleted conversation", words("needle"))
	l.commit("c", "", event.ConversationRestored{})
	l.finds("restored conversation", words("needle"), all...)
}

// Versions of an answer are texts of their own, each with its message and run.
func TestSearchFindsEveryVersion(t *testing.T) {
	l := newLibrary(t)
	l.ask("c", "r1", "question")
	l.answer("c", "r1", "needle one")
	l.commit("c", "r2", event.Start{Model: "demo/demo", Version: 2, RegenerateOf: "qr1"})
	l.answer("c", "r2", "needle two")
	page := l.search(words("needle"))
	if len(page.Hits) != 2 || page.Hits[0].Run != "r2" || page.Hits[1].Run != "r1" || page.Hits[0].Turn != page.Hits[1].Turn {
		t.Errorf("hits %+v", page.Hits)
	}
}

func TestReindexFindsTheSame(t *testing.T) {
	l := newLibrary(t)
	for _, c := range []id.Conversation{"c2", "c1"} {
		run := id.Run(c)
		l.ask(c, run, "needle "+string(c))
		l.commit(c, run, event.ToolResult{Call: "call_1", Name: "list_directory", OK: true, Output: "needle.txt\n"})
		l.answer(c, run, "needles", "and more")
	}
	q := search.Request{Text: "needle", Tools: true}
	before := l.search(q)
	if err := l.db.Reindex(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, l.search(q)); d != "" || len(before.Hits) != 6 {
		t.Errorf("%d hits before; after a reindex (-before +after):\n%s", len(before.Hits), d)
	}
}

func TestSearchEndsWithItsContext(t *testing.T) {
	l := newLibrary(t)
	l.ask("c", "r1", "needle")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.db.Search(ctx, words("needle")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want canceled", err)
	}
	if err := l.db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.db.Search(t.Context(), words("needle")); !errors.Is(err, turnlog.ErrClosed) {
		t.Errorf("got %v, want closed", err)
	}
}
