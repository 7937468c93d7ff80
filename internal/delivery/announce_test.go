package delivery_test

import (
	"strings"
	"testing"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/event"
	"verbatim/internal/surface"
)

// What was too old to be posted is told, however long the platform was away: the
// line that tells it does not get too old itself.
func TestWhatIsTooOldIsToldAfterAnyTime(t *testing.T) {
	policy := delivery.DefaultPolicy()
	policy.MaxAge = time.Hour
	for _, away := range []time.Duration{30 * time.Minute, 90 * time.Minute, 5 * time.Hour} {
		t.Run(away.String(), func(t *testing.T) {
			r := newRoom(t, surface.Caps{Edit: true}, policy)
			back := r.now.Add(away)
			r.out = func(int, delivery.Op) (surface.Outcome, bool) {
				if r.now.Before(back) {
					return surface.Outcome{Class: surface.NotTaken}, false
				}
				return surface.Outcome{Class: surface.Delivered}, true
			}
			r.feed("r", question("hello"), event.Start{Model: "m", Version: 1},
				delta("s1", 0, "Found it."), end("s1", event.PhaseAnswer, 9), event.End{Finish: event.FinishStop})
			r.settle()
			switch {
			case away < policy.MaxAge:
				r.want("Found it.")
			case len(r.posts) != 1 || !strings.Contains(r.posts[0].text, "too old to be posted"):
				t.Errorf("a reader sees %d posts, want one that says that something was too old", len(r.posts))
				r.want()
			}
		})
	}
}
