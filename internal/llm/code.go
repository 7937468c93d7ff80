package llm

// codeTracker follows Markdown's code spans and fences through a text, byte by
// byte. It looks only backwards, so it takes a span that is never closed for
// code up to the end of its paragraph.
type codeTracker struct {
	// span is the number of backticks that opened the span we are in.
	span int
	// fence is the length of the fence that we are in, of fenceMark.
	fence     int
	fenceMark byte
	// info: on the opening line of the fence. closing: the line has been a
	// closing fence so far.
	info, closing bool

	// run counts the backticks or tildes just before; runAt is what the
	// line held before them.
	run     int
	runMark byte
	runAt   lineHead

	head lineHead
	// text: the line has something that is not white space.
	text    bool
	escaped bool
}

// lineHead is what a line consists of so far.
type lineHead uint8

const (
	headBlank  lineHead = iota // white space and quote marks
	headMarker                 // these and what list markers are made of
	headText                   // other things
)

// inside reports whether the next byte is code. It holds after settle.
func (c *codeTracker) inside() bool { return c.fence > 0 || c.span > 0 }

// idle reports whether ordinary bytes would change nothing.
func (c *codeTracker) idle() bool {
	return c.head == headText && c.text && c.run == 0 && !c.closing && !c.escaped
}

// ordinary reports whether b begins neither a tag nor anything of code.
func ordinary(b byte) bool {
	switch b {
	case '<', '`', '~', '\\', '\n':
		return false
	}
	return true
}

func (c *codeTracker) step(b byte) {
	if c.run > 0 {
		if b == c.runMark {
			c.run++
			return
		}
		c.settle()
	}
	switch {
	case b == '\n':
		c.newline()
	case c.fence > 0:
		c.stepFence(b)
	default:
		c.stepText(b)
	}
}

func (c *codeTracker) newline() {
	switch {
	case c.fence > 0 && c.closing:
		c.fence = 0
	case c.fence == 0 && !c.text:
		c.span = 0 // a span does not outlive its paragraph
	}
	c.info, c.closing, c.escaped, c.text = false, false, false, false
	c.head = headBlank
}

func (c *codeTracker) stepFence(b byte) {
	switch {
	case b == c.fenceMark && c.head == headBlank:
		c.begin(b)
	case b == '`' && c.info && c.fenceMark == '`':
		// The first line of a fence has no backticks: it was a span.
		c.span, c.fence, c.info = c.fence, 0, false
		c.begin(b)
	default:
		c.closing = c.closing && blank(b)
		c.advance(b)
	}
}

func (c *codeTracker) stepText(b byte) {
	switch {
	case c.escaped:
		c.escaped = false
		c.advance(b)
	case b == '\\' && c.span == 0:
		c.escaped = true
		c.advance(b)
	case b == '`', b == '~' && c.head != headText:
		c.begin(b)
	default:
		c.advance(b)
	}
}

func (c *codeTracker) begin(mark byte) {
	c.run, c.runMark, c.runAt, c.text = 1, mark, c.head, true
}

// settle takes the run of marks, if there is one, as complete.
func (c *codeTracker) settle() {
	n := c.run
	if n == 0 {
		return
	}
	c.run, c.head = 0, headText
	switch {
	case c.fence > 0:
		c.closing = n >= c.fence
	case c.span > 0 && c.runMark == '`' && n == c.span:
		c.span = 0
	case c.runAt != headText && n >= 3:
		c.span, c.fence, c.fenceMark, c.info = 0, n, c.runMark, true
	case c.span == 0 && c.runMark == '`':
		c.span = n
	}
}

func (c *codeTracker) advance(b byte) {
	c.text = c.text || !blank(b)
	switch {
	case blank(b), b == '>':
	case b == '-', b == '*', b == '+', b == '.', b == ')', '0' <= b && b <= '9':
		c.head = max(c.head, headMarker)
	default:
		c.head = headText
	}
}

func blank(b byte) bool { return b == ' ' || b == '\t' || b == '\r' }
