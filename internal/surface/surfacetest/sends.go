package surfacetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"verbatim/internal/surface"
)

// showsOnce fails unless a reader of the chat sees one post, and a word in it
// once.
func (s *scene) showsOnce(word string) {
	s.t.Helper()
	seen := s.Far.Shown(s.Chat)
	if len(seen) != 1 || strings.Count(seen[0].Text, word) != 1 {
		s.t.Errorf("a reader sees %v, not %q once", seen, word)
	}
}

func saysWhatItCan(s *scene) {
	caps := s.Surface.Caps()
	if caps != s.Surface.Caps() {
		s.t.Error("Caps changes")
	}
	if caps.Mute {
		s.t.Error("it is mute, and there would be nothing to try")
	}
	if caps.Size.Max < 1 || count("x", caps.Size.Unit) < 0 {
		s.t.Errorf("the size is %+v", caps.Size)
	}
	if _, ok := s.Surface.(surface.Reader); ok != caps.ReadBack {
		s.t.Errorf("ReadBack is %t, and it is a Reader: %t", caps.ReadBack, ok)
	}
	if caps.PerChat < 0 || caps.PerToken < 0 {
		s.t.Errorf("PerChat is %v, PerToken %v", caps.PerChat, caps.PerToken)
	}
}

func rendersTheSame(s *scene) {
	unit := s.Surface.Caps().Size.Unit
	for _, sample := range samples {
		for _, plain := range []bool{false, true} {
			text, size := s.Surface.Render(sample, plain)
			again, sizeAgain := s.Surface.Render(sample, plain)
			if text != again || size != sizeAgain {
				s.t.Errorf("%q, plain %t: %q and then %q", sample, plain, text, again)
			}
			if strings.TrimSpace(text) == "" || size < 1 {
				s.t.Errorf("%q, plain %t: nothing is left of it (%q, size %d)", sample, plain, text, size)
			}
		}
		if o := s.send(s.Chat, s.post(sample, false)); o.Class != surface.Delivered {
			s.t.Errorf("%q is %s (%s)", sample, o.Class, o.Detail)
		}
		if o := s.send(s.Chat, s.post(sample, true)); o.Class != surface.Delivered {
			s.t.Errorf("%q, plain, is %s (%s)", sample, o.Class, o.Detail)
		}
	}
	for _, text := range []string{"x", "two words", "日本語", "😀"} {
		if _, size := s.Surface.Render(text, false); size != count(text, unit) {
			s.t.Errorf("%q has the size %d, not %d", text, size, count(text, unit))
		}
	}
}

func showsLengths(s *scene) {
	var want []string
	for _, n := range []int{1, 44, 71, 223, 335, 356, 439, 780, 785, 1314} {
		text := numbered(n)
		s.delivered(text)
		want = append(want, text)
	}
	s.reads(want...)
}

func keepsTheLimit(s *scene) {
	size := s.Surface.Caps().Size
	for _, character := range []string{"x", "語", "😀"} {
		each := count(character, size.Unit)
		text := filled(character, size.Max, size.Unit)
		if _, got := s.Surface.Render(text, false); got != len([]rune(text))*each {
			s.t.Errorf("%d of %q have the size %d", len([]rune(text)), character, got)
		}
		before := len(s.Far.Shown(s.Chat))
		s.delivered(text)
		if seen := s.Far.Shown(s.Chat); len(seen) != before+1 || !strings.Contains(seen[before].Text, text) {
			s.t.Errorf("%d of %q are not shown whole", len([]rune(text)), character)
		}
		longer := text + character
		s.send(s.Chat, s.post(longer, false))
		if slices.ContainsFunc(s.Far.Shown(s.Chat), func(seen surface.Seen) bool { return strings.Contains(seen.Text, longer) }) {
			s.t.Errorf("%d of %q are shown, so the limit is not %d", len([]rune(longer)), character, size.Max)
		}
	}
}

func sendsAtOnce(s *scene) {
	const n = 8
	posts := make([]surface.Post, n)
	for i := range posts {
		posts[i] = s.post(fmt.Sprintf("word%d", i), false)
	}
	ids := make([]string, n)
	var all sync.WaitGroup
	for i, p := range posts {
		all.Go(func() {
			o := s.send(s.Chat, p)
			if o.Class != surface.Delivered {
				s.t.Errorf("%q is %s (%s)", p.Text, o.Class, o.Detail)
			}
			ids[i] = o.PlatformID
		})
	}
	all.Wait()
	seen := s.Far.Shown(s.Chat)
	for i := range n {
		named := func(x surface.Seen) bool {
			return words(x.Text) == fmt.Sprintf("word%d", i) && (ids[i] == "" || x.PlatformID == ids[i])
		}
		if !slices.ContainsFunc(seen, named) {
			s.t.Errorf("word%d is not there under the name %q: %v", i, ids[i], seen)
		}
	}
	if len(seen) != n || s.Far.Calls() != n {
		s.t.Errorf("%d posts are shown after %d calls", len(seen), s.Far.Calls())
	}
}

func keepsChatsApart(s *scene) {
	if s.Other == (surface.Chat{}) {
		return
	}
	s.delivered("here")
	if o := s.send(s.Other, s.post("there", false)); o.Class != surface.Delivered {
		s.t.Fatalf("it is %s (%s)", o.Class, o.Detail)
	}
	s.reads("here")
	if seen := s.Far.Shown(s.Other); len(seen) != 1 || words(seen[0].Text) != "there" {
		s.t.Errorf("the other chat shows %v", seen)
	}
}

func makesNoLateCall(s *scene) {
	ctx, cancel := context.WithCancel(s.t.Context())
	cancel()
	if o := s.checked(s.Surface.Send(ctx, s.Chat, s.post("late", false))); o.Class != surface.NotTaken {
		s.t.Errorf("it is %s (%s)", o.Class, o.Detail)
	}
	if s.Far.Calls() != 0 {
		s.t.Error("a call was made")
	}
}

func findsNobody(s *scene) {
	s.Net.Down(true)
	p := s.post("words", false)
	if o := s.send(s.Chat, p); o.Class != surface.NotTaken || o.RetryAfter != 0 {
		s.t.Errorf("it is %s, RetryAfter %v (%s)", o.Class, o.RetryAfter, o.Detail)
	}
	s.Net.Down(false)
	if o := s.send(s.Chat, p); o.Class != surface.Delivered {
		s.t.Errorf("afterwards it is %s (%s)", o.Class, o.Detail)
	}
	s.reads("words")
}

func waitsExactly(s *scene) {
	for _, fault := range []Fault{Limit, LimitInside} {
		s.Far.Next(fault)
		p := s.post("words", false)
		o := s.send(s.Chat, p)
		<-time.After(o.RetryAfter)
		if o = s.send(s.Chat, p); o.Class != surface.Delivered {
			s.t.Errorf("after the wait it is %s (%s)", o.Class, o.Detail)
		}
	}
	if s.Far.Early() != 0 {
		s.t.Errorf("%d calls were early", s.Far.Early())
	}
	s.reads("words", "words")
}

func repeats(s *scene) {
	if !s.Surface.Caps().Idempotent {
		return
	}
	s.Far.Next(Lost)
	p := s.post("words", false)
	s.send(s.Chat, p)
	<-time.After(time.Minute)
	first := s.send(s.Chat, p)
	again := s.send(s.Chat, p)
	if first.Class != surface.Delivered || again.Class != surface.Delivered || first.PlatformID != again.PlatformID {
		s.t.Errorf("it is %s (%q) and then %s (%q)", first.Class, first.PlatformID, again.Class, again.PlatformID)
	}
	s.reads("words")
}

func types(s *scene) {
	if !s.Surface.Caps().Typing {
		return
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), CallTime)
	defer cancel()
	if o := s.checked(s.Surface.Typing(ctx, s.Chat)); o.Class != surface.Delivered {
		s.t.Errorf("it is %s (%s)", o.Class, o.Detail)
	}
	s.reads()
}

func sendsAFile(s *scene) {
	if !s.Surface.Caps().Files {
		return
	}
	p := s.post("see this", false)
	p.Files = []surface.File{{Name: "a.txt", MIME: "text/plain", Data: []byte("what is in it\n")}}
	if o := s.send(s.Chat, p); o.Class != surface.Delivered {
		s.t.Errorf("it is %s (%s)", o.Class, o.Detail)
	}
	if n := len(s.Far.Shown(s.Chat)); n != 1 || s.Far.Calls() != 1 {
		s.t.Errorf("%d posts are shown after %d calls", n, s.Far.Calls())
	}
}
