package term

import "unicode/utf8"

// Control characters, those from 0x80 on as code points (their UTF-8 form is
// two bytes; single bytes of that value never reach a terminal).
const (
	bel = 0x07
	can = 0x18
	sub = 0x1a
	esc = 0x1b
	del = 0x7f
	dcs = 0x90
	sos = 0x98
	csi = 0x9b
	st  = 0x9c
	osc = 0x9d
	pm  = 0x9e
	apc = 0x9f
)

// step moves by one character and appends it if it may be printed.
func (f *Filter) step(dst []byte, r rune) []byte {
	if r == can || r == sub {
		f.state = plain
		return dst
	}
	switch f.state {
	case escape:
		return f.inEscape(dst, r)
	case escapeMore:
		return f.inEscapeMore(dst, r)
	case control:
		return f.inControl(dst, r)
	case text, textEscape:
		return f.inText(dst, r)
	default:
		return f.inPlain(dst, r)
	}
}

func (f *Filter) inPlain(dst []byte, r rune) []byte {
	returned := f.returned
	f.returned = r == '\r'
	switch {
	case r == '\r':
		return append(dst, '\n')
	case r == '\n' && returned:
		return dst
	case r == '\n' || r == '\t':
		return append(dst, byte(r))
	case r == esc:
		f.state = escape
		return dst
	case isC1(r):
		f.open(r)
		return dst
	case r < 0x20 || r == del:
		return dst
	default:
		return utf8.AppendRune(dst, r)
	}
}

// open enters the sequence that a control character from 0x80 on begins.
func (f *Filter) open(r rune) {
	switch r {
	case csi:
		f.state = control
	case osc, dcs, sos, pm, apc:
		f.state = text
	default:
		f.state = plain
	}
}

// inEscape is right after ESC: [ ] P X ^ _ are the same openings as above in
// seven bits, a character up to / announces another, the rest is a sequence of
// two.
func (f *Filter) inEscape(dst []byte, r rune) []byte {
	switch {
	case r == esc:
		return dst
	case r >= '@' && r <= '_':
		f.open(r + 0x40)
		return dst
	case r >= 0x20 && r <= '/':
		f.state = escapeMore
		return dst
	case r >= '`' && r <= '~', r >= '0' && r <= '?':
		f.state = plain
		return dst
	default:
		return f.broken(dst, r)
	}
}

func (f *Filter) inEscapeMore(dst []byte, r rune) []byte {
	switch {
	case r >= 0x20 && r <= '/':
		return dst
	case r >= '0' && r <= '~':
		f.state = plain
		return dst
	default:
		return f.broken(dst, r)
	}
}

// inControl is inside a CSI sequence: parameters and intermediates, then one
// final character.
func (f *Filter) inControl(dst []byte, r rune) []byte {
	switch {
	case r >= 0x20 && r <= '?':
		return dst
	case r >= '@' && r <= '~':
		f.state = plain
		return dst
	default:
		return f.broken(dst, r)
	}
}

// inText is inside a string: it ends at its terminator, or with its line.
func (f *Filter) inText(dst []byte, r rune) []byte {
	afterEscape := f.state == textEscape
	switch {
	case r == bel || r == st || afterEscape && r == '\\':
		f.state = plain
		return dst
	case r == '\n' || r == '\r':
		return f.broken(dst, r)
	case afterEscape:
		// ESC ends a string whatever follows; it begins a sequence of its own.
		f.state = escape
		return f.inEscape(dst, r)
	case r == esc:
		f.state = textEscape
		return dst
	default:
		return dst
	}
}

// broken ends a sequence at a character that can't be part of it; the character
// itself is text, or begins another sequence.
func (f *Filter) broken(dst []byte, r rune) []byte {
	f.state = plain
	return f.inPlain(dst, r)
}

func isC1(r rune) bool { return r >= 0x80 && r <= 0x9f }
