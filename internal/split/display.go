package split

import (
	"strings"
	"unicode/utf8"
)

// Piece is a range of a text as it is shown alone.
type Piece struct {
	// Text is Head bytes of markers, the range, and Tail bytes of markers.
	Text       string
	Head, Tail int
	// Before and After are how many bytes of blanks at the range's beginning
	// and end are left out of Text because it would be too long with them. A
	// reader sees no difference.
	Before, After int
}

// view is a piece of a text that begins at from. What it says about an end
// depends on the text before that end alone.
type view struct {
	rule  Rule
	text  string
	from  int
	begin mark // of the line that from is in
}

// shown is what a view's piece is like at some end.
type shown struct {
	Piece
	size int
	fits bool
}

// fits reports whether the piece may end at to. Blanks at its end don't count.
func (v *view) fits(to int) bool { return v.show(to).fits }

// show makes the piece that ends at to.
func (v *view) show(to int) shown {
	end := visibleEnd(v.text, v.from, to)
	if end == v.from {
		return shown{Piece: Piece{Text: v.text[v.from:to]}, fits: true}
	}
	limit := v.rule.max()
	s := v.join(to, end)
	first := visibleStart(v.text, v.from, end)
	one := first + cluster(v.text[first:end])
	if s.size > limit && first > v.from && v.join(one, one).size > limit {
		// The blanks it begins with are too much already.
		later := v.later(first)
		s = later.join(to, end)
		s.Before = first - v.from
	}
	if s.size > limit && one >= end {
		s = v.alone(s, first, to, end)
	}
	s.fits = s.fits && s.size <= limit && end-v.from <= v.rule.most()
	return s
}

// alone makes the piece of a single character, which is s and too long: rather
// without markers, or without what only joins it to the next one, than cut in
// two.
func (v *view) alone(s shown, first, to, end int) shown {
	if v.rule.Markers {
		bare := *v
		bare.rule.Markers = false
		return bare.show(to)
	}
	last := end
	for {
		r, size := utf8.DecodeLastRuneInString(v.text[first:last])
		if !blankRune(r) {
			break
		}
		last -= size
	}
	short := v.later(first).close("", last, last)
	if short.size > v.rule.max() {
		return s
	}
	short.Before, short.After = first-v.from, to-last
	return short
}

// later is the view that begins at from instead.
func (v *view) later(from int) *view {
	w := *v
	w.from = from
	for w.begin.advance(w.text, w.begin.at, from) {
	}
	return &w
}

// join makes the piece that ends at to, or at the end of what is visible of it
// if it would be too long else.
func (v *view) join(to, end int) shown {
	head := v.head(to)
	s := v.close(head, to, end)
	if s.size > v.rule.max() && end < to {
		s = v.close(head, end, end)
		s.After = to - end
	}
	return s
}

// close makes the piece of a head and the text until to. It fits unless words in
// front of end would be taken for code.
func (v *view) close(head string, to, end int) shown {
	s := shown{Piece: Piece{Text: head + v.text[v.from:to], Head: len(head)}, fits: true}
	if v.rule.Markers {
		w := walk{text: s.Text, stop: to}
		w.head(len(head))
		w.beside(v, len(head)-v.from)
		s.fits = end <= w.stop
		tail := w.tail(v.rule)
		s.Text += tail
		s.Tail = len(tail)
	}
	s.size = v.rule.measure(s.Text)
	return s
}

// walk reads a piece as it is shown.
type walk struct {
	text string
	// state is that at the beginning of the last line, which is at at.
	state state
	at    int
	// stop is how far the source may be shown: what follows would be taken for
	// code and is none.
	stop int
}

// head reads the lines of a head of so many bytes.
func (w *walk) head(size int) {
	for {
		n := strings.IndexByte(w.text[w.at:size], '\n')
		if n < 0 {
			return
		}
		w.state, _ = w.state.step(w.text, w.at, w.at+n)
		w.at += n + 1
	}
}

// beside reads the lines of the piece, and in parallel the same ones in the
// source, where each byte is shift bytes earlier.
func (w *walk) beside(v *view, shift int) {
	source, found := v.begin, false
	for first := true; ; first = false {
		end := len(w.text)
		n := strings.IndexByte(w.text[max(w.at, v.from+shift):], '\n')
		if n >= 0 {
			end = max(w.at, v.from+shift) + n
		}
		there, l := source.step(v.text, source.at, end-shift)
		here, _ := w.state.step(w.text, w.at, end)
		if !found && here.fence.open() && !there.fence.open() && l.kind != blank {
			found = true
			switch {
			case first: // No earlier end could help.
			case l.kind == closer:
				w.stop = end - shift
			default:
				w.stop = l.start
			}
		}
		if n < 0 {
			return
		}
		source = mark{end - shift + 1, there}
		w.state, w.at = here, end+1
	}
}

// tail returns what closes the fence that is open at the end, if one is.
func (w *walk) tail(r Rule) string {
	last := w.text[w.at:]
	after := w.state
	if last != "" {
		after, _ = w.state.step(w.text, w.at, len(w.text))
	}
	marker := after.fence.marker()
	if marker == "" || !r.affords(marker+"\n"+marker) {
		return ""
	}
	prefix := continuing(after.in)
	const longest = 256 // of a line that can still become the marker
	if w.state.fence.open() && len(last) <= longest {
		begun := min(len(last)-len(strings.TrimRight(last, marker[:1])), len(marker))
		for _, tail := range []string{marker[begun:], prefix + marker} {
			line := last + tail
			if _, l := w.state.step(line, 0, len(line)); l.kind == closer {
				return tail
			}
		}
	}
	return "\n" + prefix + marker
}
