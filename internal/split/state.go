package split

import "strings"

// kind is what a line is within its quotes and lists.
type kind int

const (
	blank     kind = iota
	prose          // of a paragraph or of a list item
	heading        // also the line that makes one of the paragraph before it
	rule           // a thematic break
	indented       // code by its indentation
	opener         // of a fence
	body           // within a fence, blank or not
	closer         // of a fence
	separator      // under a table's header
	row            // of a table
)

// container is a quote or a list item that is open.
type container struct {
	quote bool
	// width is how many columns the content of an item is indented from its
	// parent's.
	width int
	// start is where the line begins that opened it.
	start int
}

// fence is a fence that is open; the zero value says that none is.
type fence struct {
	char byte
	size int
	// indent is how many columns its opener is indented within its containers.
	indent int
	// start is where the opener's line begins; text[info:infoEnd] is what
	// follows the marker.
	start, info, infoEnd int
}

func (f fence) open() bool     { return f.size > 0 }
func (f fence) marker() string { return strings.Repeat(string(rune(f.char)), f.size) }

// state is what is open at the beginning of a line. It refers to the text by
// offsets alone, and its slice is never written to, so it may be kept and
// copied.
type state struct {
	in    []container
	fence fence
	// para says that the line before may go on.
	para bool
	// bare says that the line before was the mark of a list item and nothing
	// else: a blank line ends that item.
	bare bool
	// head is where the line before begins, if it has cells and so may be the
	// header of a table.
	head, headCells int
	// text[tableStart:tableEnd] is the header of the table that is open and the
	// line under it; tableEnd is 0 if none is.
	tableStart, tableEnd int
}

// line is what a line was found to be.
type line struct {
	// The line is text[start:end] without its line end. at is where its content
	// begins, after the marks of its containers and its indentation.
	start, end, at int
	kind           kind
	indent         int
	// item and quote say that it opens a list item or a quote, more that it
	// goes on with the paragraph before, bare that a fence ended before it
	// without a marker.
	item, quote, more, bare bool
}

// step reads the line text[start:end], which has no line end, and returns what
// is open after it.
func (s state) step(text string, start, end int) (state, line) {
	c := cursor{text: text, pos: start, end: end}
	l := line{start: start, end: end}
	n := s.match(&c)
	if s.fence.open() {
		if n == len(s.in) {
			return s.inFence(&c, l)
		}
		s.fence, s.para, l.bare = fence{}, false, true
	}
	in, opened := s.openers(&c, &l, n)
	return s.leaf(&c, l, in, opened, n == len(s.in))
}

// match passes the marks of the containers that the line goes on with, and
// returns how many these are.
func (s state) match(c *cursor) int {
	for i, box := range s.in {
		width, at := c.indent()
		switch {
		case s.bare && i == len(s.in)-1 && at == c.end:
			return i
		case !box.quote && (at == c.end || width >= box.width):
			c.skip(box.width)
		case box.quote && width < 4 && at < c.end && c.text[at] == '>':
			c.mark(1)
			c.skip(1)
		default:
			return i
		}
	}
	return len(s.in)
}

func (s state) inFence(c *cursor, l line) (state, line) {
	l.indent, l.at = c.indent()
	l.kind = body
	n := run(c.text[l.at:c.end], s.fence.char)
	if l.indent < 4 && n >= s.fence.size && empty(c.text[l.at+n:c.end]) {
		l.kind = closer
		s.fence = fence{}
	}
	return s, l
}

// openers passes the marks of containers that the line opens after the n that it
// goes on with.
func (s state) openers(c *cursor, l *line, n int) (in []container, opened bool) {
	in = s.in[:n:n]
	for {
		l.indent, l.at = c.indent()
		rest := c.text[l.at:c.end]
		if rest == "" || l.indent >= 4 || isRule(rest) {
			return in, opened
		}
		if rest[0] == '>' {
			c.mark(1)
			c.skip(1)
			in = append(in, container{quote: true, start: l.start})
			l.quote, opened = true, true
			continue
		}
		size, first := bullet(rest)
		if size == 0 || !first && s.para && !opened && n == len(s.in) {
			return in, opened
		}
		c.mark(size)
		pad, at := c.indent()
		if at == c.end || pad > 4 {
			pad = 1
		}
		c.skip(pad)
		in = append(in, container{width: l.indent + size + pad, start: l.start})
		l.item, opened = true, true
	}
}

// leaf says what the rest of a line is. all says that the line goes on with all
// containers that were open.
func (s state) leaf(c *cursor, l line, in []container, opened, all bool) (state, line) {
	rest := c.text[l.at:c.end]
	more := s.para && !opened
	next := state{in: in}
	switch f, ok := opens(c.text, l); {
	case empty(rest):
		l.kind = blank
		if opened {
			l.kind = prose
			next.bare = l.item
		}
	case l.indent >= 4 && !more:
		l.kind = indented
	case ok:
		l.kind = opener
		next.fence = f
	case l.indent < 4 && isHeading(rest):
		l.kind = heading
	case l.indent < 4 && more && all && s.tableEnd == 0 && isUnderline(rest):
		l.kind = heading
	case l.indent < 4 && isRule(rest):
		l.kind = rule
	default:
		return s.paragraph(rest, l, next, more, all)
	}
	return next, l
}

// paragraph is the rest of leaf, for text of paragraphs and tables.
func (s state) paragraph(rest string, l line, next state, more, all bool) (state, line) {
	l.kind, l.more = prose, more
	next.para = true
	if more {
		// A paragraph may go on without the marks of its containers.
		next.in = s.in
	}
	n := cells(rest)
	switch {
	case more && all && s.tableEnd > 0 && n > 0:
		// A line without a bar is a row too by the rules, but nobody means one.
		l.kind = row
		next.tableStart, next.tableEnd = s.tableStart, s.tableEnd
	case more && all && s.headCells > 0 && n == s.headCells && isSeparator(rest):
		l.kind = separator
		next.tableStart, next.tableEnd = s.head, l.end+1
	case n > 0:
		next.head, next.headCells = l.start, n
	}
	return next, l
}

// opens reports whether the content of a line opens a fence.
func opens(text string, l line) (fence, bool) {
	rest := text[l.at:l.end]
	if l.indent >= 4 || rest == "" || rest[0] != '`' && rest[0] != '~' {
		return fence{}, false
	}
	f := fence{char: rest[0], size: run(rest, rest[0]), indent: l.indent, start: l.start}
	info := rest[f.size:]
	if f.size < 3 || f.char == '`' && strings.IndexByte(info, '`') >= 0 {
		return fence{}, false
	}
	trimmed := strings.Trim(info, " \t\r")
	f.info = l.at + f.size + strings.Index(info, trimmed)
	f.infoEnd = f.info + len(trimmed)
	return f, true
}
