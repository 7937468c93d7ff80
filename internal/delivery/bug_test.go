package delivery_test

import (
	"testing"

	"verbatim/internal/delivery"
	"verbatim/internal/delivery/sim"
)

// mostSchedules is within how many of each kind of surface a mistake is found.
const mostSchedules = 2000

// The simulation finds the mistakes that programs like this one make: a green run
// of it says something.
func TestBugsAreFound(t *testing.T) {
	for _, bug := range delivery.Bugs {
		t.Run(bug.Name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(mostSchedules) {
				for _, s := range sim.Surfaces() {
					if r := sim.Run(seed, sim.Options{Surface: s, Adjust: bug.Put}); r.Failed() {
						t.Logf("seed %d, %s: %q", seed, s, r.Problems[0])
						return
					}
				}
			}
			t.Errorf("not found in %d schedules of each kind of surface", mostSchedules)
		})
	}
}
