package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// what says what a word is part of.
type what int

const (
	inAnswer what = iota
	inCommentary
	inReasoning
	inTool
	inApproval
	inNotice
	inQuestion
	inLine
)

// told is a word that was said, and where.
type told struct {
	name string
	what what
	conv id.Conversation
	run  id.Run
	// segment and at say where it is in a text.
	segment id.Segment
	at      int
	// pos orders it where cards change, flat where they don't; sub orders words
	// of one item.
	pos, flat int64
	sub       int
	// via is by which way a question came, or an answer was asked for again.
	via event.Via
	// again says that the run is one that answers again.
	again bool
}

// beat is what a log takes as one unit, at a time.
type beat struct {
	after  time.Duration
	conv   id.Conversation
	drafts []turnlog.Draft
}

// story is what is said in one conversation.
type story struct {
	*writer
	conv  id.Conversation
	via   event.Via
	at    time.Duration
	seq   int64
	beats []beat
	told  []told
	runs  int
	last  id.Message
	// deleted are the runs whose turn is deleted, turns the runs of each.
	deleted map[id.Run]bool
	turns   map[id.Message][]id.Run
	text    map[id.Run]map[id.Segment]string

	run   id.Run
	msg   id.Message
	segs  int
	calls int
	again bool
	asked event.Via
	limit int
}

func newStory(w *writer, conv id.Conversation, via event.Via, limit int) *story {
	return &story{
		writer: w, conv: conv, via: via, limit: limit, deleted: map[id.Run]bool{},
		turns: map[id.Message][]id.Run{}, text: map[id.Run]map[id.Segment]string{},
	}
}

// pass lets time pass.
func (s *story) pass(most time.Duration) { s.at += time.Duration(s.rand.Int64N(int64(most))) }

// say adds events of the conversation or of the present run.
func (s *story) say(events ...event.Event) {
	b := beat{after: s.at, conv: s.conv}
	for _, e := range events {
		d := turnlog.Draft{Event: e}
		if spec, _ := event.Lookup(e.Kind()); spec.Run {
			d.Run, d.Message = s.run, s.msg
		}
		b.drafts = append(b.drafts, d)
		s.seq++
	}
	s.beats = append(s.beats, b)
}

// tell notes a word of the last event.
func (s *story) tell(w what, name string, pos, flat int64, sub int) {
	s.told = append(s.told, told{name: name, what: w, conv: s.conv, run: s.run, pos: pos, flat: flat, sub: sub, via: s.asked, again: s.again})
}

// runID names the nth run.
func (s *story) runID(n int) id.Run { return id.Run(fmt.Sprintf("%s_r%d", s.conv, n)) }

// begin starts a run with a question.
func (s *story) begin(via event.Via) {
	s.runs++
	s.run = s.runID(s.runs)
	s.msg = id.Message("a_" + string(s.run))
	s.last = id.Message("m_" + string(s.run))
	s.segs, s.again, s.asked = 0, false, via
	s.turns[s.last] = append(s.turns[s.last], s.run)
	s.text[s.run] = map[id.Segment]string{}
	name := s.mint.word()
	s.say(
		event.UserMessage{Message: s.last, Text: "About " + name + "?", Client: "41", Via: via},
		event.Start{Model: "m", Version: 1},
	)
	s.tell(inQuestion, name, s.seq-1, s.seq-1, 0)
}

// regenerate starts a run that answers the last question again.
func (s *story) regenerate(via event.Via) {
	s.runs++
	s.run = s.runID(s.runs)
	s.segs, s.again, s.asked = 0, true, via
	s.turns[s.last] = append(s.turns[s.last], s.run)
	s.text[s.run] = map[id.Segment]string{}
	s.say(event.Start{Model: "m", Version: 2, RegenerateOf: s.last, Via: via})
}

// stream says a text in pieces, and ends its segment.
func (s *story) stream(phase event.Phase, pieces []string, gap time.Duration) {
	s.segs++
	seg := id.Segment(fmt.Sprintf("s%d", s.segs))
	text, pos := "", int64(0)
	for _, p := range pieces {
		if p == "" {
			continue
		}
		if gap > 0 {
			s.pass(gap)
		}
		var e event.Event = event.Delta{Segment: seg, Offset: int64(len(text)), Text: p}
		if phase == event.PhaseReasoning {
			e = event.Reasoning{Segment: seg, Offset: int64(len(text)), Text: p}
		}
		s.say(e)
		text += p
		if pos == 0 && strings.TrimSpace(p) != "" {
			pos = s.seq
		}
	}
	s.close(seg, phase, text, pos)
}

// close ends a segment whose first visible character came at a seq.
func (s *story) close(seg id.Segment, phase event.Phase, text string, pos int64) {
	s.text[s.run][seg] = text
	s.say(event.SegmentEnd{Segment: seg, Phase: phase, Bytes: int64(len(text)), Visible: strings.TrimSpace(text) != ""})
	in := map[event.Phase]what{event.PhaseAnswer: inAnswer, event.PhaseCommentary: inCommentary, event.PhaseReasoning: inReasoning}[phase]
	all, _ := words(text)
	for _, w := range all {
		s.tell(in, w.name, pos, pos, w.at)
		s.told[len(s.told)-1].segment, s.told[len(s.told)-1].at = seg, w.at
	}
}

// tools runs calls side by side, some after a question to a person.
func (s *story) tools(n int, asks bool, most time.Duration) {
	var calls []event.ToolCall
	var at []int64
	var names []string
	for i := range n {
		s.calls++
		name := s.mint.word()
		args, _ := json.Marshal(map[string]string{"path": name})
		calls = append(calls, event.ToolCall{Call: id.Call(fmt.Sprintf("%s_k%d", s.conv, s.calls)), Index: i + 1, Name: "read_file", Args: args})
		names = append(names, name)
		s.say(calls[i])
		at = append(at, s.seq)
	}
	if asks {
		s.ask(calls[0].Call, most)
	}
	for _, i := range s.rand.Perm(n) {
		s.pass(most)
		s.say(event.ToolResult{Call: calls[i].Call, Name: calls[i].Name, OK: s.rand.IntN(4) > 0, Output: "x", Seconds: 0.2})
	}
	for i, name := range names {
		s.tell(inTool, name, at[i], s.seq, i)
	}
}

func (s *story) ask(call id.Call, most time.Duration) {
	name := s.mint.word()
	args, _ := json.Marshal(map[string]string{"command": name})
	a := id.Approval(fmt.Sprintf("ap_%s_%d", s.conv, s.calls))
	s.say(event.ApprovalRequest{Approval: a, Call: call, Name: "run_command", Args: args, Risk: event.RiskHigh, Reason: "runs a command", ExpiresAt: epoch.Add(s.at + time.Hour)})
	s.tell(inApproval, name, s.seq, s.seq, 0)
	s.pass(most)
	decisions := []event.Decision{event.DecisionAllow, event.DecisionDeny, event.DecisionAlways, event.DecisionExpired}
	s.say(event.ApprovalResolved{Approval: a, Decision: decisions[s.rand.IntN(len(decisions))], By: "owner"})
}

// done ends a run well.
func (s *story) done() { s.say(event.End{Finish: event.FinishStop}) }

// fail ends a run with an error.
func (s *story) fail(kind event.ErrorKind) {
	name := s.mint.word()
	s.say(event.Error{Type: kind, Message: "It failed at " + name + "."})
	s.tell(inNotice, name, s.seq, s.seq, 0)
}

func (s *story) drop() {
	s.say(event.MessageDeleted{Message: s.last, Via: s.via})
	for _, r := range s.turns[s.last] {
		s.deleted[r] = true
	}
}

// pick returns one of weighted choices.
func (s *story) chance(n int) bool { return s.rand.IntN(n) == 0 }

// size is how long a text is.
func (s *story) size() int {
	switch s.rand.IntN(8) {
	case 0:
		return s.limit + s.rand.IntN(2*s.limit)
	case 1, 2:
		return s.limit / 2
	}
	return 5 + s.rand.IntN(150)
}

// random says a run of any shape; drops says that its turn may be deleted.
func (s *story) random(drops bool) {
	web := event.Via{Surface: "web", Sender: "owner"}
	via := s.via
	if s.chance(6) {
		via = web
	}
	if s.runs > 0 && s.chance(6) {
		s.regenerate(via)
	} else {
		s.begin(via)
	}
	for range s.rand.IntN(3) {
		s.round()
	}
	dropNow := drops && s.chance(2)
	switch s.rand.IntN(9) {
	case 0:
		s.cancelled(dropNow)
		return
	case 1:
		if s.chance(2) {
			s.write(event.PhaseAnswer)
		}
		s.fail([]event.ErrorKind{event.ErrorInternal, event.ErrorRateLimit, event.ErrorNoAnswer}[s.rand.IntN(3)])
	case 2:
		s.write(event.PhaseAnswer)
		s.say(event.End{Finish: event.FinishLength})
	default:
		if dropNow {
			s.cancelled(true)
			return
		}
		s.write(event.PhaseAnswer)
		s.done()
	}
	if drops && s.chance(2) {
		s.pass(10 * time.Second)
		s.drop()
	}
}

func (s *story) round() {
	if s.chance(3) {
		s.write(event.PhaseReasoning)
	}
	if s.chance(8) {
		s.stream(event.PhaseCommentary, []string{"\n", " \n"}, 100*time.Millisecond)
	} else if !s.chance(3) {
		s.write(event.PhaseCommentary)
	}
	s.tools(1+s.rand.IntN(3), s.chance(4), 4*time.Second)
}

func (s *story) write(phase event.Phase) {
	text := s.writer.text(s.size())
	s.stream(phase, s.pieces(text, max(12, len(text)/8)), time.Duration(10+s.rand.IntN(600))*time.Millisecond)
}

// cancelled stops a run in the middle of a text.
func (s *story) cancelled(drop bool) {
	text := s.writer.text(s.size())
	if i := strings.LastIndexAny(text[:len(text)*2/3], " \n"); i > 0 {
		text = text[:i]
	}
	at := len(s.beats)
	s.stream(event.PhaseAnswer, s.pieces(text, max(12, len(text)/8)), 300*time.Millisecond)
	if drop && at < len(s.beats) {
		s.drop()
	}
	s.say(event.Cancelled{By: "owner", Via: s.via})
}
