package library

import (
	"encoding/json"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
)

type textPart struct {
	Text    string     `json:"text"`
	Segment id.Segment `json:"segment,omitempty"`
	// Phase is left out while it is not known.
	Phase event.Phase `json:"phase,omitempty"`
	// Seconds is how long the segment took to come, once it has ended.
	Seconds *float64 `json:"seconds,omitempty"`
}

type toolPart struct {
	Call  id.Call `json:"call_id"`
	Index int     `json:"index"`
	Name  string  `json:"name"`
	// Args is the JSON that the model wrote, null while it still writes or
	// when it is none; ArgsText is then what there is of it.
	Args     json.RawMessage `json:"args"`
	ArgsText string          `json:"args_text,omitempty"`
	// Progress is the output of a call that has not ended.
	Progress []string `json:"progress,omitempty"`
	// OK is null until the call has ended.
	OK          *bool   `json:"ok"`
	Output      string  `json:"output"`
	Seconds     float64 `json:"seconds"`
	Truncated   bool    `json:"truncated"`
	OutputBytes int64   `json:"output_bytes"`
	// Blob holds the whole output where Output is only its end.
	Blob     string    `json:"blob,omitempty"`
	Approval *approval `json:"approval,omitempty"`
}

type approval struct {
	ID        id.Approval `json:"approval_id"`
	Risk      event.Risk  `json:"risk"`
	Reason    string      `json:"reason"`
	ExpiresAt string      `json:"expires_at"`
	// Decision is null while the request waits.
	Decision *event.Decision `json:"decision"`
	// By is who decided. Args are what the call ran with where that person
	// changed them, Note what the model was told.
	By   string          `json:"by,omitempty"`
	Args json.RawMessage `json:"args,omitempty"`
	Note string          `json:"note,omitempty"`
}

// parts leaves out what has no visible character: it is shown nowhere.
func parts(run *transcript.Run) []Part {
	out := []Part{}
	for _, p := range run.Parts {
		switch {
		case p.Tool != nil:
			out = append(out, Part{Type: p.Kind, tool: newToolPart(p.Tool)})
		case p.Visible:
			out = append(out, Part{Type: p.Kind, text: newTextPart(p)})
		}
	}
	return out
}

func newTextPart(p *transcript.Part) *textPart {
	t := &textPart{Text: string(p.Text), Segment: p.Segment, Phase: p.Phase}
	if p.Closed {
		s := max(p.EndAt.Sub(p.At), 0).Seconds()
		t.Seconds = &s
	}
	return t
}

func newToolPart(t *transcript.Tool) *toolPart {
	p := &toolPart{Call: t.Call, Index: t.Index, Name: t.Name, ArgsText: string(t.Draft), Approval: newApproval(t)}
	if t.Called != nil {
		p.Args, p.ArgsText = t.Called.Args, t.Called.ArgsText
	}
	if r := t.Result; r != nil {
		p.OK, p.Output, p.Seconds = &r.OK, r.Output, r.Seconds
		p.Truncated, p.OutputBytes, p.Blob = r.Truncated, r.OutputBytes, r.Blob
	} else {
		p.Progress = t.Progress
	}
	return p
}

// newApproval returns nil for a call that nobody was asked about.
func newApproval(t *transcript.Tool) *approval {
	q := t.Request
	if q == nil {
		return nil
	}
	a := &approval{ID: q.Approval, Risk: q.Risk, Reason: q.Reason, ExpiresAt: q.ExpiresAt.UTC().Format(time.RFC3339)}
	if r := t.Resolved; r != nil {
		a.Decision, a.By, a.Args, a.Note = &r.Decision, r.By, r.Args, r.Note
	}
	return a
}
