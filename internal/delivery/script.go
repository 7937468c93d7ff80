package delivery

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/surface"
)

// script is what a chat is to show of a conversation, folded from its records.
// Like every fold it is pure, and applying a record twice changes nothing.
type script struct {
	to     Address
	device string
	policy Policy
	// live says that posts grow where this chat is; edits that cards change.
	live, edits bool
	buttons     bool
	// seq is that of the last record applied.
	seq int64
	// until, if not 0, is from where on no new run is shown.
	until int64

	runs     []*show
	byRun    map[id.Run]*show
	segments map[string]*item
	asks     map[id.Approval]*ask
	// loose are items of no run, in order with those of runs by first.
	items []*item
	// question is the last message, whose run follows it.
	question *event.UserMessage
	asked    int64
}

// deviceOf is how event.Via names a chat.
func deviceOf(c surface.Chat) string {
	if c.Thread == "" {
		return c.ID
	}
	return c.ID + "/" + c.Thread
}

func newScript(to Address, caps surface.Caps, p Policy, after int64) *script {
	return &script{
		to: to, device: deviceOf(to.Chat), policy: p, live: caps.Edit && p.Streaming, edits: caps.Edit, buttons: caps.Buttons,
		seq: after, byRun: map[id.Run]*show{}, segments: map[string]*item{}, asks: map[id.Approval]*ask{},
	}
}

func (s *script) here(via event.Via) bool {
	return via.Surface == s.to.Surface && via.Device == s.device
}

// apply adds a record. A body that can't be read, or of a kind that is not
// known, shows nothing.
func (s *script) apply(r event.Record) {
	if r.Seq <= s.seq {
		return
	}
	s.seq = r.Seq
	e, err := r.Event()
	if err != nil {
		return
	}
	switch e := e.(type) {
	case event.UserMessage:
		s.message(r, e)
	case event.Start:
		s.start(r, e)
	case event.MessageDeleted:
		s.drop(func(run *show) bool { return run.turn == e.Message })
	case event.ConversationDeleted:
		s.drop(func(*show) bool { return true })
	default:
		run := s.byRun[r.Run]
		switch spec, _ := event.Lookup(r.Kind); {
		case run == nil || run.last != 0:
		case !run.hidden:
			s.inRun(r, run, e)
		case spec.Terminal:
			run.last, run.at = r.Seq, r.At
		}
	}
}

func (s *script) inRun(r event.Record, run *show, e event.Event) {
	switch e := e.(type) {
	case event.Delta:
		s.text(r, run, surface.KindText, e.Segment, e.Offset, e.Text)
	case event.Reasoning:
		if s.policy.Reasoning != ReasoningNone {
			s.text(r, run, surface.KindReasoning, e.Segment, e.Offset, e.Text)
		}
	case event.SegmentEnd:
		s.segmentEnd(r, run, e)
	case event.ToolCall:
		s.toolCall(r, run, e)
	case event.ToolResult:
		s.toolResult(r, run, e)
	case event.ApprovalRequest:
		s.approvalRequest(r, run, e)
	case event.ApprovalResolved:
		s.approvalResolved(r, e)
	case event.Cancelled:
		s.close(r, run, "stopped", surface.KindNotice, "Stopped.")
	case event.Error:
		s.failed(r, run, e)
	case event.End:
		s.ended(r, run, e)
	}
}

// message notes a question, and shows one that came from elsewhere.
func (s *script) message(r event.Record, m event.UserMessage) {
	s.question, s.asked = &m, r.Seq
	if s.here(m.Via) || !s.policy.Echo || s.until != 0 && r.Seq > s.until {
		return
	}
	it := &item{key: "q:" + string(m.Message), kind: surface.KindNotice, card: true, closed: true, text: []byte(quoted(m)), first: r.Seq}
	for _, a := range m.Attachments {
		it.files = append(it.files, surface.File{Name: a.Name, MIME: a.MIME, Blob: a.Blob})
	}
	it.touch(r)
	s.items = append(s.items, it)
}

func (s *script) start(r event.Record, e event.Start) {
	if s.byRun[r.Run] != nil {
		return
	}
	run := &show{id: r.Run, first: r.Seq - 1, at: r.At, calls: map[id.Call]*call{}}
	switch {
	case e.RegenerateOf != "":
		run.turn, run.hidden = e.RegenerateOf, !s.here(e.Via)
	case s.question != nil:
		run.turn, run.first = s.question.Message, s.asked-1
		if s.here(s.question.Via) {
			run.replyTo = s.question.Client
		}
	}
	run.outside = s.until != 0 && r.Seq > s.until
	run.hidden = run.hidden || run.outside
	s.byRun[r.Run] = run
	s.runs = append(s.runs, run)
}

// text adds to a segment. One opens at its first visible character and brings
// earlier blanks along.
func (s *script) text(r event.Record, run *show, kind surface.Kind, seg id.Segment, offset int64, text string) {
	it := s.segments[segmentKey(run, seg)]
	if it == nil {
		it = &item{key: segmentKey(run, seg), run: run.id, segment: seg, kind: kind, first: r.Seq, replyTo: s.anchor(run)}
		it.whole = kind == surface.KindReasoning || !s.policy.Streaming
		it.held = kind == surface.KindText && !s.policy.Commentary
		if kind == surface.KindReasoning {
			it.dress = dress(s.policy.Reasoning)
		}
		s.segments[it.key] = it
	}
	if offset != int64(len(it.text)) {
		return
	}
	ink := !it.listed && strings.IndexFunc(text, isInk) >= 0
	it.text = append(it.text, text...)
	it.touch(r)
	if ink {
		s.add(run, it)
	}
}

// segmentKey names the item of a segment; segments are counted in each run anew.
func segmentKey(run *show, seg id.Segment) string { return "t:" + string(run.id) + ":" + string(seg) }

func isInk(r rune) bool { return !unicode.IsSpace(r) }

// anchor is what the first post of a run answers.
func (s *script) anchor(run *show) string {
	if len(run.items) > 0 {
		return ""
	}
	return run.replyTo
}

func (s *script) add(run *show, it *item) {
	it.replyTo = s.anchor(run)
	it.dropped, it.listed = run.dropped, true
	run.items = append(run.items, it)
	s.items = append(s.items, it)
}

func (s *script) segmentEnd(r event.Record, run *show, e event.SegmentEnd) {
	it := s.segments[segmentKey(run, e.Segment)]
	if e.Phase == event.PhaseReasoning && it == nil {
		if e.Visible {
			run.withheld.Reasoning++
		}
		return
	}
	if it == nil || it.closed {
		return
	}
	it.closed, it.held = true, false
	it.touch(r)
	switch e.Phase {
	case event.PhaseAnswer:
		it.kind, it.final = surface.KindAnswer, true
	case event.PhaseCommentary:
		it.kind = surface.KindCommentary
	default:
	}
	if int64(len(it.text)) != e.Bytes {
		// Some of it was erased under our eyes.
		it.dropped = true
	}
	if it.kind == surface.KindCommentary && !s.policy.Commentary {
		s.withhold(run, it, e.Visible)
		return
	}
	if !it.listed {
		s.add(run, it)
	}
}

// withhold takes a text out that this chat does not show.
func (s *script) withhold(run *show, it *item, visible bool) {
	if visible {
		run.withheld.Commentary++
	}
	is := func(other *item) bool { return other == it }
	run.items = slices.DeleteFunc(run.items, is)
	s.items = slices.DeleteFunc(s.items, is)
}

func (s *script) failed(r event.Record, run *show, e event.Error) {
	quiet := e.Type == event.ErrorNoAnswer || e.Type == event.ErrorEmpty
	if quiet && !s.policy.NoAnswer {
		s.close(r, run, "", "", "")
		return
	}
	s.close(r, run, "error", surface.KindError, e.Message)
}

func (s *script) ended(r event.Record, run *show, e event.End) {
	if e.Finish == event.FinishLength {
		s.close(r, run, "cut", surface.KindNotice, "The answer reached the model's length limit and stops here. Write “go on” to have the rest.")
		return
	}
	s.close(r, run, "", "", "")
}

// close ends a run, with a line about how it ended if there is a text.
func (s *script) close(r event.Record, run *show, name string, kind surface.Kind, text string) {
	s.flush(r, run)
	run.last, run.at = r.Seq, r.At
	run.calls, run.open, run.group = nil, nil, nil
	if text == "" {
		return
	}
	it := &item{key: "n:" + string(run.id) + ":" + name, run: run.id, kind: kind, card: true, closed: true, text: []byte(text), first: r.Seq}
	it.touch(r)
	s.add(run, it)
}

func (s *script) drop(of func(*show) bool) {
	for _, run := range s.runs {
		if !of(run) {
			continue
		}
		run.dropped = true
		for _, it := range run.items {
			it.dropped = true
		}
	}
}

// forget drops what was shown up to a seq.
func (s *script) forget(done int64) {
	s.runs = slices.DeleteFunc(s.runs, func(run *show) bool { return run.last != 0 && run.last <= done })
	s.items = slices.DeleteFunc(s.items, func(it *item) bool { return it.closed && it.seq <= done })
	maps.DeleteFunc(s.byRun, func(_ id.Run, run *show) bool { return run.last != 0 && run.last <= done })
	maps.DeleteFunc(s.segments, func(_ string, it *item) bool { return it.closed && it.seq <= done })
	maps.DeleteFunc(s.asks, func(_ id.Approval, a *ask) bool { return a.over && a.seq <= done })
}
