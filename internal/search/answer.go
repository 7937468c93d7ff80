package search

import (
	"strings"
	"unicode"

	"verbatim/internal/id"
)

// Answer gathers the text of a run from its pieces. The zero value has none.
type Answer struct {
	segments []*segment
}

type segment struct {
	name id.Segment
	text strings.Builder
}

// Add adds more of a segment. Segments stand in the order in which they were
// begun.
func (a *Answer) Add(name id.Segment, text string) {
	for i := len(a.segments) - 1; i >= 0; i-- {
		if s := a.segments[i]; s.name == name {
			s.text.WriteString(text)
			return
		}
	}
	s := &segment{name: name}
	s.text.WriteString(text)
	a.segments = append(a.segments, s)
}

// Text returns the segments that have a visible character, joined by a blank
// line: what a reader that knows one text a message is shown.
func (a *Answer) Text() string {
	var shown []string
	for _, s := range a.segments {
		text := s.text.String()
		if strings.IndexFunc(text, func(r rune) bool { return !unicode.IsSpace(r) }) >= 0 {
			shown = append(shown, text)
		}
	}
	return strings.Join(shown, "\n\n")
}
