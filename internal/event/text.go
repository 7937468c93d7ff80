package event

import (
	"encoding/json"
	"strconv"

	"verbatim/internal/id"
)

// Delta is more of a text segment. The concatenation of a segment's deltas is
// the segment, byte for byte.
type Delta struct {
	Segment id.Segment `json:"segment"`
	// Offset is where Text begins in its segment, in bytes of UTF-8.
	Offset int64 `json:"offset"`
	// Text is never empty and always valid UTF-8.
	Text string `json:"text"`
}

// Kind returns "delta".
func (Delta) Kind() Kind { return "delta" }

func (d Delta) appendJSON(b []byte) []byte { return appendPiece(b, d.Segment, d.Offset, d.Text) }

// Reasoning is more of a reasoning segment; its fields are Delta's.
type Reasoning struct {
	Segment id.Segment `json:"segment"`
	Offset  int64      `json:"offset"`
	Text    string     `json:"text"`
}

// Kind returns "reasoning".
func (Reasoning) Kind() Kind { return "reasoning" }

func (r Reasoning) appendJSON(b []byte) []byte { return appendPiece(b, r.Segment, r.Offset, r.Text) }

func appendPiece(b []byte, segment id.Segment, offset int64, text string) []byte {
	if b == nil {
		b = make([]byte, 0, 48+len(segment)+len(text)+len(text)/8)
	}
	b = append(b, `{"segment":`...)
	b = AppendString(b, string(segment))
	b = append(b, `,"offset":`...)
	b = strconv.AppendInt(b, offset, 10)
	b = append(b, `,"text":`...)
	b = AppendString(b, text)
	return append(b, '}')
}

// Phase says what a segment turned out to be.
type Phase string

// The phases of a segment. Text of a round that calls a tool is commentary, of
// one that does not, the answer.
const (
	PhaseAnswer     Phase = "answer"
	PhaseCommentary Phase = "commentary"
	PhaseReasoning  Phase = "reasoning"
)

// SegmentEnd completes a segment: nothing more of it follows.
type SegmentEnd struct {
	Segment id.Segment `json:"segment"`
	Phase   Phase      `json:"phase"`
	// Bytes is the length of the whole segment in bytes of UTF-8.
	Bytes int64 `json:"bytes"`
	// SHA256 is the hash of the whole segment, in hex.
	SHA256 string `json:"sha256"`
	// Visible reports whether the segment has a character that is not
	// white space; one without is shown nowhere.
	Visible bool `json:"visible"`
	// Provider is what the provider needs back, such as a signature of its
	// reasoning. Opaque, never sent to a surface.
	Provider json.RawMessage `json:"provider,omitempty"`
}

// Kind returns "segment_end".
func (SegmentEnd) Kind() Kind { return "segment_end" }

var sampleSegmentEnd = SegmentEnd{
	Segment: "s2", Phase: PhaseAnswer, Bytes: 5, SHA256: sampleSHA256, Visible: true,
	Provider: json.RawMessage(`{"signature":"x"}`),
}
