package event

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

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

func (d Delta) valid() bool { return validPiece(d.Segment, d.Text) }

func (d Delta) appendJSON(b []byte) []byte { return appendPiece(b, d.Segment, d.Offset, d.Text) }

func parseDelta(body json.RawMessage) (Event, bool) {
	segment, offset, text, ok := parsePiece(body)
	return Delta{segment, offset, text}, ok
}

// Reasoning is more of a reasoning segment; its fields are Delta's.
type Reasoning struct {
	Segment id.Segment `json:"segment"`
	Offset  int64      `json:"offset"`
	Text    string     `json:"text"`
}

// Kind returns "reasoning".
func (Reasoning) Kind() Kind { return "reasoning" }

func (r Reasoning) valid() bool { return validPiece(r.Segment, r.Text) }

func (r Reasoning) appendJSON(b []byte) []byte { return appendPiece(b, r.Segment, r.Offset, r.Text) }

func parseReasoning(body json.RawMessage) (Event, bool) {
	segment, offset, text, ok := parsePiece(body)
	return Reasoning{segment, offset, text}, ok
}

func validPiece(segment id.Segment, text string) bool {
	return utf8.ValidString(text) && utf8.ValidString(string(segment))
}

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

// parsePiece reads what appendPiece wrote, without reflection: a reader that
// catches up meets little else. ok is false for anything that is not exactly of
// that form, which a general decoder must look at.
func parsePiece(body []byte) (segment id.Segment, offset int64, text string, ok bool) {
	p := nativeParser{rest: body}
	p.take(`{"segment":`)
	segment = id.Segment(p.plain())
	p.take(`,"offset":`)
	offset = p.number()
	p.take(`,"text":`)
	text = p.plain()
	p.take(`}`)
	return segment, offset, text, !p.bad && len(p.rest) == 0
}

// plain is text for a line that is not known to be valid.
func (p *nativeParser) plain() string {
	n := stringEnd(p.rest)
	if p.bad || n == 0 {
		p.bad = true
		return ""
	}
	inner := p.rest[1 : n-1]
	if !utf8.Valid(inner) || hasControl(inner) {
		p.bad = true
		return ""
	}
	p.rest = p.rest[n:]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	s, ok := unescape(inner)
	p.bad = p.bad || !ok
	return s
}

func hasControl(b []byte) bool {
	for _, c := range b {
		if c < ' ' {
			return true
		}
	}
	return false
}

// unescape undoes the escapes that AppendString writes, and fails on others.
func unescape(b []byte) (string, bool) {
	out := make([]byte, 0, len(b))
	for {
		i := bytes.IndexByte(b, '\\')
		if i < 0 {
			return string(append(out, b...)), true
		}
		out = append(out, b[:i]...)
		r, n := unescapeOne(b[i+1:])
		if n == 0 {
			return "", false
		}
		out = utf8.AppendRune(out, r)
		b = b[i+1+n:]
	}
}

// unescapeOne reads what follows a backslash and returns the character and the
// bytes it took; 0 when it is none of ours. Halves of surrogate pairs are not:
// they need their other half.
func unescapeOne(b []byte) (r rune, n int) {
	if len(b) == 0 {
		return 0, 0
	}
	if i := strings.IndexByte(`"\nrtbf`, b[0]); i >= 0 {
		return rune("\"\\\n\r\t\b\f"[i]), 1
	}
	if b[0] != 'u' || len(b) < 5 {
		return 0, 0
	}
	v, err := strconv.ParseUint(string(b[1:5]), 16, 16)
	if err != nil || utf16.IsSurrogate(rune(v)) {
		return 0, 0
	}
	return rune(v), 5
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
