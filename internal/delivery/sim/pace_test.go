package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/event"
	"verbatim/internal/surface"
)

const (
	callTakes = 200 * time.Millisecond
	interval  = delivery.DefaultEditInterval
	threshold = delivery.DefaultBufferThreshold
)

// speak has the model say one word each so often, for a time, and returns how many
// bytes that are and when the last came.
func (s *scene) speak(speed int, lasts time.Duration) (size int, last time.Duration) {
	gap := time.Second / time.Duration(speed)
	var text strings.Builder
	s.segs++
	first := s.seq + 1
	for range speed * int(lasts/time.Second) {
		s.at += gap
		w := s.mint.word() + " "
		s.say(event.Delta{Segment: "s1", Offset: int64(text.Len()), Text: w})
		text.WriteString(w)
	}
	s.close("s1", event.PhaseAnswer, text.String(), first)
	s.done()
	return text.Len(), s.at
}

// edits returns when the edits were made.
func edits(calls []call) (at []time.Duration) {
	for _, c := range calls {
		if c.kind == "edit" {
			at = append(at, c.at)
		}
	}
	return at
}

// However fast the model is, a chat gets no more than an edit each interval, each
// with enough that is new, and the end as soon as it can be called.
func TestPace(t *testing.T) {
	for _, speed := range []int{5, 20, 100, 1000} {
		t.Run(fmt.Sprintf("%d words a second", speed), func(t *testing.T) {
			s := newScene(Options{Surface: Edit})
			lasts := time.Minute
			if speed == 1000 {
				lasts = 10 * time.Second
			}
			size, last := s.speak(speed, lasts)
			calls := s.listen(func(int, delivery.Op) Fate { return Fate{After: callTakes} })
			r := s.over()
			if r.Failed() {
				t.Fatalf("%q", r.Problems)
			}
			at := edits(*calls)
			for i := 1; i < len(at)-1; i++ {
				if at[i]-at[i-1] < interval {
					t.Errorf("an edit came %v after the one before", at[i]-at[i-1])
				}
			}
			if most := int(lasts/interval) + 2; len(at) > most {
				t.Errorf("%d edits in %v, at most %d are wanted", len(at), lasts, most)
			}
			if most := size/threshold + 2; len(at) > most {
				t.Errorf("%d edits of %d bytes, at most %d are wanted", len(at), size, most)
			}
			end := (*calls)[len(*calls)-1].at
			left := callTakes
			if speed == 1000 {
				left *= 5 // Full posts are faster made than sent, and wait.
			}
			if end > last+left {
				t.Errorf("the end was posted %v after the last word", end-last)
			}
			if naive := size / threshold; speed >= 100 && r.Calls*5 > naive {
				t.Errorf("%d calls for what an edit each %d characters takes %d for", r.Calls, threshold, naive)
			}
			t.Logf("%d bytes, %d edits, %d calls in all; an edit each %d characters would be %d", size, len(at), r.Calls, threshold, size/threshold)
		})
	}
}

// A platform that complains gets half as many edits, and all of them again once it
// has been quiet.
func TestPaceAfterComplaints(t *testing.T) {
	s := newScene(Options{Surface: Edit})
	_, last := s.speak(20, 4*time.Minute)
	complaints := 0
	var until time.Duration
	calls := s.listen(func(_ int, op delivery.Op) Fate {
		if op.Kind == delivery.OpEdit && complaints < 2 {
			complaints++
			until = s.w.now.Sub(epoch) + callTakes + 2*time.Second
			return Fate{Class: surface.NotTaken, RetryAfter: 2 * time.Second, After: callTakes}
		}
		return Fate{After: callTakes}
	})
	if r := s.over(); r.Failed() {
		t.Fatalf("%q", r.Problems)
	}
	slow, fast := 0, 0
	at := edits(*calls)
	for i, a := range at[:len(at)-1] {
		switch {
		case i == 0:
		case a > until && a < until+time.Minute-time.Second:
			slow++
			if a-at[i-1] < 4*interval && at[i-1] > until {
				t.Errorf("after complaints an edit came after %v", a-at[i-1])
			}
		case a > until+2*time.Minute+10*time.Second:
			fast++
			if a-at[i-1] > 2*interval {
				t.Errorf("after quiet minutes an edit came only after %v", a-at[i-1])
			}
		}
	}
	if slow == 0 || fast == 0 || (*calls)[len(*calls)-1].at > last+callTakes {
		t.Errorf("%d slow and %d fast edits; the last call was at %v of %v", slow, fast, (*calls)[len(*calls)-1].at, last)
	}
}
