package split

import "unicode/utf8"

// checked is how far a piece was found to fit.
type checked struct{ at, size int }

// view returns the piece of a text that begins at from.
func (s *Scanner) view(r Rule, text string, from int) *view {
	return &view{rule: r, text: text, from: from, begin: s.line(text, from)}
}

// Display does what Rule.Display does.
func (s *Scanner) Display(r Rule, text string, from, to int) Piece {
	return s.view(r, text[:to], from).show(to).Piece
}

// Cut does what Rule.Cut does.
//
// Whether the piece fits is looked at in places that depend on the text before
// them alone, closer to each other the less room is left, and the piece is sealed
// if it does not fit in one of them. So it does not matter in which steps the
// text came, nor whether Measure ever shrinks.
func (s *Scanner) Cut(r Rule, text string, from int, closed bool) (to int, sealed bool) {
	if !closed {
		text = whole(text)
	}
	if from >= len(text) {
		return max(from, len(text)), false
	}
	v := s.view(r, text, from)
	if s.fitFrom != from || s.fit.at > len(text) || s.fit.at < from {
		s.fitFrom, s.fit = from, checked{at: from}
	}
	for {
		next := v.next(s.fit)
		if next > len(text) {
			break
		}
		now := v.show(next)
		if !now.fits {
			return v.end(next, s.fit.at, true)
		}
		s.fit = checked{next, now.size}
	}
	if s.fit.at == len(text) || v.fits(len(text)) {
		return len(text), false
	}
	return v.end(len(text), s.fit.at, closed)
}

// end returns where the piece ends that fits until fit and doesn't until over.
func (v *view) end(over, fit int, seal bool) (to int, sealed bool) {
	seen := *v
	seen.text = v.text[:visibleEnd(v.text, v.from, over)]
	if to = seen.choose(fit); to < len(seen.text) {
		return to, seal
	}
	// It is a code point that is too long alone. The blanks after it go with it,
	// and until something else comes it may be the last piece.
	next := visibleStart(v.text, to, len(v.text))
	if next == len(v.text) {
		return next, false
	}
	_, size := utf8.DecodeRuneInString(v.text[next:])
	return afterBlanks(v.text[:next+size], to), true
}

// next returns the next place at which to look whether the piece fits.
func (v *view) next(fit checked) int {
	// The share of the piece's length bounds the work for text that takes no
	// room.
	step := max(1, (v.rule.max()-fit.size)/2, (fit.at-v.from)/256)
	at := fit.at + step
	for at < len(v.text) && len(whole(v.text[:at])) < at {
		at++
	}
	return at
}

// choose returns a good end for the piece, which fits until fit and would not
// with the rest of the text.
func (v *view) choose(fit int) int {
	limit := v.furthest(fit, len(v.text))
	if visibleEnd(v.text, v.from, limit) > v.from {
		p := newPlaces(v, limit)
		return p.best()
	}
	// Not one character fits: the piece is its first code point.
	first := visibleStart(v.text, v.from, len(v.text))
	_, size := utf8.DecodeRuneInString(v.text[first:])
	return v.inside(first + size)
}

// inside returns where the piece ends that must be cut at at, which is in its
// first grapheme cluster: behind what shows nothing alone.
func (v *view) inside(at int) int {
	first := visibleStart(v.text, v.from, len(v.text))
	end := first + cluster(v.text[first:])
	if at < end {
		at = visibleStart(v.text, at, end)
	}
	if at < end {
		return at
	}
	return afterBlanks(v.text, at)
}

// furthest returns the last code point's end between fit and end until which the
// piece fits.
func (v *view) furthest(fit, end int) int {
	for fit < end {
		at := (fit + end) / 2
		for i := 0; i < utf8.UTFMax && at > fit && !utf8.RuneStart(v.text[at]); i++ {
			at--
		}
		if at == fit {
			_, size := utf8.DecodeRuneInString(v.text[fit:end])
			at = fit + size
			if at >= end {
				break
			}
		}
		if v.fits(at) {
			fit = at
		} else {
			end = at
		}
	}
	return fit
}
