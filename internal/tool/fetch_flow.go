package tool

import (
	"strings"
	"unicode"
)

// flow composes text as a page shows it: white space runs together, and what
// stands between two pieces of text is the most that was asked for.
type flow struct {
	b strings.Builder
	// lines and space are what comes before the next text.
	lines int
	space bool
	// prefix begins the next text: that of a list item or heading.
	prefix string
	// link says that a link was begun.
	link bool
}

// text adds text in which white space of any kind and length is one space.
func (f *flow) text(s string) {
	for s != "" {
		i := strings.IndexFunc(s, unicode.IsSpace)
		if i < 0 {
			i = len(s)
		}
		if i > 0 {
			f.put(s[:i])
			s = s[i:]
			continue
		}
		f.space = true
		s = strings.TrimLeftFunc(s, unicode.IsSpace)
	}
}

// raw adds text as it is, but for the line end that a block may begin with.
func (f *flow) raw(s string) {
	if f.lines > 0 {
		s = strings.TrimPrefix(s, "\n")
	}
	if s != "" {
		f.put(s)
	}
}

// open begins a link in front of the text that comes next, unless it was begun,
// and returns that text without the white space that stands before the link.
func (f *flow) open(next string) string {
	if f.link {
		return next
	}
	first := strings.TrimLeftFunc(next, unicode.IsSpace)
	f.space = f.space || len(first) < len(next)
	f.put("[")
	f.link = true
	return first
}

// shut ends a link that was begun.
func (f *flow) shut(s string) {
	if f.link {
		f.b.WriteString(s)
	}
	f.link = false
}

// block ends what stands on a line of its own, with so many line ends; none for
// 0. A block at the very beginning of another is one with it.
func (f *flow) block(lines int) {
	if f.prefix == "" {
		f.lines = max(f.lines, lines)
	}
}

// newline ends a line within a block.
func (f *flow) newline() { f.lines = min(f.lines+1, 2) }

func (f *flow) put(s string) {
	switch {
	case f.b.Len() == 0:
	case f.lines > 0:
		f.b.WriteString(strings.Repeat("\n", f.lines))
	case f.space:
		f.b.WriteByte(' ')
	}
	f.b.WriteString(f.prefix)
	f.b.WriteString(s)
	f.lines, f.space, f.prefix = 0, false, ""
}

// end returns the whole, with a line end behind it.
func (f *flow) end() string {
	if f.b.Len() > 0 {
		f.b.WriteByte('\n')
	}
	return f.b.String()
}
