package split

import (
	"slices"
	"strings"
)

// Scanner does what Rule and the functions of this package do for one text that
// grows, in time that depends on what was added and on the length of a piece,
// not on the length of the text. Its answers are the same. The zero value is
// ready; each text it is given must begin with the one before, or be a beginning
// of it, and its Rule must be the same each time. It is not safe for concurrent
// use.
type Scanner struct {
	// past are states at beginnings of lines, at least span bytes apart.
	past []mark
	// last is the last known one, and there is no line end in
	// text[last.at:seen].
	last mark
	seen int
	// fit is how far the piece that begins at fitFrom was found to fit.
	fitFrom int
	fit     checked
	// gap is the last end of a paragraph after gapFrom, of those before
	// gapSeen; all before gapBlank is blank if gap is still gapFrom.
	gapFrom, gap, gapSeen, gapBlank int
}

// mark is the state at the beginning of a line.
type mark struct {
	at int
	state
}

// span bounds what is read again to find the state in older text.
const span = 256

// line returns where the line begins that holds text[at], and the state there.
func (s *Scanner) line(text string, at int) mark {
	if at < s.last.at {
		i, found := slices.BinarySearchFunc(s.past, at, func(m mark, at int) int { return m.at - at })
		if found {
			return s.past[i]
		}
		var m mark
		if i > 0 {
			m = s.past[i-1]
		}
		for m.advance(text, m.at, at) {
		}
		return m
	}
	for s.last.advance(text, max(s.last.at, min(s.seen, at)), at) {
		if len(s.past) == 0 || s.last.at >= s.past[len(s.past)-1].at+span {
			s.past = append(s.past, s.last)
		}
	}
	s.seen = max(s.seen, at)
	return s.last
}

// advance goes to the next line if that begins in text[:to]. There is no line end
// between m and from.
func (m *mark) advance(text string, from, to int) bool {
	n := strings.IndexByte(text[from:to], '\n')
	if n < 0 {
		return false
	}
	m.state, _ = m.step(text, m.at, from+n)
	m.at = from + n + 1
	return true
}

// Paragraph does what the function of this name does.
func (s *Scanner) Paragraph(text string, from int) int {
	if s.gapSeen < from || s.gapFrom != from || s.gapSeen > len(text) {
		s.gapFrom, s.gap, s.gapSeen, s.gapBlank = from, from, from, from
	}
	m := s.line(text, s.gapSeen)
	for {
		n := strings.IndexByte(text[max(m.at, from):], '\n')
		if n < 0 {
			break
		}
		start, end := m.at, max(m.at, from)+n
		var l line
		m.state, l = m.step(text, start, end)
		m.at = end + 1
		if l.kind != blank {
			continue
		}
		if s.gap == from {
			s.gapBlank = visibleStart(text, s.gapBlank, m.at)
		}
		if s.gapBlank < m.at {
			s.gap = m.at
		}
	}
	s.gapSeen = max(m.at, from)
	return s.gap
}
