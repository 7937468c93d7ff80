package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/event"
	"verbatim/internal/surface"
)

func TestD1EachSurfaceHasItsUnit(t *testing.T) {
	text := strings.Repeat("😀", 5000)
	for _, on := range Surfaces() {
		s := newScene(Options{Surface: on})
		s.says(event.PhaseAnswer, text)
		s.done()
		r := s.over()
		whole(t, r, 0)
		if strings.Join(r.Posts[0], "") != text {
			t.Errorf("%s: %d posts do not make the text", on, len(r.Posts[0]))
		}
	}
}

func TestD7PiecesAfterAnUnsureOneAreSent(t *testing.T) {
	s := newScene(Options{Surface: Blind})
	s.w.caps.Size.Max = 300
	s.w.policy.Streaming = false
	s.one(200)
	s.onSends(3, 1, ackLost)
	r := s.over()
	whole(t, r, r.Unsure)
	if all, _ := words(strings.Join(r.Posts[0], " ")); len(all) != 200 || r.Unsure == 0 || r.Unsure > 60 {
		t.Errorf("%d words are shown and %d unsure", len(all), r.Unsure)
	}
}

func TestE1NoCallBeforeTheDelayIsOver(t *testing.T) {
	s := newScene(Options{Surface: Edit})
	s.one(60)
	limited := time.Duration(0)
	calls := s.listen(func(_ int, op delivery.Op) Fate {
		if op.Kind != delivery.OpEdit || limited > 0 {
			return Fate{}
		}
		limited = s.w.now.Sub(epoch)
		return Fate{Class: surface.NotTaken, RetryAfter: 9 * time.Second}
	})
	whole(t, s.over(), 0)
	i := slices.IndexFunc(*calls, func(c call) bool { return c.at > limited })
	after := (*calls)[i:]
	if wait := after[0].at - limited; wait < 9*time.Second || wait > 9200*time.Millisecond {
		t.Errorf("the next call came %v after the refusal", wait)
	}
	if len(after) != 1 || !strings.Contains(after[0].text, "Q61E") {
		t.Errorf("then came %d calls: %+v", len(after), after)
	}
}

func TestE2LongDelayHoldsOneChatOnly(t *testing.T) {
	s := newScene(Options{Surface: Edit})
	s.w.policy.Streaming = false
	s.one(20)
	limited := false
	type sent struct {
		chat string
		at   time.Duration
	}
	var all []sent
	s.w.fate = func(r *room, op delivery.Op) Fate {
		if op.Kind == delivery.OpSend {
			all = append(all, sent{r.address.Chat.ID, s.w.now.Sub(epoch)})
		}
		if op.Kind == delivery.OpSend && !limited {
			limited = true
			return Fate{Class: surface.NotTaken, RetryAfter: 149 * time.Second}
		}
		return Fate{}
	}
	other := s.w.room("other")
	s.w.at(0, func() { s.w.bind(other, "d") })
	second := newStory(s.writer, "d", other.here(), 4096)
	second.at = 10 * time.Second
	second.begin(other.here())
	second.stream(event.PhaseAnswer, []string{second.mint.word()}, 0)
	second.done()
	s.w.tell(second)
	s.w.at(60*time.Second, func() { s.w.crash(s.w.process) })
	whole(t, s.over(), 0)
	if len(all) != 3 || all[1].chat != "other" || all[1].at > 11*time.Second || all[2].at-all[0].at < 149*time.Second {
		t.Errorf("the calls are %+v", all)
	}
}

func TestE3ThrottledEditsLeaveOneCopy(t *testing.T) {
	s := newScene(Options{Surface: Edit})
	s.says(event.PhaseAnswer, "The report sa"+"ys "+s.prose(20))
	s.done()
	s.listen(func(n int, op delivery.Op) Fate {
		if op.Kind == delivery.OpEdit && n < 5 {
			return Fate{Class: surface.NotTaken}
		}
		return Fate{}
	})
	r := s.over()
	whole(t, r, 0)
	if strings.Count(strings.Join(r.Posts[0], "\n"), "The report") != 1 {
		t.Errorf("a reader sees %q", r.Posts)
	}
}

func TestE5FullPostIsNotEdited(t *testing.T) {
	s := newScene(Options{Surface: Edit})
	s.w.caps.Size.Max = 2000
	s.stream(event.PhaseAnswer, s.pieces(s.characters(6000), 200), time.Second)
	s.done()
	calls := s.listen(nil)
	whole(t, s.over(), 0)
	seen := map[string]bool{}
	for _, c := range *calls {
		if seen[c.text] {
			t.Errorf("the same text was shown twice: %q", c.text)
		}
		seen[c.text] = true
	}
}
