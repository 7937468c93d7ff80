package split

import "strings"

// cursor reads the beginning of a line in columns, where a tab reaches to the
// next multiple of four.
type cursor struct {
	text     string
	pos, end int
	col      int
	// part is how many columns are left of the tab at pos, if some were used.
	part int
}

// indent returns how many columns of blanks follow, and where they end.
func (c *cursor) indent() (width, at int) {
	at, col := c.pos, c.col
	if c.part > 0 {
		width, col = c.part, col+c.part
		at++
	}
	for ; at < c.end; at++ {
		w := 1
		switch c.text[at] {
		case ' ':
		case '\t':
			w = 4 - col%4
		case '\r':
			w = 0
		default:
			return width, at
		}
		width, col = width+w, col+w
	}
	return width, at
}

// skip passes so many columns of blanks.
func (c *cursor) skip(columns int) {
	for columns > 0 && c.pos < c.end {
		if c.part == 0 {
			switch c.text[c.pos] {
			case ' ':
				c.part = 1
			case '\t':
				c.part = 4 - c.col%4
			case '\r':
				c.pos++
				continue
			default:
				return
			}
		}
		n := min(c.part, columns)
		c.part, c.col, columns = c.part-n, c.col+n, columns-n
		if c.part == 0 {
			c.pos++
		}
	}
}

// mark passes blanks and then a marker of so many bytes.
func (c *cursor) mark(size int) {
	width, at := c.indent()
	c.col += width + size
	c.pos, c.part = at+size, 0
}

// run counts how often a byte stands at the beginning of a text.
func run(text string, char byte) int {
	n := 0
	for n < len(text) && text[n] == char {
		n++
	}
	return n
}

// empty reports whether nothing but blanks is left of a line.
func empty(text string) bool { return strings.Trim(text, " \t\r") == "" }

// digits counts the digits at the beginning of a text.
func digits(text string) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

// bullet returns how many bytes the list marker at the beginning of a text has,
// 0 if there is none. first reports whether a list that begins with it may
// follow a paragraph without a blank line.
func bullet(text string) (size int, first bool) {
	n := digits(text)
	switch {
	case text == "":
		return 0, false
	case n == 0 && strings.IndexByte("-+*", text[0]) >= 0:
		size, first = 1, true
	case n > 0 && n <= 9 && n < len(text) && (text[n] == '.' || text[n] == ')'):
		size, first = n+1, text[:n] == "1"
	default:
		return 0, false
	}
	rest := text[size:]
	if rest != "" && rest[0] != ' ' && rest[0] != '\t' && rest[0] != '\r' {
		return 0, false
	}
	return size, first && !empty(rest)
}

// isRule reports whether a line is a thematic break.
func isRule(text string) bool {
	if text == "" || strings.IndexByte("*-_", text[0]) < 0 {
		return false
	}
	n := strings.Count(text, text[:1])
	return n >= 3 && empty(strings.ReplaceAll(text, text[:1], ""))
}

// isUnderline reports whether a line makes a heading of the paragraph before it.
func isUnderline(text string) bool {
	if text == "" || text[0] != '=' && text[0] != '-' {
		return false
	}
	return empty(text[run(text, text[0]):])
}

// isHeading reports whether a line is a heading by its number signs.
func isHeading(text string) bool {
	n := run(text, '#')
	return n >= 1 && n <= 6 && (n == len(text) || strings.IndexByte(" \t\r", text[n]) >= 0)
}

// longestRow bounds what may be a row of a table, and so the work for very long
// lines.
const longestRow = 8 << 10

// cells returns how many cells a row of a table has, 0 if the line has no bar.
func cells(text string) int {
	if len(text) > longestRow || strings.IndexByte(text, '|') < 0 {
		return 0
	}
	text = strings.Trim(text, " \t\r")
	n, bars, last := 1, 0, -1
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '|':
			bars++
			n++
			last = i
		}
	}
	if bars == 0 {
		return 0
	}
	if text[0] == '|' {
		n--
	}
	if last == len(text)-1 && last > 0 {
		n--
	}
	return n
}

// isSeparator reports whether a line can be the one under a table's header.
func isSeparator(text string) bool {
	text = strings.Trim(text, " \t\r")
	if strings.IndexByte(text, '|') < 0 {
		return false
	}
	text = strings.TrimSuffix(strings.TrimPrefix(text, "|"), "|")
	for cell := range strings.SplitSeq(text, "|") {
		cell = strings.Trim(cell, " \t")
		cell = strings.TrimSuffix(strings.TrimPrefix(cell, ":"), ":")
		if cell == "" || run(cell, '-') != len(cell) {
			return false
		}
	}
	return true
}
