package split

import (
	"cmp"
	"slices"
	"strings"
)

// How good a place is to end a piece; more is better.
const (
	atGuard    = 10 // before a word that needs a guard
	atSpace    = 20
	atSentence = 30
	atLine     = 40
	atRow      = 50 // of a table, or a blank line in code
	atBlock    = 60 // a paragraph, a list item, a heading, a fence
)

// place is where a piece may end.
type place struct{ at, rank int }

// placed is a line in its surroundings. Of blank lines only the first and the
// last of a piece are.
type placed struct {
	line
	in []container
	// gap says that a blank line is before it.
	gap bool
	// table and fence are where those begin that it is in, or -1. paragraph is
	// where the paragraph begins that it is in.
	table, fence, paragraph int
}

// places looks for the end of a piece. Everything is in the text of its view,
// which ends a little behind limit, up to which the piece fits.
type places struct {
	*view
	// fit is where the piece surely may end, if nothing is better.
	fit, limit int
	// first is where the first visible character ends: the piece can't end
	// before.
	first int
	lines []placed
	units []unit
}

func newPlaces(v *view, limit int) *places {
	p := &places{view: v, fit: limit, limit: limit}
	start := visibleStart(v.text, v.from, len(v.text))
	p.first = start + cluster(v.text[start:])
	p.read()
	p.settle()
	return p
}

// read goes through the lines of the piece.
func (p *places) read() {
	m, gap := p.begin, false
	for m.at < len(p.text) {
		end := len(p.text)
		if n := strings.IndexByte(p.text[m.at:], '\n'); n >= 0 {
			end = m.at + n
		}
		next, l := m.step(p.text, m.at, end)
		empty := l.kind == blank || l.kind == body && empty(p.text[l.at:end])
		if !empty || len(p.lines) == 0 || end == len(p.text) {
			p.add(placed{line: l, in: next.in, gap: gap, table: -1, fence: -1, paragraph: l.start}, m.state, next)
		}
		gap = empty
		m = mark{end + 1, next}
	}
	p.findUnits()
}

func (p *places) add(l placed, before, after state) {
	n := len(p.lines)
	switch l.kind {
	case row, separator:
		l.table = after.tableStart
		if l.kind == separator && n > 0 {
			p.lines[n-1].table = after.tableStart
		}
	case opener:
		l.fence = l.start
	case body, closer:
		l.fence = before.fence.start
	case prose, heading, blank, rule, indented:
		if l.more && n > 0 {
			l.paragraph = p.lines[n-1].paragraph
		}
	}
	p.lines = append(p.lines, l)
}

// findUnits collects the units of all paragraphs. Those that the piece begins
// with can't be kept whole any more and don't count.
func (p *places) findUnits() {
	for i, l := range p.lines {
		last := i == len(p.lines)-1
		if l.kind != prose && l.kind != heading || !last && p.lines[i+1].paragraph == l.paragraph {
			continue
		}
		start := max(p.from, l.paragraph)
		if l.paragraph == l.start {
			start = max(start, l.at)
		}
		for _, u := range units(p.text, start, l.end, last) {
			if u.start >= p.first {
				p.units = append(p.units, u)
			}
		}
	}
}

// settle moves the limit before what begins in the piece and would be cut.
func (p *places) settle() {
	for moved := true; moved; {
		moved = false
		for _, u := range p.units {
			if u.within(p.start(p.limit)) {
				p.limit, moved = u.start, true
			}
		}
	}
	p.limit = p.whole(p.start(p.limit))
	p.units = slices.DeleteFunc(p.units, func(u unit) bool { return u.end > p.limit })
}

// start returns where the next piece begins if this one ends in front of at or
// in blanks around it.
func (p *places) start(at int) int {
	return afterBlanks(p.text, visibleEnd(p.text, p.from, at))
}

// lineOf returns the line that a place is in.
func (p *places) lineOf(at int) placed {
	i, _ := slices.BinarySearchFunc(p.lines, at+1, func(l placed, at int) int { return cmp.Compare(l.start, at) })
	return p.lines[max(0, i-1)]
}

// whole returns the place before the list item, table, row or marker that a cut
// at at would be in, if the piece has something before it. Nothing of the text
// behind is known, so it may turn out to be too long for one piece.
func (p *places) whole(at int) int {
	l, best := p.lineOf(at), at
	before := func(start int) {
		if start >= p.first && start < best {
			best = start
		}
	}
	inside := at > l.start
	half := p.from + (at-p.from)/2
	if inside && (l.kind == opener || l.kind == closer || at <= l.at) {
		before(l.start)
	}
	if inside && p.isRow(l) {
		before(l.start)
	}
	if l.table >= 0 && (inside || l.table < l.start) {
		before(l.table)
	}
	if l.fence >= half && (inside || l.fence < l.start) {
		before(l.fence)
	}
	before(p.item(l, at, half))
	return best
}

// isRow reports whether a line is, or looks like, a row of a table.
func (p *places) isRow(l placed) bool {
	return l.table >= 0 || l.kind == prose && strings.HasPrefix(p.text[l.at:l.end], "|")
}

// item returns where the list item begins that a cut at at is in: the outermost
// one that leaves half of the piece, or else the innermost. It is -1 if there is
// none.
func (p *places) item(l placed, at, half int) int {
	inner := -1
	for _, c := range l.in {
		if c.quote || c.start >= at {
			continue
		}
		if c.start >= max(half, p.first) {
			return c.start
		}
		inner = c.start
	}
	return inner
}

// best returns the best place.
func (p *places) best() int {
	size := p.limit - p.from
	quarter, half := p.limit-size/4, p.limit-size/2
	l := p.lineOf(p.limit)
	lines := p.lineEnds()
	words := p.words(l, half)
	rows := quarter
	switch {
	case l.table >= 0:
		rows = p.from
	case l.kind == body:
		rows = half
	}
	for _, try := range []struct {
		places []place
		low    int
	}{{lines, quarter}, {lines, rows}, {append(words, lines...), quarter}, {words, half}} {
		if at, ok := p.pick(try.places, try.low); ok {
			return p.withHeading(at, half)
		}
	}
	return p.anywhere()
}

// withHeading moves a place behind a heading before it: it belongs to what
// follows.
func (p *places) withHeading(at, half int) int {
	for i := len(p.lines) - 1; i > 0; i-- {
		before := p.lines[i-1]
		if p.lines[i].start == at && before.kind == heading && before.paragraph >= max(half, p.first) && p.fits(before.paragraph) {
			at = before.paragraph
		}
	}
	return at
}

// pick returns the best of some places that are not before low; of equal ones the
// last.
func (p *places) pick(from []place, low int) (int, bool) {
	from = slices.DeleteFunc(slices.Clone(from), func(c place) bool { return c.at < low || c.rank == 0 })
	slices.SortFunc(from, func(a, b place) int { return cmp.Or(b.rank-a.rank, b.at-a.at) })
	const tries = 16 // Measure finds them too long only in odd cases
	for _, c := range from[:min(len(from), tries)] {
		if p.fits(c.at) {
			return c.at, true
		}
	}
	return 0, false
}

// anywhere returns the last place between two grapheme clusters, or else between
// two code points.
func (p *places) anywhere() int {
	var all []place
	for at := p.from; at < p.limit; {
		at += cluster(p.text[at:])
		inside := slices.ContainsFunc(p.units, func(u unit) bool { return u.within(at) })
		if at >= p.first && at <= p.limit && !inside {
			all = append(all, place{p.start(at), 1})
		}
	}
	if at, ok := p.pick(all, p.from); ok {
		return at
	}
	return p.inside(p.fit)
}
