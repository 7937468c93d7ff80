package split

import "strings"

// unit is a part of a paragraph that is better not cut.
type unit struct{ start, end int }

// within reports whether a cut at at would be inside.
func (u unit) within(at int) bool { return u.start < at && at < u.end }

const (
	// longestOpen bounds how far back a code span or a link may have begun that
	// has not ended, and how long an address is.
	longestOpen = 2048
	// longestEmphasis bounds the bold and struck text that is kept in one.
	longestEmphasis = 128
)

// inline finds the units of a paragraph.
type inline struct {
	text  string // up to the end of the paragraph
	at    int
	open  bool // the paragraph may go on behind text
	units []unit
	// brackets and emphasis are what has begun: where it begins, or where it
	// was with which marker.
	brackets []int
	emphasis map[string]int
}

// units returns the code spans, links and short emphasis of the paragraph
// text[start:end]. With open set what has not ended by then is a unit too, which
// ends behind it.
func units(text string, start, end int, open bool) []unit {
	p := inline{text: text[:end], at: start, open: open, emphasis: map[string]int{}}
	for p.at < end {
		p.next()
	}
	if open {
		for _, at := range p.brackets {
			p.unended(at, longestOpen)
		}
		for _, at := range p.emphasis {
			p.unended(at, longestEmphasis)
		}
	}
	return p.units
}

// unended notes what begins at start and has not ended.
func (p *inline) unended(start, longest int) {
	if p.open && len(p.text)-start <= longest {
		p.units = append(p.units, unit{start, len(p.text) + 1})
	}
}

func (p *inline) next() {
	rest := p.text[p.at:]
	switch rest[0] {
	case '\\':
		p.at = min(p.at+2, len(p.text))
	case '`':
		p.code(run(rest, '`'))
	case '<':
		p.autolink()
	case '[':
		start := p.at
		if start > 0 && p.text[start-1] == '!' {
			start--
		}
		p.brackets = append(p.brackets, start)
		p.at++
	case ']':
		p.at++
		p.link()
	case '*', '~', '_':
		p.emphasise(run(rest, rest[0]))
	default:
		p.at++
	}
}

// near is the text that is looked at for the end of what begins at start.
func (p *inline) near(start int) string {
	return p.text[start:min(len(p.text), start+longestOpen)]
}

// code passes a code span that begins with so many backticks, or these alone.
func (p *inline) code(size int) {
	start := p.at
	p.at += size
	for i := p.at; i < len(p.text); {
		n := strings.IndexByte(p.text[i:], '`')
		if n < 0 {
			break
		}
		i += n
		if n = run(p.text[i:], '`'); n == size {
			p.units = append(p.units, unit{start, i + n})
			p.at = i + n
			return
		}
		i += n
	}
	p.unended(start, longestOpen)
}

// autolink passes an address in angle brackets.
func (p *inline) autolink() {
	start := p.at
	p.at++
	n := strings.IndexAny(p.near(start), "> \t\n")
	switch {
	case n < 0:
		p.unended(start, longestOpen)
	case p.text[start+n] == '>':
		p.at = start + n + 1
		p.units = append(p.units, unit{start, p.at})
	}
}

// link looks at what follows the end of a bracket.
func (p *inline) link() {
	n := len(p.brackets)
	if n == 0 {
		return
	}
	start := p.brackets[n-1]
	p.brackets = p.brackets[:n-1]
	if p.at == len(p.text) {
		p.unended(start, longestOpen)
		return
	}
	end := 0
	switch p.text[p.at] {
	case '(':
		end = p.destination()
	case '[':
		if n := strings.IndexByte(p.text[p.at:], ']'); n >= 0 {
			end = p.at + n + 1
		}
	default:
		return
	}
	if end == 0 {
		p.unended(start, longestOpen)
		return
	}
	p.units = append(p.units, unit{start, end})
	p.at = end
}

// destination returns where the round brackets end that begin here, 0 if they
// don't.
func (p *inline) destination() int {
	depth := 0
	near := p.near(p.at)
	for i := 0; i < len(near); i++ {
		switch near[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return p.at + i + 1
			}
		}
	}
	return 0
}

// emphasise passes so many marks of emphasis; two of them begin or end a unit.
func (p *inline) emphasise(size int) {
	start := p.at
	p.at += size
	if size != 2 {
		return
	}
	marker := p.text[start:p.at]
	begun, ok := p.emphasis[marker]
	if !ok {
		p.emphasis[marker] = start
		return
	}
	delete(p.emphasis, marker)
	if p.at-begun <= longestEmphasis {
		p.units = append(p.units, unit{begun, p.at})
	}
}
