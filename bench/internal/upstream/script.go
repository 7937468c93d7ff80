// Package upstream is the model's side of the measurements: what a scripted
// model is told to send, what its stream looks like, and how to read it.
package upstream

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// Script says what a stream sends. It travels as the text of the last message,
// so that it passes through any server that relays to a model.
type Script struct {
	Tokens int
	// Rate is in tokens a second; 0 means as fast as the connection takes
	// them.
	Rate float64
	// Gate, when set, makes the stream wait after Hold tokens until the
	// gate of that name is opened.
	Gate string
	Hold int
	// End, when set, makes the stream wait behind its last token until the
	// gate of that name is opened.
	End string
}

const (
	scriptFormat = "bench tokens=%d rate=%g hold=%d gate=%s end=%s"
	scriptFields = 5
	noGate       = "none"
)

// String writes the script as ParseScript reads it.
func (s Script) String() string {
	return fmt.Sprintf(scriptFormat, s.Tokens, s.Rate, s.Hold, cmp.Or(s.Gate, noGate), cmp.Or(s.End, noGate))
}

// MaxTokens bounds a stream.
const MaxTokens = 10_000_000

// ErrScript is returned for text that is no script.
var ErrScript = errors.New("not a bench script")

// ParseScript reads what String wrote.
func ParseScript(text string) (Script, error) {
	var s Script
	n, err := fmt.Sscanf(strings.TrimSpace(text), scriptFormat, &s.Tokens, &s.Rate, &s.Hold, &s.Gate, &s.End)
	if n != scriptFields || err != nil || s.Tokens < 0 || s.Tokens > MaxTokens || s.Rate < 0 {
		return Script{}, ErrScript
	}
	s.Gate, s.End = named(s.Gate), named(s.End)
	return s, nil
}

func named(gate string) string {
	if gate == noGate {
		return ""
	}
	return gate
}
