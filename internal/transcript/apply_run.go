package transcript

import (
	"slices"
	"strings"
	"unicode"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

func (c *Conversation) applyRun(r event.Record, ev event.Event) {
	if ev, ok := ev.(event.Start); ok {
		c.start(r, ev)
		return
	}
	run := c.runs[r.Run]
	if run == nil {
		c.strayRun(r, ev)
		return
	}
	if run.Terminal != 0 {
		if _, ok := ev.(event.Erased); !ok {
			c.broken(r, "run %s has ended", r.Run)
		}
		return
	}
	run.Last, run.LastAt = r.Seq, r.At
	c.runEvent(run, r, ev)
	if run.Terminal != 0 {
		c.Updated = r.At
		c.Held = len(c.Queue) > 0 && HoldsQueue(ev)
	}
}

// strayRun takes a record of a run that is not there: it was hidden with the
// whole conversation, its start is erased or of a kind to come.
func (c *Conversation) strayRun(r event.Record, ev event.Event) {
	switch ev := ev.(type) {
	case event.Unknown:
		c.Unknown++
	case event.Erased:
		c.erased(r, ev)
	default:
		c.broken(r, "run %s has not started", r.Run)
	}
}

func (c *Conversation) start(r event.Record, ev event.Start) {
	if run := c.runs[r.Run]; run != nil {
		if !ev.Retry || run.Terminal != 0 {
			c.broken(r, "run %s started before", r.Run)
			return
		}
		run.Retried = true
		run.Last, run.LastAt = r.Seq, r.At
		return
	}
	run := &Run{
		ID: r.Run, Message: r.Message, Start: ev, Retried: ev.Retry, Status: Running,
		First: r.Seq, Last: r.Seq, StartAt: r.At, LastAt: r.At,
	}
	if c.runs == nil {
		c.runs = map[id.Run]*Run{}
	}
	c.runs[r.Run] = run
	c.last = run
	c.Updated = r.At
	t := c.turnOf(ev)
	if t == nil {
		if c.Erased == 0 {
			c.broken(r, "there is no turn for run %s", r.Run)
		}
		return
	}
	t.Runs = append(t.Runs, run)
	t.Message = r.Message
}

func (c *Conversation) turnOf(ev event.Start) *Turn {
	if ev.RegenerateOf != "" {
		return c.Turn(ev.RegenerateOf)
	}
	if len(c.Turns) == 0 {
		return nil
	}
	return c.Turns[len(c.Turns)-1]
}

func (c *Conversation) runEvent(run *Run, r event.Record, ev event.Event) {
	switch ev := ev.(type) {
	case event.Delta:
		c.piece(run, r, PartText, ev.Segment, ev.Offset, ev.Text)
	case event.Reasoning:
		c.piece(run, r, PartReasoning, ev.Segment, ev.Offset, ev.Text)
	case event.SegmentEnd:
		c.segmentEnd(run, r, ev)
	case event.ToolDrafting, event.ToolCall, event.ToolProgress, event.ApprovalRequest, event.ApprovalResolved, event.ToolResult:
		c.tool(run, r, ev)
	case event.Usage:
		run.Usage = &ev
	case event.Cancelled:
		run.Status, run.Terminal, run.CancelledBy = Cancelled, r.Seq, &ev
	case event.Error:
		run.Status, run.Terminal, run.Err = Failed, r.Seq, &ev
		if ev.Code == event.CodeInterrupted {
			run.Status = Interrupted
		}
	case event.End:
		run.Status, run.Terminal, run.End = Complete, r.Seq, &ev
	case event.Erased:
		c.erased(r, ev)
	case event.Unknown:
		c.Unknown++
	default:
		c.broken(r, "is a fact about the conversation, and the record names run %s", r.Run)
	}
}

func (c *Conversation) piece(run *Run, r event.Record, kind PartKind, segment id.Segment, offset int64, text string) {
	p := run.segment(segment)
	if p == nil {
		p = &Part{Kind: kind, Segment: segment, At: r.At}
		run.Parts = append(run.Parts, p)
	}
	if p.Kind != kind || p.Unloaded {
		c.broken(r, "segment %s of run %s is not open for it", segment, run.ID)
		return
	}
	grown, ok := grow(p.Text, offset, text)
	if !ok || p.Closed && len(grown) > len(p.Text) {
		c.broken(r, "segment %s of run %s has %d bytes, and the piece begins at %d", segment, run.ID, p.Bytes, offset)
		return
	}
	p.Text, p.Bytes = grown, int64(len(grown))
	p.Visible = p.Visible || visible(text)
}

func (c *Conversation) segmentEnd(run *Run, r event.Record, ev event.SegmentEnd) {
	p := run.segment(ev.Segment)
	if p == nil {
		p = &Part{Kind: PartText, Segment: ev.Segment, At: r.At, Bytes: ev.Bytes, Visible: ev.Visible, Unloaded: ev.Bytes > 0}
		if ev.Phase == event.PhaseReasoning {
			p.Kind = PartReasoning
		}
		run.Parts = append(run.Parts, p)
	}
	if p.Closed || p.Bytes != ev.Bytes || (p.Kind == PartReasoning) != (ev.Phase == event.PhaseReasoning) {
		c.broken(r, "segment %s of run %s is a %s of %d bytes", ev.Segment, run.ID, p.Kind, p.Bytes)
	}
	p.Closed, p.Phase, p.EndAt, p.Provider = true, ev.Phase, r.At, ev.Provider
}

func (c *Conversation) tool(run *Run, r event.Record, ev event.Event) {
	ok := false
	switch ev := ev.(type) {
	case event.ToolDrafting:
		t := run.toolOrNew(r, ev.Call, ev.Index, ev.Name)
		var grown []byte
		if grown, ok = grow(t.Draft, ev.Offset, ev.ArgsDelta); ok && t.Called == nil {
			t.Draft, t.Name = grown, ev.Name
		}
	case event.ToolCall:
		t := run.toolOrNew(r, ev.Call, ev.Index, ev.Name)
		if ok = t.Called == nil; ok {
			t.Called, t.CalledAt, t.Name = &ev, r.At, ev.Name
		}
	case event.ToolProgress:
		t := run.Tool(ev.Call)
		if ok = t != nil && t.Called != nil && t.Result == nil; ok {
			t.Progress = append(t.Progress, ev.Note)
		}
	case event.ApprovalRequest:
		t := run.Tool(ev.Call)
		if ok = t != nil && t.Called != nil && t.Request == nil && t.Result == nil; ok {
			t.Request = &ev
		}
	case event.ApprovalResolved:
		t := run.approval(ev.Approval)
		if ok = t != nil && t.Resolved == nil; ok {
			t.Resolved = &ev
		}
	case event.ToolResult:
		t := run.Tool(ev.Call)
		if ok = t != nil && t.Called != nil && t.Result == nil; ok {
			t.Result, t.EndAt = &ev, r.At
		}
	}
	if !ok {
		c.broken(r, "does not fit the calls of run %s", run.ID)
	}
}

// segment returns the part of a segment; nil when none of it has come.
func (run *Run) segment(s id.Segment) *Part {
	for _, p := range slices.Backward(run.Parts) {
		if p.Tool == nil && p.Segment == s {
			return p
		}
	}
	return nil
}

// Tool returns a call of the run; nil when there is none.
func (run *Run) Tool(call id.Call) *Tool {
	for _, p := range slices.Backward(run.Parts) {
		if p.Tool != nil && p.Tool.Call == call {
			return p.Tool
		}
	}
	return nil
}

func (run *Run) approval(a id.Approval) *Tool {
	for _, p := range slices.Backward(run.Parts) {
		if p.Tool != nil && p.Tool.Request != nil && p.Tool.Request.Approval == a {
			return p.Tool
		}
	}
	return nil
}

func (run *Run) toolOrNew(r event.Record, call id.Call, index int, name string) *Tool {
	if t := run.Tool(call); t != nil {
		return t
	}
	t := &Tool{Call: call, Index: index, Name: name}
	run.Parts = append(run.Parts, &Part{Kind: PartTool, Tool: t, At: r.At})
	return t
}

// visible reports whether s has a character that is not white space.
func visible(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsSpace(r) }) >= 0
}
