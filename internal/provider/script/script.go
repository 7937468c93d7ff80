// Package script plays a text file as if it were a model: words with their
// timing, reasoning, tool calls, and every fault that a provider can have. A
// script answers as a Model, or as an HTTP server that other programs can use
// as their provider; both go through the same bytes. It promises that the same
// script gives the same answer to the same request; it understands nothing.
package script

import (
	_ "embed" // for the built-in script
	"fmt"
	"os"
	"strings"
	"time"
)

// Builtin is the name of the script that is part of the program.
const Builtin = "demo"

const maxFileBytes = 16 << 20

// Script is a parsed file. It is immutable.
type Script struct {
	sections []section
}

// section answers the messages that one of its matches takes; one without
// matches takes all.
type section struct {
	matches []match
	rounds  []round
}

// round is one call of the model. Its tries are what the first request, the
// second and so on get; the last is for all that follow.
type round struct{ tries [][]step }

type stepKind int

const (
	stepText stepKind = iota
	stepReasoning
	stepRepeat
	stepSleep
	stepTool
	stepResult
	stepUsage
	stepFinish
	stepError
	stepDrop
	stepHang
	stepRaw
)

// step is one thing that a script does.
type step struct {
	kind stepKind
	// when is what the request must be like; nil takes any.
	when *condition
	// text is the piece to send, raw bytes, or a call's arguments.
	text string
	// wait comes before the step, or before each piece of it.
	wait time.Duration
	// count is how often to repeat; 0 means the number in the message. For a
	// result it is its number.
	count int
	tool  toolStep
	usage usageStep
	fault faultStep
}

type toolStep struct {
	id, name string
	index    int
	size     int // characters a piece; 0 for all at once
}

type usageStep struct {
	input, output, reasoning, cached int64
	none                             bool
}

type faultStep struct {
	status              int
	retryAfter          string
	kind, code, message string
}

type match struct {
	how  string
	text string
}

func (m match) takes(message string) bool {
	switch m.how {
	case "equals":
		return message == m.text
	case "starts":
		return strings.HasPrefix(message, m.text)
	}
	return strings.Contains(message, m.text)
}

// plain is text as it is compared: case, and white space around it, don't count.
func plain(text string) string { return strings.ToLower(strings.TrimSpace(text)) }

// Load reads a script from a file of at most 16 MiB.
func Load(path string) (*Script, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFileBytes {
		return nil, fmt.Errorf("%s is longer than 16 MiB", path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := Parse(string(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

//go:embed demo.txt
var builtin string

// BuiltinScript returns the script that is part of the program.
func BuiltinScript() *Script {
	s, err := Parse(builtin)
	if err != nil {
		panic("the built-in script is malformed: " + err.Error()) // a test parses it
	}
	return s
}

// section returns the first section that takes the message.
func (s *Script) section(message string) (int, bool) {
	message = plain(message)
	for i, sec := range s.sections {
		if len(sec.matches) == 0 {
			return i, true
		}
		for _, m := range sec.matches {
			if m.takes(message) {
				return i, true
			}
		}
	}
	return 0, false
}
