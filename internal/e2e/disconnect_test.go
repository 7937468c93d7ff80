package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shortRun is what the model says in TestAnyDisconnect, an event a piece: two
// of reasoning, then the text.
var shortRun = []step{
	think("Let me "), think("see.\n"),
	say("  One "), say("two\n\n"), say("你好🌍"), say("\t&<b>"), say(" three \n"),
}

const (
	shortText = "  One two\n\n你好🌍\t&<b> three \n"
	// shortEvents are a start, the pieces, usage and end.
	shortEvents = 1 + 7 + 2
)

// TestAnyDisconnect (J1, J2, J3, J6, J8) drops the connection after any number of
// events and resumes from any of them, by every way in: the client always ends
// with the same events, and a text of the same hash. Behind a proxy as elsewhere
// it has each event before the model says the next.
func TestAnyDisconnect(t *testing.T) {
	random := newRandom(t)
	cuts := &cuts{gates: map[string]*cut{}}
	u := newUpstream(t, cuts.answer)
	plain := startProduct(t, u)
	certFile, keyFile, pool := certificate(t)
	secure := startProduct(t, u, "--tls-cert", certFile, "--tls-key", keyFile)

	ways := []struct {
		name string
		door func(t *testing.T) *door
	}{
		{"direct", func(*testing.T) *door { return plain.door() }},
		{"TLS", func(t *testing.T) *door { return secure.overTLS(t, pool, false) }},
		{"HTTP2", func(t *testing.T) *door { return secure.overTLS(t, pool, true) }},
		{"HTTP1.0", func(*testing.T) *door { return plain.http10() }},
		{"nginx", func(t *testing.T) *door { return plain.behindNginx(t) }},
		{"Caddy", func(t *testing.T) *door { return plain.behindCaddy(t) }},
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			d := way.door(t)
			for at := range shortEvents + 1 {
				for from := range at + 1 {
					c := cuts.make(way.name, at, from, random)
					c.play(t, d)
					if t.Failed() {
						t.Fatalf("dropped after %d events, resumed from %d", at, from)
					}
				}
			}
		})
	}
	for _, p := range []*product{plain, secure} {
		if code := p.stop(); code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
	}
}

// cuts are the runs of a test, by prompt.
type cuts struct {
	mu    sync.Mutex
	gates map[string]*cut
}

// cut is one run whose client goes away after some events and comes back with
// the id of one of them.
type cut struct {
	prompt   string
	at, from int
	gate     chan struct{}
	early    bool // the model goes on before the client is back
}

func (cs *cuts) make(way string, at, from int, random *rand.Rand) *cut {
	c := &cut{
		prompt: fmt.Sprintf("%s.%d.%d", way, at, from), at: at, from: from,
		gate: make(chan struct{}), early: random.IntN(2) == 0,
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.gates[c.prompt] = c
	return c
}

// answer stops the model where the client goes away, so that the run goes on
// while nobody looks, or after the client is back.
func (cs *cuts) answer(a ask) []step {
	cs.mu.Lock()
	c := cs.gates[a.Prompt]
	cs.mu.Unlock()
	stop := min(max(c.at-1, 0), len(shortRun))
	steps := append([]step{}, shortRun[:stop]...)
	if c.at <= len(shortRun)+1 {
		steps = append(steps, hold(c.gate))
	}
	return append(append(steps, shortRun[stop:]...), finish("stop"))
}

func (c *cut) play(t *testing.T, d *door) {
	t.Helper()
	p := prompt{Prompt: c.prompt, Chat: c.prompt, Run: c.prompt}
	first := d.mustChat(t, p, "")
	got := &seen{}
	for range c.at {
		f, err := first.next()
		if err == nil {
			err = got.take(f)
		}
		if err != nil {
			t.Fatalf("event %d: %v", len(got.frames)+1, err)
		}
	}
	first.Close()

	got = got.upTo(c.from)
	if c.early {
		close(c.gate)
	}
	back, err := d.chat(p, got.lastID())
	if err != nil {
		t.Fatalf("resume: %v", err)
	}
	defer back.Close()
	if !c.early {
		close(c.gate)
	}
	if c.from == shortEvents {
		if back.Status != http.StatusNoContent {
			t.Errorf("resume from the end: status %d, want 204", back.Status)
		}
		return
	}
	if err := got.readAll(back); err != nil {
		t.Fatalf("resume: %v", err)
	}
	c.compare(t, d, got, p)
}

func (c *cut) compare(t *testing.T, d *door, got *seen, p prompt) {
	t.Helper()
	sum := sha256.Sum256([]byte(got.text))
	switch {
	case got.terminal == nil || got.terminal.Name != "end":
		t.Fatalf("no end: %+v", got.terminal)
	case got.text != shortText:
		t.Errorf("text %q, want %q", got.text, shortText)
	case got.terminal.Data.SHA256 != hex.EncodeToString(sum[:]):
		t.Errorf("hash of the end is %s, of the text %x", got.terminal.Data.SHA256, sum)
	case len(got.frames) != shortEvents:
		t.Errorf("%d events, want %d", len(got.frames), shortEvents)
	}
	if fresh := d.whole(t, p); !cmp.Equal(fresh.frames, got.frames) {
		t.Errorf("read in two pieces (+) and whole (-):\n%s", cmp.Diff(fresh.frames, got.frames))
	}
	if thought := got.segments[got.order[0]]; !strings.HasPrefix(thought, "Let me see.") {
		t.Errorf("reasoning %q", thought)
	}
}
