package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"unicode/utf8"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// runCheck follows one run. Its lists are in the order things began, so that
// findings come in the same order each time.
type runCheck struct {
	*checker
	id       id.Run
	message  id.Message
	segments []*segmentCheck
	tools    []*toolCheck
	chars    int64
	hash     hash.Hash
	usage    *event.Usage

	begun, retried, ended, erased bool
}

type segmentCheck struct {
	id              id.Segment
	reasoning       bool
	bytes           int64
	hash            hash.Hash
	visible, closed bool
}

type toolCheck struct {
	call         id.Call
	index        int
	draft        int64
	called, done bool
	approval     id.Approval
	pending      bool
}

func newRunCheck(c *checker, r event.Record) *runCheck {
	return &runCheck{checker: c, id: r.Run, message: r.Message, hash: sha256.New()}
}

func (run *runCheck) event(ev event.Event) {
	switch ev := ev.(type) {
	case event.Delta:
		run.chars += int64(utf8.RuneCountInString(ev.Text))
		run.hash.Write([]byte(ev.Text))
		run.piece(ev.Segment, false, ev.Offset, ev.Text)
	case event.Reasoning:
		run.piece(ev.Segment, true, ev.Offset, ev.Text)
	case event.SegmentEnd:
		run.segmentEnd(ev)
	case event.ToolDrafting:
		run.draft(ev)
	case event.ToolCall:
		run.call(ev)
	case event.ToolProgress:
		if t := run.tool(ev.Call); t == nil || !t.called || t.done {
			run.found("call %s is not running", ev.Call)
		}
	case event.ApprovalRequest:
		run.request(ev)
	case event.ApprovalResolved:
		run.resolve(ev)
	case event.ToolResult:
		run.result(ev)
	case event.Usage:
		if run.usage != nil {
			run.found("a second usage")
		}
		run.usage = &ev
	case event.Error:
		if !ev.Type.Known() || !ev.Code.Known() {
			run.found("kind %q and code %q are not in the list", ev.Type, ev.Code)
		}
	case event.End:
		run.end(ev)
	}
}

func (run *runCheck) segment(s id.Segment) *segmentCheck {
	for _, seg := range run.segments {
		if seg.id == s {
			return seg
		}
	}
	return nil
}

func (run *runCheck) piece(segment id.Segment, reasoning bool, offset int64, text string) {
	if text == "" || !utf8.ValidString(text) {
		run.found("the text is empty or not UTF-8")
	}
	seg := run.segment(segment)
	if seg == nil {
		run.noOtherOpen(reasoning)
		seg = &segmentCheck{id: segment, reasoning: reasoning, hash: sha256.New()}
		run.segments = append(run.segments, seg)
	}
	if seg.closed || seg.reasoning != reasoning {
		run.found("segment %s is closed or of another kind", segment)
	}
	if offset != seg.bytes && !run.erased {
		run.found("offset %d in a segment of %d bytes", offset, seg.bytes)
	}
	seg.bytes += int64(len(text))
	seg.hash.Write([]byte(text))
	seg.visible = seg.visible || visible(text)
}

func (run *runCheck) noOtherOpen(reasoning bool) {
	for _, seg := range run.segments {
		if !seg.closed && seg.reasoning == reasoning {
			run.found("segment %s is still open", seg.id)
		}
	}
}

func (run *runCheck) segmentEnd(ev event.SegmentEnd) {
	seg := run.segment(ev.Segment)
	if seg == nil || seg.closed {
		if !run.erased {
			run.found("segment %s is not open", ev.Segment)
		}
		return
	}
	seg.closed = true
	text := ev.Phase == event.PhaseAnswer || ev.Phase == event.PhaseCommentary
	if seg.reasoning != (ev.Phase == event.PhaseReasoning) || !seg.reasoning && !text {
		run.found("phase %q does not fit segment %s", ev.Phase, ev.Segment)
	}
	if run.erased {
		return
	}
	if ev.Bytes != seg.bytes || ev.SHA256 != hexSum(seg.hash) || ev.Visible != seg.visible {
		run.found("segment %s has %d bytes, hash %s, visible %t", ev.Segment, seg.bytes, hexSum(seg.hash), seg.visible)
	}
}

func (run *runCheck) tool(call id.Call) *toolCheck {
	for _, t := range run.tools {
		if t.call == call {
			return t
		}
	}
	return nil
}

// begin returns a call at its first or next record before its result.
func (run *runCheck) begin(call id.Call, index int) *toolCheck {
	t := run.tool(call)
	if t == nil {
		if owner, used := run.calls[call]; used {
			run.found("call id %s is used in run %s", call, owner)
		}
		run.calls[call] = run.id
		if index != len(run.tools)+1 && !run.erased {
			run.found("index %d of call number %d", index, len(run.tools)+1)
		}
		run.noTextOpen()
		t = &toolCheck{call: call, index: index}
		run.tools = append(run.tools, t)
	}
	if t.index != index {
		run.found("call %s had index %d", call, t.index)
	}
	if t.called {
		run.found("call %s was called before", call)
	}
	return t
}

// noTextOpen holds the rule that text is closed before its round's first tool.
func (run *runCheck) noTextOpen() {
	for _, seg := range run.segments {
		if !seg.closed && !seg.reasoning {
			run.found("segment %s is still open", seg.id)
		}
	}
}

func (run *runCheck) draft(ev event.ToolDrafting) {
	t := run.begin(ev.Call, ev.Index)
	if ev.Offset != t.draft && !run.erased {
		run.found("offset %d in arguments of %d bytes", ev.Offset, t.draft)
	}
	t.draft += int64(len(ev.ArgsDelta))
}

func (run *runCheck) call(ev event.ToolCall) {
	run.begin(ev.Call, ev.Index).called = true
}

func (run *runCheck) request(ev event.ApprovalRequest) {
	t := run.tool(ev.Call)
	if t == nil || !t.called || t.done || t.approval != "" {
		run.found("call %s can't ask", ev.Call)
		return
	}
	if run.approvals[ev.Approval] {
		run.found("approval id %s is used again", ev.Approval)
	}
	run.approvals[ev.Approval] = true
	t.approval, t.pending = ev.Approval, true
}

func (run *runCheck) resolve(ev event.ApprovalResolved) {
	for _, t := range run.tools {
		if t.pending && t.approval == ev.Approval {
			t.pending = false
			return
		}
	}
	run.found("approval %s is not pending", ev.Approval)
}

func (run *runCheck) result(ev event.ToolResult) {
	t := run.tool(ev.Call)
	if t == nil || !t.called || t.done {
		if !run.erased {
			run.found("call %s waits for no result", ev.Call)
		}
		return
	}
	if t.pending {
		run.found("approval %s is pending", t.approval)
	}
	t.done = true
}

func (run *runCheck) end(ev event.End) {
	switch ev.Finish {
	case event.FinishStop, event.FinishLength, event.FinishContentFilter:
	default:
		run.found("finish %q is not in the list", ev.Finish)
	}
	if !run.erased && (ev.Chars != run.chars || ev.SHA256 != hexSum(run.hash)) {
		run.found("the run has %d chars, hash %s", run.chars, hexSum(run.hash))
	}
}

// closed holds what must be so at a run's terminal.
func (run *runCheck) closed() {
	if run.erased {
		return
	}
	for _, seg := range run.segments {
		if !seg.closed {
			run.found("segment %s is not closed", seg.id)
		}
	}
	for _, t := range run.tools {
		if t.called && !t.done {
			run.found("call %s has no result", t.call)
		}
		if t.pending {
			run.found("approval %s is not resolved", t.approval)
		}
	}
	if run.usage == nil && len(run.segments)+len(run.tools) > 0 {
		run.found("there is no usage")
	}
	if run.usage != nil && run.usage.Chars != run.chars {
		run.found("usage has %d chars of %d", run.usage.Chars, run.chars)
	}
}

func hexSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }
