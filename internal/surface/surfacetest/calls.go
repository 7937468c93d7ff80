package surfacetest

import (
	"time"

	"verbatim/internal/surface"
)

// fate is what a call under a fault must come to.
type fate struct {
	fault Fault
	class surface.Class
	taken bool
	after time.Duration // RetryAfter
	took  time.Duration
}

// fates is the heart of the contract: an outcome says what the far end said, and
// nothing better.
var fates = []fate{
	{fault: Fine, class: surface.Delivered, taken: true},
	{fault: Refuse, class: surface.Refused},
	{fault: Busy, class: surface.NotTaken},
	{fault: Limit, class: surface.NotTaken, after: LimitTime},
	{fault: LimitInside, class: surface.NotTaken, after: LimitTime},
	{fault: Lost, class: surface.Unknown, taken: true},
	{fault: Cut, class: surface.Unknown},
	{fault: Gateway, class: surface.Unknown},
	{fault: GatewayTaken, class: surface.Unknown, taken: true},
	{fault: Slow, class: surface.Delivered, taken: true, took: SlowTime},
	{fault: Stall, class: surface.Unknown, taken: true, took: CallTime},
	{fault: Lie, class: surface.Delivered},
}

// callCases are sends and edits under each fault. A send is made on a fresh
// connection and on one that served a call before, where HTTP libraries like to
// repeat a request by themselves.
func callCases() []scenario {
	var out []scenario
	for _, f := range fates {
		out = append(out,
			scenario{"send, " + string(f.fault), func(s *scene) { s.sendUnder(f, false) }},
			scenario{"send after another, " + string(f.fault), func(s *scene) { s.sendUnder(f, true) }},
			scenario{"edit, " + string(f.fault), func(s *scene) { s.editUnder(f) }},
		)
	}
	return append(out,
		scenario{"send, markup refused", sendsWithoutMarkup},
		scenario{"edit, markup refused", editsWithoutMarkup},
	)
}

func (s *scene) sendUnder(f fate, warm bool) {
	var want []string
	if warm {
		s.delivered("before it")
		want = append(want, "before it")
	}
	s.Far.Next(f.fault)
	start := time.Now()
	o := s.send(s.Chat, s.post("the words", false))
	s.judge(f, o, time.Since(start), len(want)+1)
	if f.taken {
		want = append(want, "the words")
	}
	s.reads(want...)
}

func (s *scene) editUnder(f fate) {
	if !s.Surface.Caps().Edit {
		return
	}
	id := s.delivered("old words")
	s.Far.Next(f.fault)
	start := time.Now()
	o := s.edit(id, s.post("new words", false))
	s.judge(f, o, time.Since(start), 2)
	want := "old words"
	if f.taken {
		want = "new words"
	}
	s.reads(want)
}

// judge compares an outcome with what it must be.
func (s *scene) judge(f fate, o surface.Outcome, took time.Duration, calls int) {
	s.t.Helper()
	if o.Class != f.class {
		s.t.Errorf("it is %s (%s), not %s", o.Class, o.Detail, f.class)
	}
	if o.RetryAfter != f.after {
		s.t.Errorf("RetryAfter is %v, not %v", o.RetryAfter, f.after)
	}
	if o.Gone {
		s.t.Error("it says that the target is gone")
	}
	if f.fault != Refuse && o.Markup {
		s.t.Error("it blames the markup")
	}
	if took < f.took || took > f.took+time.Second {
		s.t.Errorf("it took %v, not %v", took, f.took)
	}
	if got := s.Far.Calls(); got != calls {
		s.t.Errorf("the far end got %d calls, not %d", got, calls)
	}
}

const marked = "a **bold** word"

func sendsWithoutMarkup(s *scene) {
	s.Far.Next(RefuseMarkup, RefuseMarkup)
	o := s.send(s.Chat, s.post(marked, false))
	if o.Class == surface.Delivered {
		return // it has no markup that could be refused
	}
	if o.Class != surface.Refused || !o.Markup {
		s.t.Fatalf("it is %s, Markup %t (%s)", o.Class, o.Markup, o.Detail)
	}
	s.reads()
	if o := s.send(s.Chat, s.post("bold word", true)); o.Class != surface.Delivered {
		s.t.Fatalf("without markup it is %s (%s)", o.Class, o.Detail)
	}
	s.showsOnce("bold")
}

func editsWithoutMarkup(s *scene) {
	if !s.Surface.Caps().Edit {
		return
	}
	id := s.delivered("old words")
	s.Far.Next(RefuseMarkup, RefuseMarkup)
	o := s.edit(id, s.post(marked, false))
	if o.Class == surface.Delivered {
		return
	}
	if o.Class != surface.Refused || !o.Markup || o.Gone {
		s.t.Fatalf("it is %s, Markup %t, Gone %t (%s)", o.Class, o.Markup, o.Gone, o.Detail)
	}
	s.reads("old words")
	if o := s.edit(id, s.post("bold word", true)); o.Class != surface.Delivered {
		s.t.Fatalf("without markup it is %s (%s)", o.Class, o.Detail)
	}
	s.showsOnce("bold")
}
