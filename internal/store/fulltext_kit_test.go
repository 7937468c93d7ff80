package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/search"
	"verbatim/internal/store"
	"verbatim/internal/turnlog"
)

// library writes conversations into a store and searches them.
type library struct {
	tb   testing.TB
	dir  string
	db   *store.DB
	head map[id.Conversation]int64
	now  time.Time
}

func newLibrary(tb testing.TB) *library {
	tb.Helper()
	l := &library{tb: tb, dir: tb.TempDir(), head: map[id.Conversation]int64{}, now: time.UnixMilli(1_700_000_000_000).UTC()}
	l.open()
	tb.Cleanup(l.close)
	return l
}

func (l *library) open() {
	l.tb.Helper()
	db, err := store.Open(l.dir, store.Options{BallastBytes: -1, RecentRows: 50})
	if err != nil {
		l.tb.Fatal(err)
	}
	l.db = db
}

func (l *library) close() {
	if err := l.db.Close(); err != nil {
		l.tb.Error(err)
	}
}

// commit appends events of a run, or facts where run is empty. The answer of a
// run r has the id a + r.
func (l *library) commit(c id.Conversation, run id.Run, events ...event.Event) {
	l.tb.Helper()
	if err := l.db.Commit(l.tb.Context(), []turnlog.Group{l.group(c, run, events...)})[0]; err != nil {
		l.tb.Fatal(err)
	}
	l.head[c] += int64(len(events))
	l.upkeep()
}

// upkeep does all that is due.
func (l *library) upkeep() {
	l.tb.Helper()
	for more := true; more; {
		var err error
		if more, err = l.db.Upkeep(l.tb.Context()); err != nil {
			l.tb.Fatal(err)
		}
	}
}

func (l *library) group(c id.Conversation, run id.Run, events ...event.Event) turnlog.Group {
	l.tb.Helper()
	g := turnlog.Group{Conversation: c}
	for i, e := range events {
		r, m := run, id.Message("a"+run)
		if spec, _ := event.Lookup(e.Kind()); !spec.Run {
			r, m = "", ""
		}
		record, err := event.NewRecord(c, r, m, e)
		if err != nil {
			l.tb.Fatal(err)
		}
		l.now = l.now.Add(time.Millisecond)
		record.Seq, record.At = l.head[c]+int64(i)+1, l.now
		g.Records = append(g.Records, record)
	}
	return g
}

// ask commits a question and the start of its run.
func (l *library) ask(c id.Conversation, run id.Run, text string) {
	l.tb.Helper()
	l.commit(c, run, question(run, text), event.Start{Model: "demo/demo", Version: 1})
}

func question(run id.Run, text string) event.UserMessage {
	return event.UserMessage{Message: id.Message("q" + run), Text: text, Via: event.Via{Surface: "web"}}
}

// answer commits segments of text and the end of the run.
func (l *library) answer(c id.Conversation, run id.Run, segments ...string) {
	l.tb.Helper()
	for i, text := range segments {
		name := id.Segment(fmt.Sprint("s", i+1))
		half := len(text) / 2
		for half > 0 && text[half]&0xC0 == 0x80 {
			half--
		}
		for _, piece := range []event.Delta{{Segment: name, Text: text[:half]}, {Segment: name, Offset: int64(half), Text: text[half:]}} {
			if piece.Text != "" {
				l.commit(c, run, piece)
			}
		}
		l.commit(c, run, event.SegmentEnd{Segment: name, Phase: event.PhaseAnswer, Bytes: int64(len(text)), Visible: strings.TrimSpace(text) != ""})
	}
	l.commit(c, run, event.End{Finish: event.FinishStop})
}

func (l *library) search(q search.Request) search.Page {
	l.tb.Helper()
	page, err := l.db.Search(l.tb.Context(), q)
	if err != nil {
		l.tb.Fatal(err)
	}
	return page
}

// finds checks which texts a query finds, in order, each as its message and, of
// an output, its call.
func (l *library) finds(name string, q search.Request, want ...string) {
	l.tb.Helper()
	got := []string{}
	for _, h := range l.search(q).Hits {
		got = append(got, strings.TrimSuffix(string(h.Message)+" "+string(h.Call), " "))
	}
	if d := cmp.Diff(append([]string{}, want...), got); d != "" {
		l.tb.Errorf("%s: hits of %q (-want +got):\n%s", name, q.Text, d)
	}
}

func words(text string) search.Request { return search.Request{Text: text} }
