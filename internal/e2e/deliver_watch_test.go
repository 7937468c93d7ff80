package e2e

import (
	"strings"
	"testing"
	"time"
)

// TestBindAndWatch (G8, G10): a turn that begins in the browser, in a conversation
// that a Zulip topic shows, streams in both at once; what the topic does not show
// is counted.
func TestBindAndWatch(t *testing.T) {
	gate := make(chan struct{})
	w := newTown(t, func(a ask) []step {
		if a.Prompt == "Hello" {
			return []step{say("Here I am."), finish("stop")}
		}
		return []step{
			think("They want to count."), say("One two three "), pause(time.Second), say("four five six "), hold(gate), say("seven."), finish("stop"),
		}
	}, plan{})
	w.start()
	topic := talkOn(onTeam, 1)
	w.say(topic, "Hello")
	w.settled(topic, 1)

	s := w.p.door().mustChat(t, prompt{Prompt: "Please count", Chat: topic.conversation, Run: "counted"}, "")
	defer s.Close()
	got := &seen{}
	if err := got.readUntil(s, func(frame) bool { return strings.HasSuffix(got.text, "six ") }); err != nil {
		t.Fatal(err)
	}
	w.sees(topic, "> api: Please count")
	w.sees(topic, "four five six")
	if got.terminal != nil || strings.Contains(w.text(topic), "seven") {
		t.Error("the answer is over; it was to stream")
	}
	close(gate)
	if err := got.readAll(s); err != nil {
		t.Fatal(err)
	}
	r := w.settled(topic, 2)[1]
	if n := strings.Count(w.text(topic), "One two three four five six seven."); n != 1 {
		t.Errorf("the answer is there %d times:\n%s", n, w.text(topic))
	}
	if strings.Contains(w.text(topic), "They want") {
		t.Errorf("reasoning is shown that was not to be:\n%s", w.text(topic))
	}
	if s := r.Surfaces[0]; r.Run != "counted" || s.State != "delivered" || s.Withheld.Reasoning != 1 || s.Withheld.Tools != 0 {
		t.Errorf("receipts %+v, want one reasoning withheld", r)
	}
	edited := 0
	for _, p := range r.Surfaces[0].Placements {
		if p.Segment != "" && p.Attempts > 1 {
			edited++
		}
	}
	if edited != 1 {
		t.Errorf("%d posts grew, want 1: %+v", edited, r.Surfaces[0].Placements)
	}
}
