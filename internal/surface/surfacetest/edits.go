package surfacetest

import (
	"context"
	"errors"
	"fmt"

	"verbatim/internal/surface"
)

// changed returns the far end as one where people change things.
func (s *scene) changed() Changed {
	s.t.Helper()
	c, ok := s.Far.(Changed)
	if !ok {
		s.t.Fatalf("%T is not Changed", s.Far)
	}
	return c
}

func editsToTheSame(s *scene) {
	if !s.Surface.Caps().Edit {
		return
	}
	id := s.delivered("old words")
	p := s.post("new words", false)
	for range 2 {
		if o := s.edit(id, p); o.Class != surface.Delivered {
			s.t.Errorf("it is %s (%s)", o.Class, o.Detail)
		}
	}
	s.reads("new words")
}

func findsItGone(s *scene) {
	if !s.Surface.Caps().Edit {
		return
	}
	id := s.delivered("old words")
	s.changed().Erase(s.Chat, id)
	if o := s.edit(id, s.post("new words", false)); o.Class != surface.Refused || !o.Gone {
		s.t.Errorf("it is %s, Gone %t (%s)", o.Class, o.Gone, o.Detail)
	}
	s.reads()
}

func answersTheGone(s *scene) {
	c, ok := s.Far.(Changed)
	if !ok {
		return
	}
	id := s.Far.Say(surface.Message{Chat: s.Chat, Sender: s.Person, Text: "question", Direct: true})
	c.Erase(s.Chat, id)
	p := s.post("answer", false)
	p.ReplyTo = id
	if o := s.send(s.Chat, p); o.Class != surface.Delivered {
		s.t.Errorf("it is %s (%s)", o.Class, o.Detail)
	}
	if s.Far.Calls() != 1 {
		s.t.Errorf("it took %d calls", s.Far.Calls())
	}
	s.reads("answer")
}

func readsBack(s *scene) {
	if !s.Surface.Caps().ReadBack {
		return
	}
	r, ok := s.Surface.(surface.Reader)
	if !ok {
		s.t.Fatalf("%T is no Reader", s.Surface)
	}
	first := s.delivered("word0")
	s.Far.Say(surface.Message{Chat: s.Chat, Sender: s.Person, Text: "word1"})
	s.Far.Next(Lost)
	lost := s.post("word2", false)
	s.send(s.Chat, lost)
	last := s.delivered("word3")
	s.readsOwn(r, first, "word2", "word3")
	s.readsOwn(r, last)
	s.readsOwn(r, "", "word0", "word2", "word3")
	s.readsOne(r, last, s.post("word3", false).Text)
	s.changed().Erase(s.Chat, last)
	ctx, cancel := context.WithTimeout(s.t.Context(), CallTime)
	defer cancel()
	if seen, err := r.Read(ctx, s.Chat, last); !errors.Is(err, surface.ErrGone) {
		s.t.Errorf("a deleted post reads %+v, %v", seen, err)
	}
	s.readsOwn(r, first, "word2")
}

// readsOwn fails unless the own posts after one are these.
func (s *scene) readsOwn(r surface.Reader, after string, want ...string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), CallTime)
	defer cancel()
	own, err := r.Own(ctx, s.Chat, after)
	if err != nil {
		s.keepsSecrets("an error", err.Error())
		s.t.Fatalf("own posts after %q: %v", after, err)
	}
	if len(own) != len(want) {
		s.t.Fatalf("own posts after %q are %v, not %q", after, own, want)
	}
	for i, seen := range own {
		text, _ := s.Surface.Render(want[i], false)
		if !r.Same(seen, text) || seen.PlatformID == "" || seen.At.IsZero() {
			s.t.Errorf("post %d after %q is %+v, not %q", i, after, seen, want[i])
		}
	}
}

func (s *scene) readsOne(r surface.Reader, id, text string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), CallTime)
	defer cancel()
	seen, err := r.Read(ctx, s.Chat, id)
	if err != nil || seen.PlatformID != id || !r.Same(seen, text) {
		s.t.Errorf("it reads %+v, %v", seen, err)
	}
	for _, other := range []string{text + "x", "x" + text, text + " " + text, fmt.Sprintf("%s\n\n%s", text, text), ""} {
		if r.Same(seen, other) {
			s.t.Errorf("%q is said to be the same as %q", seen.Text, other)
		}
	}
}
