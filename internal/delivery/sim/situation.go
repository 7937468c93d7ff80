package sim

import (
	"math/rand/v2"
	"strings"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/event"
	"verbatim/internal/surface"
)

// Situation is one of those in which gateways lose and double words.
type Situation struct {
	// Name says what happens, Theirs what the best-known gateway came to in the
	// same situation: measured on its own code, quoted.
	Name   string
	Theirs Theirs
	// Surface is the kind of platform, Words how many the model says.
	Surface Surface
	play    func(s *scene)
}

// Theirs is what was measured of another gateway.
type Theirs struct{ Lost, Doubled, Cursor string }

// scene is a situation while it is set up.
type scene struct {
	*story
	w     *world
	room  *room
	sends int
	edits int
}

// Run plays a situation.
func (s Situation) Run(opt Options) Result {
	opt.Surface = s.Surface
	sc := newScene(opt)
	s.play(sc)
	return sc.over()
}

// over plays what was set up, to its end.
func (s *scene) over() Result {
	s.w.tell(s.story)
	s.w.play()
	s.w.judge()
	return s.w.res
}

// newScene is one chat, in which a question was just asked.
func newScene(opt Options) *scene {
	w := newBare(opt)
	w.caps = capsOf(opt.Surface, 4096)
	w.rand = rand.New(rand.NewPCG(1, 1))
	sc := &scene{w: w, room: w.room("chat")}
	sc.story = newStory(&writer{w.rand, &mint{}}, "c", sc.room.here(), 4096)
	w.at(0, func() { w.bind(sc.room, "c") })
	sc.at = time.Second
	sc.begin(sc.room.here())
	return sc
}

// prose is so many words, a line each twelve.
func (s *scene) prose(n int) string {
	var b strings.Builder
	for i := range n {
		switch {
		case i > 0 && i%12 == 0:
			b.WriteByte('\n')
		case i > 0:
			b.WriteByte(' ')
		}
		b.WriteString(s.mint.word())
	}
	return b.String()
}

// characters is about so many of them.
func (s *scene) characters(n int) string {
	text := s.prose(1)
	for len(text) < n {
		text += " " + s.prose(12)
	}
	return text
}

// says streams words, one at a time.
func (s *scene) says(phase event.Phase, text string) {
	s.at += 300 * time.Millisecond
	s.stream(phase, strings.SplitAfter(text, " "), 80*time.Millisecond)
}

// one is a run with one answer of so many words.
func (s *scene) one(n int) {
	s.says(event.PhaseAnswer, s.prose(n))
	s.done()
}

func (s *scene) textToolText() {
	s.says(event.PhaseCommentary, s.prose(80))
	s.tools(1, false, 2*time.Second)
	s.says(event.PhaseAnswer, s.prose(79))
	s.done()
}

func (s *scene) textCommentaryText() {
	s.says(event.PhaseCommentary, s.prose(80))
	s.says(event.PhaseCommentary, s.prose(6))
	s.says(event.PhaseAnswer, s.prose(80))
	s.done()
}

// calls says what becomes of each send and edit, counted from 1.
func (s *scene) calls(fate func(send, edit int, op delivery.Op) Fate) {
	s.w.fate = func(_ *room, op delivery.Op) Fate {
		f := Fate{}
		switch op.Kind {
		case delivery.OpSend:
			s.sends++
			f = fate(s.sends, 0, op)
		case delivery.OpEdit:
			s.edits++
			f = fate(0, s.edits, op)
		default:
		}
		if f.After == 0 {
			f.After = 50 * time.Millisecond
		}
		return f
	}
}

// onSends gives the first so many sends, from the one on, a fate.
func (s *scene) onSends(from, n int, f Fate) {
	s.calls(func(send, _ int, _ delivery.Op) Fate {
		if send >= from && send < from+n {
			return f
		}
		return Fate{}
	})
}

var (
	busy     = Fate{Class: surface.NotTaken}
	ackLost  = Fate{Class: surface.Unknown, Landed: true}
	notThere = Fate{Class: surface.Unknown}
)

// Situations returns them all.
func Situations() []Situation {
	return append(situationsOfChats(), situationsOfFaults()...)
}

func situationsOfChats() []Situation {
	nameless := func(s *scene) { s.w.nameless = true }
	return []Situation{
		{"no ids, text–tool–text", Theirs{"0/160", "80", "1"}, Blind, func(s *scene) { nameless(s); s.textToolText() }},
		{"no ids, text–commentary–text", Theirs{"76/166", "0", "2"}, Blind, func(s *scene) { nameless(s); s.textCommentaryText() }},
		{"edits unsupported, text–tool–text", Theirs{"0/160", "5", "2"}, Blind, func(s *scene) { s.textToolText() }},
		{"edits unsupported, text–commentary–text", Theirs{"76/166", "3–5", "2"}, Blind, func(s *scene) { s.textCommentaryText() }},
		{"one 429 on the edit at a commentary boundary", Theirs{"3–6/166", "1", "1"}, Edit, func(s *scene) {
			s.textCommentaryText()
			once := false
			s.calls(func(_, edit int, op delivery.Op) Fate {
				if edit == 0 || once || !strings.Contains(op.Post.Text, "Q81E") {
					return Fate{}
				}
				once = true
				return Fate{Class: surface.NotTaken, RetryAfter: 5 * time.Second}
			})
		}},
		{"sends refused during segment 1 then fine", Theirs{"80/160", "5", "1"}, Edit, func(s *scene) {
			s.says(event.PhaseCommentary, s.prose(80))
			over := epoch.Add(s.at)
			s.tools(1, false, 2*time.Second)
			s.says(event.PhaseAnswer, s.prose(79))
			s.done()
			s.calls(func(send, _ int, _ delivery.Op) Fate {
				if send > 0 && s.w.now.Before(over) {
					return busy
				}
				return Fate{}
			})
		}},
		{"open code fence when edits die, no delete right", Theirs{"0/61", "22", "1"}, Edit, func(s *scene) {
			s.says(event.PhaseAnswer, "Look at "+s.prose(11)+"\n\n```py\n"+s.prose(50)+"\n```")
			s.done()
			s.calls(func(_, edit int, _ delivery.Op) Fate {
				if edit > 3 {
					return Fate{Class: surface.Refused}
				}
				return Fate{}
			})
		}},
		{"unclosed think tag before a tool", Theirs{"39/120", "0", "0"}, Edit, func(s *scene) {
			s.w.policy.Reasoning = delivery.ReasoningBlockquote
			s.says(event.PhaseCommentary, s.prose(40))
			s.says(event.PhaseReasoning, s.prose(39))
			s.tools(1, false, 2*time.Second)
			s.says(event.PhaseAnswer, s.prose(40))
			s.done()
		}},
		{"a tool line waiting in the throttle when text arrives", Theirs{"the line", "0", "–"}, Edit, func(s *scene) {
			s.tools(2, false, 200*time.Millisecond)
			s.at -= 250 * time.Millisecond
			s.one(20)
		}},
	}
}

func situationsOfFaults() []Situation {
	return []Situation{
		{"first send refused once", Theirs{"0/80", "11", "1"}, Edit, func(s *scene) { s.one(80); s.onSends(1, 1, busy) }},
		{"first send landed, acknowledgement lost", Theirs{"0/80", "11", "2"}, Edit, func(s *scene) { s.one(80); s.onSends(1, 1, ackLost) }},
		{"three landed, acknowledgements lost", Theirs{"0/80", "26", "4"}, Edit, func(s *scene) { s.one(80); s.onSends(1, 3, ackLost) }},
		{"edits acknowledged but not shown", Theirs{"63/80", "1", "1"}, ReadBack, func(s *scene) {
			s.one(80)
			s.calls(func(_, edit int, _ delivery.Op) Fate { return Fate{Hidden: edit > 0} })
		}},
		{"long answer, third message refused once", Theirs{"0/900", "391–403", "1"}, Edit, func(s *scene) {
			s.w.caps.Size.Max = 1600
			s.one(900)
			s.onSends(3, 1, busy)
		}},
		{"accepts at once, answers after 7 s", Theirs{"0/80", "4", "1"}, Edit, func(s *scene) {
			s.one(80)
			s.calls(func(int, int, delivery.Op) Fate { return Fate{After: 7 * time.Second} })
		}},
		{"4,400-character final, markup refused once", Theirs{"178/900", "0", "0"}, Edit, func(s *scene) {
			s.w.policy.Streaming = false
			s.says(event.PhaseAnswer, "**First**\n"+s.characters(4390))
			s.done()
			s.calls(func(send, _ int, _ delivery.Op) Fate {
				if send == 1 {
					return Fate{Class: surface.Refused, Markup: true}
				}
				return Fate{}
			})
		}},
		{"one read timeout, not landed", Theirs{"80/80", "0", "0"}, Edit, func(s *scene) {
			s.w.policy.Streaming = false
			s.one(80)
			s.onSends(1, 1, notThere)
		}},
	}
}
