package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// killsPerDirectory bounds the data that one program is killed over.
const killsPerDirectory = 20

// TestKill (G6) kills the program by -9 at random instants of every phase of a
// run, starts it again on the same data, and compares what its client saw with
// what is stored.
func TestKill(t *testing.T) {
	random := newRandom(t)
	hits := map[phase]int{}
	n, total := 0, pick(20, 300)
	gallery := func(aims []phase) {
		g := newGallery(t)
		for _, aim := range aims {
			k := newShot(t, g.p, random, aim, n)
			n++
			g.shoot(k)
			hits[k.hit]++
			if k.moving {
				hits[inCheckpoint]++
			}
			if t.Failed() {
				t.Fatalf("shot %d, aimed %s, hit %s", n-1, aim, k.hit)
			}
		}
		g.finish()
	}
	for n < total {
		var aims []phase
		for i := range min(killsPerDirectory, total-n) {
			aims = append(aims, phases[(n+i)%len(phases)])
		}
		gallery(aims)
	}
	// Instants can't be forced, only tried for again.
	for range 5 {
		var missed []phase
		for _, at := range phases {
			for range 4 * max(0, 1-hits[at]) {
				missed = append(missed, at)
			}
		}
		if len(missed) > 0 {
			gallery(missed)
		}
	}
	t.Logf("%d kills\n%s", n, tableOf(phases, hits))
	for _, at := range phases {
		if hits[at] == 0 {
			t.Errorf("no kill hit the phase %q", at)
		}
	}
}

func tableOf(phases []phase, hits map[phase]int) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, at := range phases {
		fmt.Fprintf(w, "%s\t%d\n", at, hits[at])
	}
	_ = w.Flush() // into memory
	return b.String()
}

// gallery is a program and all that was shot at in its data directory.
type gallery struct {
	t *testing.T
	p *product
	u *upstream

	mu    sync.Mutex
	shots map[string]*shot // by prompt
}

func newGallery(t *testing.T) *gallery {
	g := &gallery{t: t, shots: map[string]*shot{}}
	g.u = newUpstream(t, g.answer)
	g.p = startProduct(t, g.u)
	return g
}

func (g *gallery) answer(a ask) []step {
	g.mu.Lock()
	k := g.shots[a.Prompt]
	g.mu.Unlock()
	if k == nil {
		return []step{say("Next: "), say(a.Prompt), finish("stop")}
	}
	return k.answerTo(a)
}

func (g *gallery) shoot(k *shot) {
	g.t.Helper()
	g.mu.Lock()
	g.shots[k.prompt] = k
	g.mu.Unlock()
	k.fire()
	g.look(k)
	g.p.start()
	if k.hit == startOnly && k.aim == startOnly && k.twice {
		g.killRetry(k)
	}
	g.resume(k)
	g.readBack(k)
	g.goOn(k)
}

// look reads what the killed process left, before anyone repairs it.
func (g *gallery) look(k *shot) {
	g.t.Helper()
	if !k.brokeCleanly() {
		g.t.Errorf("the client's stream: %v", k.broke)
	}
	k.before = readStored(g.t, copyDatabase(g.t, g.p.dir), k.chat)[k.chat]
	k.hit = phaseOf(k.before, k.run)
	seenIsStored(g.t, &k.got, k.before)
	if len(k.before) == 0 {
		return
	}
	first, err := k.before[0].Event()
	if u, ok := first.(event.UserMessage); err != nil || !ok || u.Text != k.prompt {
		g.t.Errorf("the first record is %v (%v), want the person's message", first, err)
	}
}

// seenIsStored compares each event that a client got with the record of its
// seq.
func seenIsStored(t testing.TB, got *seen, records []event.Record) {
	t.Helper()
	for _, f := range got.frames {
		c, err := id.ParseCursor(f.ID)
		if err != nil || c.Seq < 1 || c.Seq > int64(len(records)) {
			t.Errorf("the client saw %s at %s, the log ends at %d (%v)", f.Name, f.ID, len(records), err)
			return
		}
		r := records[c.Seq-1]
		e, err := r.Event()
		if r.Kind == (event.Erased{}).Kind() {
			continue // it was deleted since
		}
		if err != nil || string(r.Kind) != f.Name && !dropped(f, r) {
			t.Errorf("the client saw %s at seq %d, stored is %s (%v)", f.Name, c.Seq, r.Kind, err)
			continue
		}
		var text string
		var offset int64
		switch e := e.(type) {
		case event.Delta:
			text, offset = e.Text, e.Offset
		case event.Reasoning:
			text, offset = e.Text, e.Offset
		}
		if text != f.Data.Text || offset != f.Data.Offset {
			t.Errorf("the client saw %q from %d at seq %d, stored is %q from %d", f.Data.Text, f.Data.Offset, c.Seq, text, offset)
		}
	}
}

// dropped reports whether an event tells of a message that was taken out of the
// queue: its run never was.
func dropped(f frame, r event.Record) bool {
	return f.Name == "cancelled" && r.Kind == (event.Queue{}).Kind()
}

// killRetry kills the process again while it retries the run: once is all that
// a run is retried.
func (g *gallery) killRetry(k *shot) {
	g.t.Helper()
	receive(g.t, "the model to be asked again", k.reached)
	g.p.kill()
	g.p.start()
}

// resume reads the rest of the run, as a client does that comes back.
func (g *gallery) resume(k *shot) {
	g.t.Helper()
	if k.hit == beforeStart && len(k.got.frames) > 0 {
		g.t.Fatalf("the client saw %d events of a run that is not stored", len(k.got.frames))
	}
	s, err := g.p.door().chat(k.body(), k.got.lastID())
	if err != nil {
		g.t.Fatalf("resume: %v", err)
	}
	defer s.Close()
	if k.got.terminal != nil {
		if s.Status != http.StatusNoContent {
			g.t.Errorf("resume after the terminal: status %d, want 204", s.Status)
		}
		return
	}
	if s.Status != http.StatusOK {
		g.t.Fatalf("resume from %q: status %d", k.got.lastID(), s.Status)
	}
	if err := k.got.readAll(s); err != nil {
		g.t.Fatalf("resume: %v", err)
	}
	g.ended(k)
}

// ended checks how the run ended for its client.
func (g *gallery) ended(k *shot) {
	g.t.Helper()
	end := k.got.terminal
	if end == nil {
		g.t.Fatalf("the run ended without a terminal")
	}
	if k.got.frames[0].Data.Reset {
		g.t.Error("the stream was reset by a restart")
	}
	if k.interrupted() {
		if end.Name != "error" || end.Data.Code != "interrupted" {
			g.t.Errorf("terminal %s %+v, want an error with code interrupted", end.Name, end.Data)
		}
		return
	}
	if end.Name != "end" {
		g.t.Errorf("terminal %s %+v, want end", end.Name, end.Data)
	}
	if k.aim != inCheckpoint {
		if diff := cmp.Diff(k.whole(), k.got.text); diff != "" {
			g.t.Errorf("text (-said +seen):\n%s", diff)
		}
	}
}

// interrupted reports whether the kill must have cut the answer short.
func (k *shot) interrupted() bool {
	switch k.hit {
	case beforeStart, afterEnd:
		return false
	case startOnly:
		return k.aim == startOnly && k.twice
	}
	return true
}

// readBack compares what the client holds now with what the program shows to a
// client that comes new.
func (g *gallery) readBack(k *shot) {
	g.t.Helper()
	fresh := &seen{}
	s := g.p.door().mustChat(g.t, k.body(), "")
	defer s.Close()
	if err := fresh.readAll(s); err != nil {
		g.t.Fatalf("read again: %v", err)
	}
	if diff := cmp.Diff(fresh.frames, k.got.frames); diff != "" {
		g.t.Errorf("the run read in two pieces (+) and whole (-):\n%.2000s", diff)
	}
	c := g.p.door().conversation(g.t, string(k.chat))
	if len(c.Messages) != 2 || c.Messages[0].Role != "user" || c.Messages[0].Content != k.prompt {
		g.t.Fatalf("rows: %.500s, want the message and its answer", fmt.Sprint(c.Messages))
	}
	var parts string
	for _, part := range c.Messages[1].Parts {
		if part.Type == "text" {
			parts += part.Text
		}
	}
	if parts != k.got.text {
		g.t.Errorf("the answer is shown as %d bytes, the client got %d", len(parts), len(k.got.text))
	}
	want := map[bool]string{true: "interrupted", false: "complete"}[k.interrupted()]
	if c.Messages[1].Status != want {
		g.t.Errorf("the answer's status is %q, want %q", c.Messages[1].Status, want)
	}
}

// goOn sends the next message.
func (g *gallery) goOn(k *shot) {
	g.t.Helper()
	next := prompt{Prompt: "after " + k.prompt, Chat: string(k.chat), Run: string(k.run) + ".next"}
	got := g.p.door().whole(g.t, next)
	if want := "Next: " + next.Prompt; got.text != want || got.terminal.Name != "end" {
		g.t.Errorf("the next message: %s with %q, want end with %q", got.terminal.Name, got.text, want)
	}
}

// finish stops the program and checks all that is stored.
func (g *gallery) finish() {
	g.t.Helper()
	if code := g.p.stop(); code != 0 {
		g.t.Errorf("exit code %d, want 0", code)
	}
	var chats []id.Conversation
	for _, k := range g.shots {
		chats = append(chats, k.chat)
	}
	stored := readStored(g.t, g.p.dir, chats...)
	for _, k := range g.shots {
		records := stored[k.chat]
		checkRecords(g.t, k.chat, records)
		if len(records) < len(k.before) {
			g.t.Errorf("%s: %d records are left of %d", k.chat, len(records), len(k.before))
			continue
		}
		for i, was := range k.before {
			if is := records[i]; is.Kind != was.Kind || is.Run != was.Run || !is.At.Equal(was.At) || !bytes.Equal(is.Body, was.Body) {
				g.t.Errorf("%s: record %d was changed after the kill: %s %s, was %s %s", k.chat, is.Seq, is.Kind, is.Body, was.Kind, was.Body)
			}
		}
		seenIsStored(g.t, &k.got, records)
	}
}
