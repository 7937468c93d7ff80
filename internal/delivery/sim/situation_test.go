package sim

import (
	"strings"
	"testing"
)

// In none of the situations in which others lose words, double them or leave a
// cursor does a reader miss one here. Where the platform does not say whether it
// took a piece, that piece alone is unsure, and the reader is told.
func TestSituations(t *testing.T) {
	unsure := map[string]int{
		"first send landed, acknowledgement lost": 5, "three landed, acknowledgements lost": 20, "one read timeout, not landed": 80,
	}
	for _, s := range Situations() {
		t.Run(s.Name, func(t *testing.T) {
			r := s.Run(Options{Trace: true})
			if r.Failed() || r.Unsure > unsure[s.Name] {
				t.Errorf("a reader misses something: %q, %d words unsure", r.Problems, r.Unsure)
			}
			told := strings.Contains(strings.Join(r.Posts[0], "\n"), "may be missing here")
			if told != (r.Unsure > 0) {
				t.Errorf("%d words are unsure; the reader was told: %v", r.Unsure, told)
			}
			if s.Name == "a tool line waiting in the throttle when text arrives" && strings.Count(r.Posts[0][0], "\n") != 1 {
				t.Errorf("the lines of the calls are %q", r.Posts[0][0])
			}
			if t.Failed() {
				t.Log(strings.Join(r.Trace, "\n"))
			}
		})
	}
}

// Where the platform can be asked again, or read back, nothing is unsure either.
func TestNothingIsUnsureWherePlatformsCanBeAsked(t *testing.T) {
	for _, s := range Situations() {
		for _, on := range []Surface{ReadBack, Idempotent} {
			s.Surface = on
			t.Run(s.Name+" on "+string(on), func(t *testing.T) {
				if r := s.Run(Options{}); r.Failed() || r.Unsure > 0 {
					t.Errorf("a reader misses something: %q, %d words unsure", r.Problems, r.Unsure)
				}
			})
		}
	}
}
