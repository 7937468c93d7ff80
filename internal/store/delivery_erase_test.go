package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/delivery"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/store"
	"verbatim/internal/surface"
	"verbatim/internal/turnlog"
)

// poster shows turns in a chat of each conversation, as lanes do.
type poster struct {
	t   *testing.T
	db  *store.DB
	log *turnlog.Log
	n   int
	// late is what a lane was at work on when its turn was erased.
	late []delivery.Change
}

func newPoster(t *testing.T, db *store.DB, l *turnlog.Log) *poster {
	return &poster{t: t, db: db, log: l}
}

func (p *poster) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// show receives the question of a turn that is in the log, and posts an answer
// that grows, a piece that nobody knows to have arrived, and an echo. It returns how
// many blobs these name in the end.
func (p *poster) show(c id.Conversation, run id.Run, word string, size int) (blobs int) {
	p.t.Helper()
	p.n++
	text := func(kind string) string { return word + " " + kind + strings.Repeat(" ipsum", size/6) }
	a := delivery.Address{Surface: "s", Chat: surface.Chat{ID: string(c)}}
	b, err := p.db.Bind(p.t.Context(), a, c)
	p.must(err)
	head, err := p.log.Head(p.t.Context(), c)
	p.must(err)
	info, err := p.log.Run(p.t.Context(), run)
	p.must(err)
	place := func(kind string, seq int64) delivery.Placement {
		post := fmt.Sprint(kind, p.n)
		return delivery.Placement{
			Post: post, Binding: b.ID, Run: run, Item: kind, Seq: seq, State: delivery.InFlight, Error: text("error"), Shown: word,
			Body: &surface.Post{ID: post, Text: text(kind), Buttons: []surface.Button{{Label: word}}, Files: []surface.File{{Name: word, Blob: post}}},
		}
	}
	answer, lost, echo := place("answer", head), place("lost", head), place("echo", info.First-1)
	echo.Run, lost.State = "", delivery.Unknown
	m := delivery.Inbound{
		Delivery: fmt.Sprint("d", p.n), Address: a, ID: fmt.Sprint(p.n), State: delivery.InboundWaiting, Text: text("question"),
		Sender: surface.Person{Name: word}, Files: []event.Attachment{{Name: word, Blob: fmt.Sprint("mail", p.n)}},
	}
	p.must(p.db.AddInbound(p.t.Context(), m))
	m.State, m.Conversation, m.Run = delivery.InboundTaken, c, run
	p.must(p.db.SetInbound(p.t.Context(), m))
	for i := range 2 {
		answer.Body.Text = text(strings.Repeat("more ", i*20))
		change := delivery.Change{Address: a, Binding: b.ID, Place: []delivery.Placement{answer, lost, echo}}
		p.must(p.db.Save(p.t.Context(), change))
		if i == 1 {
			p.late = append(p.late, change)
		}
	}
	if p.n%3 == 0 {
		m.State = delivery.InboundDone
		p.must(p.db.SetInbound(p.t.Context(), m))
		return 3
	}
	return 4
}

// finish stores what lanes were at work on once more.
func (p *poster) finish() {
	p.t.Helper()
	for _, c := range p.late {
		p.must(p.db.Save(p.t.Context(), c))
	}
}

// The files of posts and of received messages are in use as long as these are,
// and an erasure frees them.
func TestBlobsOfChats(t *testing.T) {
	db := mustOpen(t, t.TempDir())
	l := logOver(t, db)
	w, p := &writer{t: t, log: l}, newPoster(t, db, l)
	run := w.turn("c", "x", 1)
	p.show("c", run, "x", 1)
	inUse := func(name string, want ...string) {
		t.Helper()
		got, err := db.Blobs(t.Context())
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, d)
		}
		for _, blob := range []string{"answer1", "blob1", "echo1", "lost1", "mail1", "out1", "x"} {
			used, err := db.BlobInUse(t.Context(), blob)
			if want := cmp.Equal(used, strings.Contains(strings.Join(want, " "), blob)); !want || err != nil {
				t.Errorf("%s: %s in use: %v, %v", name, blob, used, err)
			}
		}
	}
	inUse("all", "answer1", "blob1", "echo1", "lost1", "mail1", "out1")
	m := delivery.Inbound{Delivery: "d1", State: delivery.InboundTaken, Files: []event.Attachment{{Blob: "mail1"}, {Blob: "out1"}}, Run: run}
	p.must(db.SetInbound(t.Context(), m))
	head, err := l.Head(t.Context(), "c")
	p.must(err)
	free, err := l.Erase(t.Context(), "c", turnlog.Erasure{Through: head})
	if want := []string{"answer1", "blob1", "echo1", "lost1", "mail1", "out1"}; !cmp.Equal(free, want) || err != nil {
		t.Errorf("free %q, %v; want %q", free, err, want)
	}
	inUse("erased")
	if free, err := l.Erase(t.Context(), "c", turnlog.Erasure{Through: head}); len(free) != 0 || err != nil {
		t.Errorf("the same again frees %q, %v", free, err)
	}
	m.State = delivery.InboundDone
	m.Files = []event.Attachment{{Blob: "mail2"}}
	p.must(db.SetInbound(t.Context(), m))
	inUse("done")
}
