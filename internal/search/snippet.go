package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// SnippetRunes is about how long a snippet is, in characters.
const SnippetRunes = 160

// Snippet is a piece of a text, exactly as it stands there.
type Snippet struct {
	Text string
	// At is where it begins in the whole text, in bytes.
	At int
	// Ranges are where the words are, in bytes of Text.
	Ranges []Range
}

// Snippet returns the piece of the text that shows most of the query: its
// different words first, then how often they are there; of equal pieces the
// first. It begins and ends at a space where one is near, else between two
// characters that are not one to the eye. It is at most 160 characters long;
// a shorter text is shown whole, but for white space at its end. m is the query's match in this text.
func (m Match) Snippet(text string) Snippet {
	if len(m.spans) == 0 {
		return cut(text, 0, cleanEnd(text, forward(text, 0, SnippetRunes), 0), nil)
	}
	part := m.best(text)
	end := min(part.End, forward(text, part.Start, SnippetRunes))
	limit := end
	if end < part.End {
		// One word is longer than a snippet.
		limit = part.Start
	}
	spare := SnippetRunes - utf8.RuneCountInString(text[part.Start:end])
	start := backward(text, part.Start, spare/3)
	end = forward(text, end, spare-utf8.RuneCountInString(text[start:part.Start]))
	// What is not needed at the end of the text goes to the beginning.
	start = backward(text, part.Start, SnippetRunes-utf8.RuneCountInString(text[part.Start:end]))
	return cut(text, cleanStart(text, start, part.Start), cleanEnd(text, end, limit), m.Ranges())
}

// best returns the part from the first to the last place that a snippet can
// show.
func (m Match) best(text string) Range {
	m.sort()
	best, most := m.spans[0].Range, 0
	count := make([]int, len(m.tally))
	kinds, first, runes := 0, 0, 0
	for i, s := range m.spans {
		if i > 0 {
			runes += utf8.RuneCountInString(text[m.spans[i-1].Start:s.Start])
		}
		if count[s.want]++; count[s.want] == 1 {
			kinds++
		}
		for first < i && runes+utf8.RuneCountInString(text[s.Start:s.End]) > SnippetRunes {
			f := m.spans[first]
			if count[f.want]--; count[f.want] == 0 {
				kinds--
			}
			runes -= utf8.RuneCountInString(text[f.Start:m.spans[first+1].Start])
			first++
		}
		if n := kinds*maxSpans + i - first; n > most {
			best, most = Range{m.spans[first].Start, s.End}, n
		}
	}
	return best
}

// cut makes the snippet from start to end.
func cut(text string, start, end int, ranges []Range) Snippet {
	s := Snippet{Text: text[start:end], At: start}
	for _, r := range ranges {
		if r.End <= start || r.Start >= end {
			continue
		}
		s.Ranges = append(s.Ranges, Range{max(r.Start, start) - start, min(r.End, end) - start})
	}
	return s
}

// forward and backward go n characters on or back, or to the end of the text.
func forward(text string, at, n int) int {
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}

func backward(text string, at, n int) int {
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return at
}

// nearRunes is how far a snippet is shortened to begin or end at a space.
const nearRunes = 20

// cleanStart moves a start on to the beginning of a word, or at least of a
// whole character, but not past limit.
func cleanStart(text string, at, limit int) int {
	if at > 0 {
		near := min(forward(text, at, nearRunes), limit)
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		if i := strings.IndexFunc(text[at:near], unicode.IsSpace); i >= 0 && !unicode.IsSpace(before) {
			at += i
		}
	}
	for at < limit {
		r, size := utf8.DecodeRuneInString(text[at:])
		if !unicode.IsSpace(r) && boundary(text, at) {
			break
		}
		at += size
	}
	return at
}

// cleanEnd is cleanStart for the end.
func cleanEnd(text string, at, limit int) int {
	if at < len(text) {
		near := max(backward(text, at, nearRunes), limit)
		after, _ := utf8.DecodeRuneInString(text[at:])
		if i := strings.LastIndexFunc(text[near:at], unicode.IsSpace); i >= 0 && !unicode.IsSpace(after) {
			at = near + i
		}
	}
	for at > limit {
		r, size := utf8.DecodeLastRuneInString(text[:at])
		if !unicode.IsSpace(r) && boundary(text, at) {
			break
		}
		at -= size
	}
	return at
}
