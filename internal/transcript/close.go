package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"

	"verbatim/internal/event"
)

// Cause is why a run stops before its model has finished.
type Cause string

// The causes.
const (
	// CauseCancelled: a person stopped it.
	CauseCancelled Cause = "cancelled"
	// CauseInterrupted: the process ended under it.
	CauseInterrupted Cause = "interrupted"
	// CauseFailed: something went wrong in it.
	CauseFailed Cause = "failed"
)

// Close returns what must be appended to a run that stops now, before its
// usage and its terminal: the end of each open segment, a resolution of each
// open approval, a result for each open call, in this order. A call that never
// got beyond its draft needs nothing. Close changes nothing itself; after its
// events are applied it returns none. The run must have been folded with its
// text. Results have no Seconds; whoever watched the call may set them.
func Close(run *Run, cause Cause) []event.Event {
	var segments, approvals, results []event.Event
	for i, p := range run.Parts {
		if p.Tool == nil {
			if !p.Closed {
				segments = append(segments, EndSegment(p, phaseAtClose(run.Parts[i:])))
			}
			continue
		}
		t := p.Tool
		if t.Request != nil && t.Resolved == nil {
			approvals = append(approvals, event.ApprovalResolved{
				Approval: t.Request.Approval, Decision: event.DecisionCancelled, By: "system", Via: event.Via{Surface: "system"},
			})
		}
		if t.Called != nil && t.Result == nil {
			output := resultAtClose(t, cause)
			results = append(results, event.ToolResult{Call: t.Call, Name: t.Name, Output: output, OutputBytes: int64(len(output))})
		}
	}
	return append(append(segments, approvals...), results...)
}

// EndSegment returns the event that completes a segment as it stands.
func EndSegment(p *Part, phase event.Phase) event.SegmentEnd {
	hash := sha256.Sum256(p.Text)
	return event.SegmentEnd{
		Segment: p.Segment, Phase: phase, Bytes: int64(len(p.Text)), SHA256: hex.EncodeToString(hash[:]), Visible: p.Visible,
	}
}

// phaseAtClose is the phase of the first of parts: text that a tool follows is
// commentary, also when the tool was only drafted.
func phaseAtClose(parts []*Part) event.Phase {
	if parts[0].Kind == PartReasoning {
		return event.PhaseReasoning
	}
	for _, p := range parts[1:] {
		if p.Kind == PartTool {
			return event.PhaseCommentary
		}
	}
	return event.PhaseAnswer
}

// resultAtClose tells people and the model what is known about a call.
func resultAtClose(t *Tool, cause Cause) string {
	return StopNote(cause, t.mayHaveRun())
}

// StopNote is what a call's result says that ended with its run: why, and
// whether it may have had an effect.
func StopNote(cause Cause, mayHaveRun bool) string {
	end := " it may have run."
	if !mayHaveRun {
		end = " it did not run."
	}
	switch cause {
	case CauseCancelled:
		return "This call was cancelled by user:" + end
	case CauseInterrupted:
		return "This call was interrupted by a restart:" + end
	case CauseFailed:
	}
	return "This call's run failed:" + end
}

// mayHaveRun reports whether nothing stood between the call and its execution:
// it asked nobody, or was allowed.
func (t *Tool) mayHaveRun() bool {
	if t.Request == nil {
		return true
	}
	return t.Resolved != nil && (t.Resolved.Decision == event.DecisionAllow || t.Resolved.Decision == event.DecisionAlways)
}

// Totals returns the code points and the SHA-256, in hex, of the run's text
// deltas, joined: what its usage and its end must say. The run must have been
// folded with its text.
func Totals(run *Run) (chars int64, hash string) {
	h := sha256.New()
	for _, p := range run.Parts {
		if p.Kind == PartText {
			chars += int64(utf8.RuneCount(p.Text))
			h.Write(p.Text)
		}
	}
	return chars, hex.EncodeToString(h.Sum(nil))
}
