package search

import (
	"iter"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Term is a word of a text, or a single character of a script that puts no
// spaces between words.
type Term struct {
	// Text is the term folded: lower case, without accents, in the plain
	// width. It is never empty.
	Text string
	// Start and End are where it stands, in bytes of the text; accents after
	// the last letter are within.
	Start, End int
	// Single reports that it is one character, Joined that it follows another
	// single one immediately.
	Single, Joined bool
}

// Terms returns the terms of a text in order. Whatever the text is, each is a
// part of it between two characters, and none overlaps another.
func Terms(text string) iter.Seq[Term] {
	return func(yield func(Term) bool) {
		s := newScanner(text)
		for s.next() {
			if !yield(Term{string(s.term), s.start, s.end, s.single, s.joined}) {
				return
			}
		}
	}
}

// scanner goes through the terms of a text without allocating for each.
type scanner struct {
	text  string
	table *[tableSize]folded
	at    int
	// The term that next found, as fields of Term. term is used again by the
	// next one.
	term           []byte
	start, end     int
	single, joined bool
}

func newScanner(text string) scanner { return scanner{text: text, table: table(), end: -1} }

// next goes to the next term, and returns false when there is none.
func (s *scanner) next() bool {
	wasSingle, wasEnd := s.single, s.end
	s.term = s.term[:0]
	for s.at < len(s.text) {
		f, size := s.fold(s.at)
		first := s.at
		s.at += size
		switch f.class {
		case apart, accent:
		case letter:
			s.take(f, first)
			s.single, s.joined = false, false
			s.word()
			return true
		case single, joins:
			s.take(f, first)
			s.single, s.joined = true, wasSingle && wasEnd == first
			s.marks()
			return true
		}
	}
	s.end = -1
	return false
}

// take begins a term.
func (s *scanner) take(f folded, first int) {
	s.term = append(s.term, f.text...)
	s.start, s.end = first, s.at
}

// word takes the rest of a word.
func (s *scanner) word() {
	for s.at < len(s.text) {
		// Most of most texts.
		if c := s.text[s.at]; c < utf8.RuneSelf {
			f := &s.table[c]
			if f.class != letter {
				return
			}
			s.term = append(s.term, f.text[0])
			s.at++
			s.end = s.at
			continue
		}
		f, size := s.fold(s.at)
		if f.class != letter && f.class != accent {
			return
		}
		s.term = append(s.term, f.text...)
		s.at += size
		s.end = s.at
	}
}

// marks takes what belongs to a single character: accents, and what makes one
// with it.
func (s *scanner) marks() {
	for s.at < len(s.text) {
		f, size := s.fold(s.at)
		if f.class == joins {
			// Only what does make one character.
			both := norm.NFC.AppendString(nil, string(s.term)+f.text)
			if utf8.RuneCount(both) != 1 {
				return
			}
			s.term = append(s.term[:0], both...)
		} else if f.class != accent {
			return
		}
		s.at += size
		s.end = s.at
	}
}

// fold returns the folding of the character at an offset and its size in
// bytes. A byte that is no character is apart.
func (s *scanner) fold(at int) (folded, int) {
	r, size := rune(s.text[at]), 1
	if r >= utf8.RuneSelf {
		r, size = utf8.DecodeRuneInString(s.text[at:])
	}
	switch {
	case r < tableSize:
		return s.table[r], size
	case itself(r):
		return folded{single, s.text[at : at+size]}, size
	}
	return foldSlowly(r), size
}
