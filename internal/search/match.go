package search

import (
	"bytes"
	"math"
	"slices"
)

// maxSpans bounds what is remembered of the places in one text.
const maxSpans = 1000

// Match is where a query is in a text.
type Match struct {
	spans []span
	// terms counts the terms of the text, tally what was found of each want.
	terms int
	tally []tally
}

// span is a place where a want was found.
type span struct {
	Range
	want int
}

// tally counts the words that are a want, and those that only begin so.
type tally struct{ whole, begins int }

// Match looks for the query in a text, and returns false when the text lacks
// any part of it. The places of a text beyond the first 1,000 are counted but
// not remembered.
func (q Query) Match(text string) (Match, bool) {
	m := Match{tally: make([]tally, len(q.wants))}
	s := newScanner(text)
	row := row{wants: q.wants}
	for s.next() {
		m.terms++
		if !s.joined {
			row.end(&m)
		}
		if s.single {
			row.add(&s)
			continue
		}
		for i, w := range q.wants {
			if w.row == nil && bytes.HasPrefix(s.term, []byte(w.text)) {
				m.found(i, Range{s.start, s.end}, len(w.text) == len(s.term))
			}
		}
	}
	row.end(&m)
	if len(q.wants) == 0 || slices.Contains(m.tally, tally{}) {
		return Match{}, false
	}
	return m, true
}

func (m *Match) found(want int, at Range, whole bool) {
	if whole {
		m.tally[want].whole++
	} else {
		m.tally[want].begins++
	}
	if len(m.spans) < maxSpans {
		m.spans = append(m.spans, span{at, want})
	}
}

// row is a row of single characters, as far as it was read.
type row struct {
	wants []want
	text  []byte
	// starts and ends are where each character stands: in text, in the text
	// that is searched, and where it ends there.
	chars []char
}

type char struct {
	at int
	Range
}

func (r *row) add(s *scanner) {
	r.chars = append(r.chars, char{len(r.text), Range{s.start, s.end}})
	r.text = append(r.text, s.term...)
}

// end looks for the wants in the row and forgets it.
func (r *row) end(m *Match) {
	if len(r.chars) == 0 {
		return
	}
	for i, w := range r.wants {
		if w.row == nil {
			continue
		}
		for c := range r.chars {
			last := c + len(w.row) - 1
			if last < len(r.chars) && bytes.HasPrefix(r.text[r.chars[c].at:], []byte(w.text)) {
				m.found(i, Range{r.chars[c].Start, r.chars[last].End}, true)
			}
		}
	}
	r.text, r.chars = r.text[:0], r.chars[:0]
}

// Ranges returns the places in order, joined where they overlap or touch.
func (m Match) Ranges() []Range {
	all := make([]Range, 0, len(m.spans))
	for _, s := range m.spans {
		all = append(all, s.Range)
	}
	slices.SortFunc(all, func(a, b Range) int { return a.Start - b.Start })
	var out []Range
	for _, r := range all {
		if n := len(out); n > 0 && r.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, r.End)
			continue
		}
		out = append(out, r)
	}
	return out
}

// Score says how good a match is, to compare texts that match the same query.
// More of a word counts more, with less for each; a whole word counts twice a
// beginning; the same in a shorter text counts more; words that stand close
// together count more than apart. It is the saturating part of BM25: how rare a
// word is makes no difference between texts that all have it.
func (m Match) Score() float64 {
	const (
		saturation = 1.2
		slope      = 0.5
		usualTerms = 60
	)
	length := 1 - slope + slope*float64(m.terms)/usualTerms
	score := 0.0
	for _, t := range m.tally {
		n := float64(t.whole) + float64(t.begins)/2
		score += n * (saturation + 1) / (n + saturation*length)
	}
	if n := len(m.tally); n > 1 {
		score += float64(n) / (1 + float64(m.closest())/64)
	}
	return score
}

// closest returns the length in bytes of the shortest part with every want.
func (m Match) closest() int {
	m.sort()
	shortest := math.MaxInt32
	count := make([]int, len(m.tally))
	kinds, first := 0, 0
	for _, s := range m.spans {
		if count[s.want]++; count[s.want] == 1 {
			kinds++
		}
		for kinds == len(count) {
			f := m.spans[first]
			shortest = min(shortest, s.End-f.Start)
			if count[f.want]--; count[f.want] == 0 {
				kinds--
			}
			first++
		}
	}
	return shortest
}

// sort puts the places in order of the text; rows put theirs a want at a time.
func (m Match) sort() {
	slices.SortStableFunc(m.spans, func(a, b span) int { return a.Start - b.Start })
}
