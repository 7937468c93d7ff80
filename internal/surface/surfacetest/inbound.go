package surfacetest

import (
	"context"
	"errors"
	"slices"
	"time"

	"verbatim/internal/surface"
)

// say lets the person of the kit write something that asks for an answer.
func (s *scene) say(text string) string {
	return s.Far.Say(surface.Message{Chat: s.Chat, Sender: s.Person, Text: text, Mentioned: true})
}

// hears waits until the inbox has these texts, and fails unless each is there
// once, in this order, and as the far end knows it.
func (s *scene) hears(in *Inbox, ids, want []string) {
	s.t.Helper()
	s.until("not everything that was written has come", func() bool { return len(in.Taken()) >= len(want) })
	got := in.Taken()
	if len(got) != len(want) {
		s.t.Fatalf("%d messages came, not %d", len(got), len(want))
	}
	for i, m := range got {
		if m.Text != want[i] || m.ID != ids[i] || m.Chat != s.Chat {
			s.t.Errorf("message %d is %q (%q, %+v), not %q (%q, %+v)", i, m.Text, m.ID, m.Chat, want[i], ids[i], s.Chat)
		}
		if m.Sender.ID != s.Person.ID || m.At.IsZero() || !m.Direct && !m.Mentioned && !m.Signed {
			s.t.Errorf("message %d is by %q, at %v, direct %t, mentioned %t, signed %t", i, m.Sender.ID, m.At, m.Direct, m.Mentioned, m.Signed)
		}
	}
}

func receives(s *scene) {
	var in Inbox
	l := s.listen(s.Surface, &in)
	defer l.stop()
	want := []string{"first", "second line\n\n    indented  twice\n\tend", "the same", "the same", "日本語 😀 <b>&amp;</b> **x**"}
	var ids []string
	for _, text := range want {
		ids = append(ids, s.say(text))
	}
	s.hears(&in, ids, want)
	if in.Given() != len(want) {
		s.t.Errorf("%d messages were given %d times", len(want), in.Given())
	}
	s.delivered("an answer")
	<-time.After(time.Minute)
	if n := len(in.Taken()); n != len(want) {
		s.t.Errorf("its own post came back to it: %d messages", n)
	}
}

func receivesTwice(s *scene) {
	var in Inbox
	l := s.listen(s.Surface, &in)
	defer l.stop()
	id := s.say("once")
	s.hears(&in, []string{id}, []string{"once"})
	s.Far.Say(surface.Message{ID: id, Chat: s.Chat, Sender: s.Person, Text: "once", Mentioned: true})
	second := s.say("after it")
	s.hears(&in, []string{id, second}, []string{"once", "after it"})
}

func givesAgain(s *scene) {
	var in Inbox
	l := s.listen(s.Surface, &in)
	defer l.stop()
	in.Fail(2)
	ids := []string{s.say("first"), s.say("second")}
	s.hears(&in, ids, []string{"first", "second"})
}

func catchesUp(s *scene) {
	if s.Reach != nil {
		return // what pushes keeps it until somebody is there
	}
	var in Inbox
	l := s.listen(s.Surface, &in)
	ids := []string{s.say("first")}
	s.hears(&in, ids, []string{"first"})
	l.stop()
	ids = append(ids, s.say("second"), s.say("third"))
	l = s.listen(s.Again(), &in)
	defer l.stop()
	ids = append(ids, s.say("fourth"))
	s.hears(&in, ids, []string{"first", "second", "third", "fourth"})
}

func tellsChanges(s *scene) {
	if !s.TellsChange {
		return
	}
	var in Inbox
	l := s.listen(s.Surface, &in)
	defer l.stop()
	id := s.say("old")
	s.hears(&in, []string{id}, []string{"old"})
	in.Fail(1)
	s.changed().Rewrite(s.Chat, id, "new")
	want := Changing{Chat: s.Chat, ID: id, Text: "new"}
	s.until("the change has not come", func() bool { return slices.Contains(in.Changes(), want) })
	if len(in.Taken()) != 1 {
		s.t.Error("the change came as a message")
	}
}

func tellsRemovals(s *scene) {
	if !s.TellsRemove {
		return
	}
	var in Inbox
	l := s.listen(s.Surface, &in)
	defer l.stop()
	id := s.say("old")
	s.hears(&in, []string{id}, []string{"old"})
	in.Fail(1)
	s.changed().Erase(s.Chat, id)
	want := Changing{Chat: s.Chat, ID: id}
	s.until("the removal has not come", func() bool { return slices.Contains(in.Removes(), want) })
}

func pressesAButton(s *scene) {
	if !s.Surface.Caps().Buttons {
		return
	}
	far, ok := s.Far.(Pressed)
	if !ok {
		s.t.Fatalf("%T is not Pressed", s.Far)
	}
	var in Inbox
	in.Line("allowed")
	l := s.listen(s.Surface, &in)
	defer l.stop()
	p := s.post("may it?", false)
	p.Buttons = []surface.Button{{Label: "Allow", Data: "yes-1"}, {Label: "Deny", Data: "no-1"}}
	o := s.send(s.Chat, p)
	if o.Class != surface.Delivered {
		s.t.Fatalf("it is %s (%s)", o.Class, o.Detail)
	}
	far.Press(s.Chat, o.PlatformID, "no-1", s.Person)
	s.until("nobody was told of the press", func() bool { return len(far.Told()) > 0 })
	got := in.Presses()
	if len(got) != 1 || got[0].Data != "no-1" || got[0].Sender.ID != s.Person.ID || got[0].Chat != s.Chat || got[0].ID == "" {
		s.t.Errorf("the presses are %+v", got)
	}
	if told := far.Told(); !slices.Equal(told, []string{"allowed"}) {
		s.t.Errorf("who pressed was told %q", told)
	}
}

func stopsListening(s *scene) {
	var in Inbox
	s.listen(s.Surface, &in).stop()
	if s.Reach == nil {
		s.polled().NextRead(Stall)
		l := s.listen(s.Again(), &in)
		l.stop()
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	cancel()
	if err := s.Surface.Listen(ctx, &in); !errors.Is(err, context.Canceled) {
		s.t.Errorf("with a context that is over, Listen ends with %v", err)
	}
}

func (s *scene) polled() Polled {
	s.t.Helper()
	p, ok := s.Far.(Polled)
	if !ok {
		s.t.Fatalf("%T is not Polled", s.Far)
	}
	return p
}

// readCases are troubles of the far end while the surface asks for what people
// did: while it waits, and when it comes back after a restart.
func readCases() []scenario {
	var out []scenario
	for _, fault := range []Fault{Busy, Limit, Lost, Cut, Gateway, Garbled, Stall} {
		out = append(out,
			scenario{"asking, " + string(fault), func(s *scene) { s.hearsThrough(fault) }},
			scenario{"asking after a restart, " + string(fault), func(s *scene) { s.comesBackThrough(fault) }},
		)
	}
	return append(out, scenario{"asking, nobody there", hearsThroughNothing})
}

func (s *scene) hearsThrough(fault Fault) {
	if s.Reach != nil {
		return
	}
	var in Inbox
	l := s.listen(s.Surface, &in)
	defer l.stop()
	ids := []string{s.say("first")}
	s.polled().NextRead(fault, fault, fault)
	ids = append(ids, s.say("second"), s.say("third"))
	s.hears(&in, ids, []string{"first", "second", "third"})
}

func (s *scene) comesBackThrough(fault Fault) {
	if s.Reach != nil {
		return
	}
	var in Inbox
	l := s.listen(s.Surface, &in)
	ids := []string{s.say("first")}
	s.hears(&in, ids, []string{"first"})
	l.stop()
	ids = append(ids, s.say("second"))
	s.polled().NextRead(fault, fault, fault)
	l = s.listen(s.Again(), &in)
	defer l.stop()
	ids = append(ids, s.say("third"))
	s.hears(&in, ids, []string{"first", "second", "third"})
}

func hearsThroughNothing(s *scene) {
	if s.Reach != nil {
		return
	}
	var in Inbox
	l := s.listen(s.Surface, &in)
	defer l.stop()
	s.Net.Down(true)
	s.polled().NextRead(Cut)
	ids := []string{s.say("first")}
	<-time.After(2 * time.Minute)
	s.Net.Down(false)
	ids = append(ids, s.say("second"))
	s.hears(&in, ids, []string{"first", "second"})
}
