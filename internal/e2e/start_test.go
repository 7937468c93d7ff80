package e2e

import (
	"sync"
	"testing"

	"verbatim/internal/id"
)

// TestReadyLineMeansThatOneMaySend (G6): the program says that it is ready before
// it has closed all that a kill -9 left, and what is sent at once still finds it
// closed: no conversation is busy with a run that nobody performs.
func TestReadyLineMeansThatOneMaySend(t *testing.T) {
	const runs = 20
	u := newUpstream(t, func(a ask) []step {
		if a.Prompt == "again" {
			return []step{say("Here I am."), finish("stop")}
		}
		return []step{say("Half of "), say("it."), never()}
	})
	p := startProduct(t, u)
	var all sync.WaitGroup
	for i := range runs {
		s := p.door().mustChat(t, prompt{Prompt: "Hello", Chat: name("c", i), Run: name("r", i)}, "")
		defer s.Close()
		got, n := &seen{}, 0
		err := got.readUntil(s, func(f frame) bool {
			if f.Name == "delta" {
				n++
			}
			return n == 2
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	p.kill()
	p.start()
	d := p.door()
	for i := range runs {
		all.Go(func() {
			s, err := d.chat(prompt{Prompt: "again", Chat: name("c", i), Run: name("again", i)}, "")
			if err != nil {
				t.Errorf("%d: %v", i, err)
				return
			}
			defer s.Close()
			got := &seen{}
			if err := got.readAll(s); err != nil || got.terminal == nil || got.terminal.Name != "end" {
				t.Errorf("%d: terminal %+v, %v", i, got.terminal, err)
			}
		})
	}
	all.Wait()
	p.stop()
	var names []id.Conversation
	for i := range runs {
		names = append(names, id.Conversation(name("c", i)))
	}
	for c, records := range readStored(t, p.dir, names...) {
		checkRecords(t, c, records)
	}
	p.start()
	d = p.door()
	for i := range runs {
		c := d.conversation(t, name("c", i))
		if len(c.Messages) != 4 || c.Messages[1].Content != "Half of it." || c.Messages[1].Status != "interrupted" ||
			c.Messages[3].Content != "Here I am." {
			t.Errorf("%d: %+v", i, c.Messages)
		}
	}
}
