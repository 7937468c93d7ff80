package sse

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// Place says where a run's rows are and which version of the answer is shown.
type Place struct {
	// UserIndex and AssistantIndex are rows of the conversation from 0; nil
	// when the row is gone.
	UserIndex, AssistantIndex *int
	// Versions is at least 1, Active counts from 0.
	Versions, Active int
}

// Encoder turns the records of one run, from its start on and in order, into
// frames of the compatible wire. The bytes depend on nothing but the records,
// the epoch, Reset and what place says: who starts again from the run's start
// gets the same bytes. A record of another run, a fact about the conversation,
// a kind that this wire does not have, a tombstone and whatever comes after the
// terminal give no frame. There is one fact that does: the one that takes the
// run's message out of the queue unsent, which is the run's terminal. Not safe
// for concurrent use.
type Encoder struct {
	// Reset makes the start frame say that the reader's cursor meant
	// nothing here. Set it before the first Encode.
	Reset bool

	epoch id.Epoch
	run   id.Run
	place func() Place
	// reasoning has the open reasoning segments.
	reasoning map[id.Segment]reasoning
	// begun is set by the first record of the run, ended by the terminal, after
	// which nothing is sent.
	begun, ended bool
	// joined says that the first record is not the run's start.
	joined bool
}

// errNeedsStart is what a joined encoder says to the middle of a segment whose
// head it has not seen and must have.
var errNeedsStart = errors.New("the head of the segment was not read")

// reasoning is a segment that is still open: once it was shown all that comes
// is sent, until then it is blank and waits.
type reasoning struct {
	shown bool
	blank string
}

// NewEncoder returns an encoder for a run. place is asked each time the run's
// end is encoded; without it the rows count as gone.
func NewEncoder(epoch id.Epoch, run id.Run, place func() Place) *Encoder {
	if place == nil {
		place = func() Place { return Place{Versions: 1} }
	}
	return &Encoder{epoch: epoch, run: run, place: place, reasoning: map[id.Segment]reasoning{}}
}

// Clone returns an encoder that goes on from the same record.
func (e *Encoder) Clone() *Encoder {
	c := *e
	c.reasoning = maps.Clone(e.reasoning)
	return &c
}

// Encode appends the frame of r to b, or nothing when r has none, and reports
// whether r ends the run. On an error, which only a damaged record gives, b
// comes back as it was.
func (e *Encoder) Encode(b []byte, r event.Record) (out []byte, terminal bool, err error) {
	if e.ended {
		return b, false, nil
	}
	if r.Run != e.run {
		return e.fact(b, r)
	}
	e.begun = true
	ev, err := r.Event()
	if err != nil {
		return b, false, fmt.Errorf("record %d of %s: %w", r.Seq, r.Conversation, err)
	}
	switch ev := ev.(type) {
	case event.Delta:
		return e.piece(b, r, nameDelta, ev.Segment, ev.Offset, ev.Text), false, nil
	case event.Reasoning:
		if _, seen := e.reasoning[ev.Segment]; e.joined && !seen && ev.Offset > 0 {
			return b, false, errNeedsStart
		}
		return e.thought(b, r, ev), false, nil
	case event.SegmentEnd:
		delete(e.reasoning, ev.Segment)
		return b, false, nil
	case event.Cancelled, event.Error, event.End:
		e.ended = true
		return e.rare(b, r, ev), true, nil
	case event.Erased:
		e.ended = isTerminal(ev.Was)
		return b, e.ended, nil
	}
	return e.rare(b, r, ev), false, nil
}

// thought sends reasoning from its first visible character on, together with
// the blanks before it.
func (e *Encoder) thought(b []byte, r event.Record, ev event.Reasoning) []byte {
	seg := e.reasoning[ev.Segment]
	if seg.shown {
		return e.piece(b, r, nameReasoning, ev.Segment, ev.Offset, ev.Text)
	}
	if !visible(ev.Text) {
		e.reasoning[ev.Segment] = reasoning{blank: seg.blank + ev.Text}
		return b
	}
	e.reasoning[ev.Segment] = reasoning{shown: true}
	return e.piece(b, r, nameReasoning, ev.Segment, ev.Offset-int64(len(seg.blank)), seg.blank+ev.Text)
}

func (e *Encoder) piece(b []byte, r event.Record, name string, segment id.Segment, offset int64, text string) []byte {
	b = open(b, name, r.Message)
	b = str(b, "text", text)
	b = str(b, "segment", string(segment))
	b = num(b, "offset", offset)
	return e.close(b, r.Seq)
}

// rare encodes the events that come a few times a run.
func (e *Encoder) rare(b []byte, r event.Record, ev event.Event) []byte {
	switch ev := ev.(type) {
	case event.Start:
		return e.start(b, r, ev)
	case event.ToolDrafting:
		b = toolDrafting(b, r, ev)
	case event.ToolCall:
		b = toolCall(b, r, ev)
	case event.ToolResult:
		b = toolResult(b, r, ev)
	case event.ApprovalRequest:
		b = approvalRequest(b, r, ev)
	case event.Usage:
		b = usage(b, r, ev)
	case event.Cancelled:
		b = str(open(b, nameCancelled, r.Message), "run_id", string(r.Run))
	case event.Error:
		b = failure(b, r, ev)
	case event.End:
		b = end(b, r, ev, e.place())
	default:
		return b
	}
	return e.close(b, r.Seq)
}

// start encodes the first start of a run; its retry is not news on this wire.
func (e *Encoder) start(b []byte, r event.Record, ev event.Start) []byte {
	if ev.Retry {
		return b
	}
	b = open(b, nameStart, r.Message)
	b = str(b, "run_id", string(r.Run))
	b = str(b, "conversation_id", string(r.Conversation))
	b = str(b, "model", ev.Model)
	b = num(b, "version", int64(ev.Version))
	if ev.RegenerateOf != "" {
		b = str(b, "regenerate_of", string(ev.RegenerateOf))
	}
	if ev.OmittedTurns > 0 {
		b = num(b, "omitted_turns", int64(ev.OmittedTurns))
	}
	if e.Reset {
		b = boolean(b, "reset", true)
	}
	return e.close(b, r.Seq)
}

func toolDrafting(b []byte, r event.Record, ev event.ToolDrafting) []byte {
	b = open(b, nameToolDrafting, r.Message)
	b = str(b, "name", ev.Name)
	b = str(b, "call_id", string(ev.Call))
	b = num(b, "index", int64(ev.Index))
	b = str(b, "args_delta", ev.ArgsDelta)
	return num(b, "offset", ev.Offset)
}

func toolCall(b []byte, r event.Record, ev event.ToolCall) []byte {
	b = open(b, nameToolCall, r.Message)
	b = str(b, "call_id", string(ev.Call))
	b = str(b, "name", ev.Name)
	b = raw(b, "args", ev.Args)
	b = num(b, "index", int64(ev.Index))
	if ev.ArgsText != "" {
		b = str(b, "args_text", ev.ArgsText)
	}
	return b
}

func toolResult(b []byte, r event.Record, ev event.ToolResult) []byte {
	b = open(b, nameToolResult, r.Message)
	b = str(b, "call_id", string(ev.Call))
	b = str(b, "name", ev.Name)
	b = boolean(b, "ok", ev.OK)
	b = str(b, "output", ev.Output)
	b = float(b, "seconds", ev.Seconds)
	b = boolean(b, "truncated", ev.Truncated)
	return num(b, "output_bytes", ev.OutputBytes)
}

func approvalRequest(b []byte, r event.Record, ev event.ApprovalRequest) []byte {
	b = open(b, nameApprovalRequest, r.Message)
	b = str(b, "approval_id", string(ev.Approval))
	b = str(b, "call_id", string(ev.Call))
	b = str(b, "name", ev.Name)
	b = raw(b, "args", ev.Args)
	b = str(b, "risk", string(ev.Risk))
	b = str(b, "reason", ev.Reason)
	return str(b, "expires_at", ev.ExpiresAt.UTC().Format(time.RFC3339Nano))
}

func usage(b []byte, r event.Record, ev event.Usage) []byte {
	b = open(b, nameUsage, r.Message)
	b = num(b, "chars", ev.Chars)
	b = float(b, "seconds", ev.Seconds)
	b = float(b, "ttft", ev.TTFT)
	b = num(b, "input_tokens", ev.InputTokens)
	b = num(b, "output_tokens", ev.OutputTokens)
	b = num(b, "reasoning_tokens", ev.ReasoningTokens)
	b = num(b, "cached_tokens", ev.CachedTokens)
	b = str(b, "model", ev.Model)
	b = key(b, "rounds")
	b = append(b, '[')
	for i, round := range ev.Rounds {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"input":%d,"cached":%d,"output":%d,"text_bytes":%d,"tools":%d}`,
			round.Input, round.Cached, round.Output, round.TextBytes, round.Tools)
	}
	return append(b, ']')
}

func failure(b []byte, r event.Record, ev event.Error) []byte {
	b = open(b, nameError, r.Message)
	b = str(b, "message", ev.Message)
	b = str(b, "kind", string(ev.Type))
	b = str(b, "code", string(ev.Code))
	b = boolean(b, "retryable", ev.Retryable)
	if ev.RetryAfter > 0 {
		b = float(b, "retry_after", ev.RetryAfter)
	}
	return b
}

func end(b []byte, r event.Record, ev event.End, place Place) []byte {
	b = open(b, nameEnd, r.Message)
	b = index(b, "user_index", place.UserIndex)
	b = index(b, "assistant_index", place.AssistantIndex)
	b = num(b, "versions", int64(max(place.Versions, 1)))
	b = num(b, "active", int64(place.Active))
	b = str(b, "finish", string(ev.Finish))
	b = num(b, "chars", ev.Chars)
	return str(b, "sha256", ev.SHA256)
}

// visible reports whether s has a character that is not white space.
func visible(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsSpace(r) }) >= 0
}

func (e *Encoder) close(b []byte, seq int64) []byte { return closeFrame(b, e.epoch, seq) }
