package split

import "strings"

// guard is put before words that would be taken for the beginning of a list, a
// heading or another block only because a piece begins with them. It is a
// zero-width space, which shows nothing.
const guard = "\u200b"

// head returns the markers that the piece begins with when it ends at to.
func (v *view) head(to int) string {
	if !v.rule.Markers {
		return ""
	}
	end := to
	if n := strings.IndexByte(v.text[v.from:to], '\n'); n >= 0 {
		end = v.from + n
	}
	after, l := v.begin.step(v.text, v.begin.at, end)
	within := v.from > v.begin.at
	switch {
	case v.begin.fence.open() && !l.bare && (l.kind == body || !within):
		return v.reopen(v.begin.fence, v.begin.in, within, true)
	case within && l.kind == opener:
		// What is left of the words after the marker is shown as code.
		return v.reopen(after.fence, after.in, within, false)
	case l.kind == row:
		head := v.text[after.tableStart:after.tableEnd]
		if within {
			head += continuing(after.in)
		}
		return v.afford(head, head)
	}
	return v.begun(after, l, end, within)
}

// reopen returns a head that opens a fence again, with what its opener said if
// there is room for that.
func (v *view) reopen(f fence, in []container, within, info bool) string {
	marker := f.marker()
	open, more := opening(in, f.indent)+marker, continuing(in)
	tail := "\n" + more + marker
	if !within {
		more = ""
	}
	if info && f.infoEnd > f.info {
		rest := v.text[f.info:f.infoEnd]
		if rest[0] == f.char {
			rest = " " + rest
		}
		head := open + rest + "\n" + more
		if v.afford(head, head+tail) != "" {
			return head
		}
	}
	head := open + "\n" + more
	return v.afford(head, head+tail)
}

// afford returns a head, or none if the markers would take too much of a piece.
func (v *view) afford(head, markers string) string {
	if !v.rule.affords(markers) {
		return ""
	}
	return head
}

// begun returns the head of a piece that begins outside of fences and tables
// with the line l, or within it.
func (v *view) begun(after state, l line, end int, within bool) string {
	if !within {
		head := v.nest(after, l, end)
		return v.afford(head, head)
	}
	head := strings.Repeat("> ", quotes(after.in))
	first := head + v.text[v.from:end]
	alone, as := state{}.step(first, 0, len(first))
	if as.kind != blank && (as.kind != prose || as.item || len(alone.in) > quotes(after.in)) {
		head += guard
	}
	return v.afford(head, head)
}

func quotes(in []container) int {
	n := 0
	for _, c := range in {
		if c.quote {
			n++
		}
	}
	return n
}

// nest returns a head for a line that would be taken for code because of its
// indentation: list items for one that is deep in a list.
func (v *view) nest(after state, l line, end int) string {
	own := v.text[v.from:end]
	if _, alone := (state{}).step(own, 0, len(own)); alone.kind != indented || l.kind == indented {
		return ""
	}
	head := ""
	width := 0
	for _, c := range after.in {
		switch {
		case c.start == l.start:
			// The line itself opens it.
		case c.quote:
			head += bare(width) + "> "
			width = 0
		default:
			width += c.width
		}
	}
	head = strings.TrimRight(head+bare(width), " ")
	inside, _ := state{}.step(head, 0, len(head))
	if _, as := inside.step(own, 0, len(own)); head != "" && as.kind != indented {
		return head + "\n"
	}
	if l.kind == prose && !l.item {
		return guard
	}
	return ""
}

// bare returns marks of list items without words. What follows them and is so
// many columns deep is in the last one, and not so deep that it is code.
func bare(width int) string {
	s := ""
	for i := 0; width > 3; i++ {
		// A row of equal marks would be a line across.
		s += string("-*"[i%2]) + " "
		width -= 2
	}
	return s
}

// continuing returns what a line within containers begins with.
func continuing(in []container) string {
	var b strings.Builder
	for _, c := range in {
		if c.quote {
			b.WriteString("> ")
		} else {
			b.WriteString(strings.Repeat(" ", c.width))
		}
	}
	return b.String()
}

// opening returns what a line begins with that opens a fence within containers,
// so that the lines that follow in the source are within it. List items that are
// no more than three columns deep need no more than their indentation; deeper
// ones need items to be in.
func opening(in []container, indent int) string {
	var b strings.Builder
	for i := 0; ; i++ {
		first, width := i, 0
		for ; i < len(in) && !in[i].quote; i++ {
			width += in[i].width
		}
		if i == len(in) {
			width += indent
		}
		if width < 4 {
			b.WriteString(strings.Repeat(" ", width))
		} else {
			for _, c := range in[first:i] {
				b.WriteString(items(c.width))
			}
		}
		if i == len(in) {
			return b.String()
		}
		b.WriteString("> ")
	}
}

// items returns marks of list items whose content is so many columns deep.
func items(width int) string {
	const widest = 5 // of one mark: more blanks would begin code
	s := ""
	for ; width > widest; width -= 2 {
		s += "- "
	}
	return s + "-" + strings.Repeat(" ", width-1)
}
