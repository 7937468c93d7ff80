package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/delivery/deliverytest"
	"verbatim/internal/event"
	"verbatim/internal/surface"
)

// These are failures that people have reported of programs like this one; see
// docs/cases.md.

// call is one that was made.
type call struct {
	at   time.Duration
	kind string
	text string
}

// listen notes each call of a scene and gives it the fate that fate says; nil is
// none.
func (s *scene) listen(fate func(n int, op delivery.Op) Fate) *[]call {
	calls := &[]call{}
	s.w.fate = func(_ *room, op delivery.Op) Fate {
		if op.Kind == delivery.OpTyping {
			return Fate{}
		}
		*calls = append(*calls, call{s.w.now.Sub(epoch), opName(op), op.Post.Text})
		f := Fate{}
		if fate != nil {
			f = fate(len(*calls), op)
		}
		if f.After == 0 {
			f.After = 50 * time.Millisecond
		}
		return f
	}
	return calls
}

// whole checks that a reader sees all, and how many words are unsure.
func whole(t *testing.T, r Result, unsure int) {
	t.Helper()
	if r.Failed() || r.Unsure != unsure {
		t.Errorf("a reader misses something: %q, %d words unsure, want %d\n%q", r.Problems, r.Unsure, unsure, r.Posts)
	}
}

func shows(t *testing.T, r Result, want ...string) {
	t.Helper()
	if !slices.Equal(r.Posts[0], want) {
		t.Errorf("a reader sees\n%q\nwant\n%q", r.Posts[0], want)
	}
}

func TestA1AnswerAfterToolLinesIsPosted(t *testing.T) {
	s := newScene(Options{Surface: Edit})
	s.tools(1, false, time.Second)
	s.w.at(s.at+100*time.Millisecond, func() { s.w.crash(s.w.process) })
	s.at += 5 * time.Second
	s.says(event.PhaseAnswer, "The backup finished: 3 files.")
	s.done()
	r := s.over()
	whole(t, r, 0)
	shows(t, r, "✅ `read_file` `Q2E` · 0.2 s", "The backup finished: 3 files.")
}

func TestA2FailureIsSaidAfterWhatWasSaid(t *testing.T) {
	for _, on := range Surfaces() {
		s := newScene(Options{Surface: on})
		s.says(event.PhaseAnswer, "Checking the disk")
		s.fail(event.ErrorRateLimit)
		r := s.over()
		whole(t, r, 0)
		shows(t, r, "Checking the disk", "It failed at Q2E.")
	}
}

func TestA3CommentaryIsNotTheAnswer(t *testing.T) {
	s := newScene(Options{Surface: Blind})
	s.says(event.PhaseCommentary, "Looking.")
	s.tools(1, false, time.Second)
	s.says(event.PhaseCommentary, "One more.")
	s.tools(1, false, time.Second)
	s.says(event.PhaseAnswer, "Found two leaks.")
	s.done()
	r := s.over()
	whole(t, r, 0)
	shows(t, r, "Looking.", r.Posts[0][1], "One more.", r.Posts[0][3], "Found two leaks.")
}

func TestA5BlanksAtTheBeginningAreNotPosted(t *testing.T) {
	for _, on := range Surfaces() {
		s := newScene(Options{Surface: on})
		s.stream(event.PhaseAnswer, []string{"\n\n", "Hi ", "there,\n", "\nyou ", "two."}, time.Second)
		s.done()
		r := s.over()
		whole(t, r, 0)
		shows(t, r, "Hi there,\n\nyou two.")
	}
}

// A process may end at any commit, with or without it.
func TestA6EndAtEachCommit(t *testing.T) {
	for _, on := range Surfaces() {
		for _, fate := range []deliverytest.Fate{deliverytest.CrashBefore, deliverytest.CrashAfter} {
			for n := 1; ; n++ {
				s := newScene(Options{Surface: on})
				commits := 0
				s.w.commit = func(string) deliverytest.Fate {
					if commits++; commits == n {
						return fate
					}
					return deliverytest.Stored
				}
				s.says(event.PhaseCommentary, s.prose(20))
				s.tools(2, true, time.Second)
				s.one(20)
				r := s.over()
				if commits < n {
					break
				}
				if r.Failed() {
					t.Fatalf("%s, commit %d, fate %d: %q", on, n, fate, r.Problems)
				}
			}
		}
	}
}

func TestA8RefusedMarkupIsPostedPlain(t *testing.T) {
	for _, on := range []Surface{Edit, ReadBack, Idempotent} {
		s := newScene(Options{Surface: on})
		s.says(event.PhaseAnswer, "A **bold** table "+s.prose(20)+" **and** "+s.prose(20))
		s.done()
		s.listen(func(_ int, op delivery.Op) Fate {
			if op.Post.Plain || !strings.Contains(op.Post.Text, "*") {
				return Fate{}
			}
			return Fate{Class: surface.Refused, Markup: true}
		})
		r := s.over()
		whole(t, r, 0)
		if all := strings.Join(r.Posts[0], " "); strings.Count(all, "**bold** table") != 1 || strings.Count(all, "**and**") != 1 {
			t.Errorf("%s: a reader sees %q", on, r.Posts)
		}
	}
}

func TestB1WhatMayHaveBeenTakenIsNotSentAgain(t *testing.T) {
	tests := []struct {
		name   string
		on     Surface
		first  Fate
		unsure int
		sends  int
	}{
		{"accepted, answer lost", Blind, ackLost, 40, 2},
		{"accepted, answer lost, keys are kept", Idempotent, ackLost, 0, 2},
		{"accepted, answer lost, can be read back", ReadBack, ackLost, 0, 1},
		{"never connected", Blind, busy, 0, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newScene(Options{Surface: test.on})
			s.w.policy.Streaming = false
			s.one(40)
			sends := 0
			s.listen(func(n int, op delivery.Op) Fate {
				if op.Kind == delivery.OpSend {
					sends++
				}
				if n == 1 {
					return test.first
				}
				return Fate{}
			})
			r := s.over()
			whole(t, r, test.unsure)
			if sends != test.sends {
				t.Errorf("%d sends, want %d (of an unsure one the second is the line that says so)", sends, test.sends)
			}
		})
	}
}

func TestB2FailedEditOfWhatIsShownSendsNothing(t *testing.T) {
	s := newScene(Options{Surface: Edit})
	s.stream(event.PhaseAnswer, []string{"OK."}, 0)
	s.done()
	calls := s.listen(func(_ int, op delivery.Op) Fate {
		if op.Kind == delivery.OpEdit {
			return Fate{Class: surface.Refused}
		}
		return Fate{}
	})
	shows(t, s.over(), "OK.")
	if len(*calls) != 1 {
		t.Errorf("calls are %+v", *calls)
	}
}

func TestB3ThrottledLastEditIsMadeLater(t *testing.T) {
	s := newScene(Options{Surface: Edit})
	s.one(30)
	last := false
	calls := s.listen(func(_ int, op delivery.Op) Fate {
		if op.Kind == delivery.OpEdit && op.Post.Final && !last {
			last = true
			return Fate{Class: surface.NotTaken, RetryAfter: 8 * time.Second}
		}
		return Fate{}
	})
	r := s.over()
	whole(t, r, 0)
	n := len(*calls)
	if len(r.Posts[0]) != 1 || (*calls)[n-1].kind != "edit" || (*calls)[n-1].at-(*calls)[n-2].at < 8*time.Second {
		t.Errorf("%d posts, the last calls are %+v", len(r.Posts[0]), (*calls)[n-2:])
	}
}

func TestB4RestartsSendNothingAgain(t *testing.T) {
	s := newScene(Options{Surface: Blind})
	s.w.caps.Size.Max = 200
	s.w.policy.Streaming = false
	s.one(80)
	s.listen(func(n int, _ delivery.Op) Fate { return Fate{Crash: n == 1} })
	for _, after := range []time.Duration{20 * time.Second, 30 * time.Second} {
		s.w.at(after, func() { s.w.crash(s.w.process) })
	}
	r := s.over()
	whole(t, r, r.Unsure)
	if all, _ := words(strings.Join(r.Posts[0], " ")); len(all) != 80 || r.Unsure == 0 || r.Unsure > 40 {
		t.Errorf("%d words are shown and %d unsure: %q", len(all), r.Unsure, r.Posts)
	}
}

func TestB5ReplacedStartPostsNothing(t *testing.T) {
	for _, on := range Surfaces() {
		s := newScene(Options{Surface: on})
		s.says(event.PhaseCommentary, s.prose(40))
		s.w.at(s.at-time.Second, func() { s.w.start() })
		s.tools(1, false, time.Second)
		s.one(40)
		whole(t, s.over(), 0)
	}
}

func TestB6SameWordsTwiceAreTwoPosts(t *testing.T) {
	for _, on := range Surfaces() {
		s := newScene(Options{Surface: on})
		s.says(event.PhaseCommentary, "Deployed.")
		s.says(event.PhaseAnswer, "Deployed.")
		s.done()
		shows(t, s.over(), "Deployed.", "Deployed.")
		once := newScene(Options{Surface: on})
		once.says(event.PhaseAnswer, "Deployed.")
		once.done()
		shows(t, once.over(), "Deployed.")
	}
}

func TestB7NoGrowingCopiesWithoutEdits(t *testing.T) {
	for _, on := range []Surface{Blind, Idempotent} {
		s := newScene(Options{Surface: on})
		s.stream(event.PhaseAnswer, []string{"A", " B", " C"}, time.Second)
		s.done()
		shows(t, s.over(), "A B C")
	}
}

// A slow call holds back what comes after it, of whatever kind.
func TestC1C2PostsComeInTheOrderOfTheLog(t *testing.T) {
	for _, on := range Surfaces() {
		s := newScene(Options{Surface: on})
		s.says(event.PhaseCommentary, "Taking a picture.")
		s.tools(1, true, 50*time.Millisecond)
		s.says(event.PhaseAnswer, "Here it is.")
		s.done()
		s.listen(func(n int, _ delivery.Op) Fate {
			return Fate{After: []time.Duration{3 * time.Second, 10 * time.Millisecond}[n%2]}
		})
		r := s.over()
		whole(t, r, 0)
		if p := r.Posts[0]; p[0] != "Taking a picture." || p[len(p)-1] != "Here it is." || len(p) < 4 {
			t.Errorf("%s: a reader sees %q", on, p)
		}
	}
}
