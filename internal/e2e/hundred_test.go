package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

const hundred = 100

// TestHundredStreams opens a hundred streams at once, each answered at once by
// its model, and then a hundred that replay them: nothing is lost.
//
// Caddy may drop an answer right after its head, when it still reads the body
// of a POST that it passes on as a stream (golang/go issue 40747; its proxy is
// a relative of Go's). A client that then asks again with its run id, as every
// client of a network must, gets every word, and no run starts twice. So drops
// are counted there and forgiven, and nowhere else.
func TestHundredStreams(t *testing.T) {
	u := newUpstream(t, func(a ask) []step {
		var steps []step
		for i := range 20 {
			steps = append(steps, say(fmt.Sprintf("%s word %d\n", a.Prompt, i)))
		}
		return append(steps, finish("stop"))
	})
	p := startProduct(t, u)
	ways := []struct {
		name    string
		door    func(t *testing.T) *door
		forgive bool
	}{
		{"direct", func(*testing.T) *door { return p.door() }, false},
		{"nginx", func(t *testing.T) *door { return p.behindNginx(t) }, false},
		{"Caddy", func(t *testing.T) *door { return p.behindCaddy(t) }, true},
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			d := way.door(t)
			drops := 0
			rounds := pick(2, 20)
			for round := range rounds {
				// Half of the bodies go out without a length, so
				// that a proxy passes them on as they come.
				d.chunked = round%2 == 1
				for range 2 {
					drops += openHundred(t, d, fmt.Sprintf("%s.%d", way.name, round))
				}
			}
			t.Logf("%d of %d streams were dropped and had to be resumed", drops, 2*rounds*hundred)
			if drops > 0 && !way.forgive {
				t.Errorf("%d streams were dropped, want none", drops)
			}
		})
	}
	if got, want := len(u.asked()), countRuns(u); got != want {
		t.Errorf("the model was asked %d times for %d runs", got, want)
	}
}

func countRuns(u *upstream) int {
	prompts := map[string]bool{}
	for _, a := range u.asked() {
		prompts[a.Prompt] = true
	}
	return len(prompts)
}

// openHundred opens the streams, reads each to its end, and returns how many
// connections did not give the whole.
func openHundred(t *testing.T, d *door, round string) (drops int) {
	t.Helper()
	type result struct {
		drops int
		err   error
	}
	results := make(chan result, hundred)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range hundred {
		id := fmt.Sprintf("%s.%d", round, i)
		all.Go(func() {
			<-start
			n, err := readWithResume(d, prompt{Prompt: id, Chat: id, Run: id})
			results <- result{n, err}
		})
	}
	close(start)
	all.Wait()
	close(results)
	for r := range results {
		drops += r.drops
		if r.err != nil {
			t.Error(r.err)
		}
	}
	return drops
}

// readWithResume reads a run to its terminal over as many connections as that
// takes, and checks its text.
func readWithResume(d *door, p prompt) (drops int, err error) {
	got := &seen{}
	for range 20 {
		s, err := d.chat(p, got.lastID())
		if err == nil && s.Status == http.StatusOK {
			err = got.readAll(s)
			s.Close()
		} else if err == nil {
			s.Close()
			err = fmt.Errorf("status %d", s.Status)
		}
		if got.terminal != nil {
			return drops, checkHundred(got, p)
		}
		if errors.Is(err, errWire) {
			return drops, fmt.Errorf("%s: %w", p.Run, err)
		}
		drops++
	}
	return drops, fmt.Errorf("%s: not whole after %d connections", p.Run, drops)
}

func checkHundred(got *seen, p prompt) error {
	var want strings.Builder
	for i := range 20 {
		fmt.Fprintf(&want, "%s word %d\n", p.Prompt, i)
	}
	if got.text != want.String() || got.terminal.Name != "end" {
		return fmt.Errorf("%s: %s with %d bytes of text, want end with %d", p.Run, got.terminal.Name, len(got.text), want.Len())
	}
	return nil
}
