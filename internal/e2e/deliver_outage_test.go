package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"verbatim/internal/client"
)

// TestRestartFindsItsTargets (G8): where an answer goes is not forgotten by a
// restart: a question that was answered by a later process is answered where it was
// asked.
func TestRestartFindsItsTargets(t *testing.T) {
	begun := make(chan struct{}, len(allSurfaces))
	w := newTown(t, func(a ask) []step {
		if a.Nth == 0 && strings.HasPrefix(a.Prompt, "Slowly") {
			return []step{tell(begun), never()}
		}
		return []step{say("The answer to " + a.Prompt + "."), finish("stop")}
	}, plan{})
	w.start()
	var talks []*talk
	for i, name := range allSurfaces {
		k := talkOn(name, i)
		talks = append(talks, k)
		w.say(k, "Slowly "+name)
	}
	for range talks {
		receive(t, "the model is asked", begun)
	}
	w.p.kill()
	w.start()
	for _, k := range talks {
		w.sees(k, "The answer to Slowly "+k.surface+".")
		r := w.settled(k, 1)[0]
		if len(r.Surfaces) != 1 || r.Surfaces[0].Chat.ID != k.chat.ID || r.Surfaces[0].Chat.Thread != k.chat.Thread {
			t.Errorf("%s: %+v", k.surface, r)
		}
	}
	w.p.kill()
	w.start()
	for _, k := range talks {
		code := w.p.door().call(t, "POST", "/api/v1/runs", map[string]string{"conversation": k.conversation, "prompt": "And then " + k.surface}, nil)
		if code != http.StatusAccepted {
			t.Fatalf("%s: status %d", k.surface, code)
		}
		w.sees(k, "The answer to And then "+k.surface+".")
	}
}

// TestOutage (G8, G9): platforms that can't be reached for a while get all that was
// said meanwhile afterwards, in order and once.
func TestOutage(t *testing.T) {
	w := newTown(t, func(a ask) []step { return []step{say(a.Prompt + " was answered."), finish("stop")} }, plan{})
	w.start()
	talks := w.bound()
	w.away(true)
	for i := range 3 {
		for _, k := range talks {
			w.fromWeb(k, fmt.Sprintf("Number %d", i))
		}
	}
	w.away(false)
	for _, k := range talks {
		for _, r := range w.settled(k, 4) {
			wantState(t, k, r, "delivered")
		}
		all := w.text(k)
		last := -1
		for i := range 3 {
			part := fmt.Sprintf("Number %d was answered.", i)
			at := strings.Index(all, part)
			if at <= last || strings.Count(all, part) != 1 {
				t.Errorf("%s shows %q %d times, at %d after %d:\n%s", k.surface, part, strings.Count(all, part), at, last, all)
			}
			last = at
		}
	}
}

// TestOldIsAnnounced (G9): what is older than max_age is told in one line when the
// platform is back, and what comes after it is posted. The least max_age is a
// minute, so a short run leaves this to the tests of the planner.
func TestOldIsAnnounced(t *testing.T) {
	if !long() {
		t.Skip("takes two minutes; set VERBATIM_LONG=1")
	}
	extra := map[string]string{}
	for _, name := range allSurfaces {
		extra[name] = "    max_age: 1m\n"
	}
	w := newTown(t, func(a ask) []step { return []step{say(a.Prompt + " was answered."), finish("stop")} }, plan{extra: extra})
	w.start()
	talks := w.bound()
	w.away(true)
	for i := range 3 {
		for _, k := range talks {
			w.fromWeb(k, fmt.Sprintf("Number %d", i))
		}
	}
	// The pauses between tries double: the next one after this is past a minute
	// for all of them.
	<-time.After(100 * time.Second)
	w.away(false)
	for _, k := range talks {
		for _, r := range w.settled(k, 4)[1:] {
			wantState(t, k, r, "expired")
		}
		w.fromWeb(k, "Number 3")
		w.sees(k, "Number 3 was answered.")
		all := w.text(k)
		if n := strings.Count(all, "too old to be posted"); n != 1 {
			t.Errorf("%s announces %d times:\n%s", k.surface, n, all)
		}
		if strings.Contains(all, "Number 0 was") || strings.Index(all, "too old") > strings.Index(all, "Number 3 was") {
			t.Errorf("%s shows what was too old, or not in order:\n%s", k.surface, all)
		}
	}
}

// bound makes a conversation in a chat of each platform.
func (w *town) bound() (talks []*talk) {
	w.t.Helper()
	for _, name := range allSurfaces {
		k := talkOn(name, 1)
		w.say(k, "Hello")
		w.settled(k, 1)
		talks = append(talks, k)
	}
	return talks
}

// away makes all platforms unreachable, or reachable again.
func (w *town) away(gone bool) {
	for _, s := range w.sites {
		if gone {
			s.shut()
			continue
		}
		s.open()
	}
}

// fromWeb has a message from the web answered.
func (w *town) fromWeb(k *talk, text string) {
	w.t.Helper()
	if got := w.p.door().whole(w.t, prompt{Prompt: text, Chat: k.conversation}); got.terminal.Name != "end" {
		w.t.Fatalf("%s: %s: %+v", k.surface, text, got.terminal)
	}
}

func wantState(t *testing.T, k *talk, r client.Receipts, state string) {
	t.Helper()
	if slices.ContainsFunc(r.Surfaces, func(s client.Surface) bool { return s.State != state }) {
		t.Errorf("%s: run %s: want %s: %+v", k.surface, r.Run, state, r.Surfaces)
	}
}
