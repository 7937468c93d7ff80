// Package term makes text that others wrote safe to print in a terminal.
//
// Guarantee: what comes out holds no control character but line feed and tab,
// and no byte that is not UTF-8; so nothing in it can move the cursor, paint
// over what stands there, set the title or the clipboard, or switch the
// terminal's mode. All visible text stays, in order, however it is cut into
// pieces. Not promised: that plain words tell the truth.
package term

import (
	"unicode/utf8"
)

// Filter removes control sequences from a text that comes in pieces. The zero
// value is ready. Not for use by several goroutines at once.
//
// An escape sequence goes as a whole, with its payload. One that carries a
// string (a title, a clipboard) and is never closed ends with its line, so it
// can't swallow the rest of an answer. A carriage return begins a new line
// instead of painting over the last one. Bytes that are not UTF-8 become U+FFFD.
type Filter struct {
	state state
	// returned is set right after a carriage return: a line feed that
	// follows belongs to it.
	returned bool
	// part holds the first bytes of a character that is not complete yet.
	part  [utf8.UTFMax]byte
	partN int
}

type state uint8

const (
	plain      state = iota
	escape           // after ESC
	escapeMore       // after ESC and intermediate characters
	control          // inside a CSI sequence
	text             // inside a sequence that carries a string
	textEscape       // in such a string, after ESC: a backslash would end it
)

// Append appends what may be printed of src to dst. The last bytes of src are
// kept for the next call when they are the beginning of a character.
func (f *Filter) Append(dst []byte, src string) []byte {
	for f.partN > 0 && src != "" {
		var ok bool
		if dst, src, ok = f.complete(dst, src); !ok {
			return dst
		}
	}
	for len(src) > 0 {
		if c := src[0]; c < utf8.RuneSelf {
			dst = f.step(dst, rune(c))
			src = src[1:]
			continue
		}
		r, n := utf8.DecodeRuneInString(src)
		if r == utf8.RuneError && n == 1 && !fullRune(src) {
			f.partN = copy(f.part[:], src)
			return dst
		}
		dst = f.step(dst, r)
		src = src[n:]
	}
	return dst
}

// Flush ends the text: a character that was never completed becomes U+FFFD and
// an open sequence is forgotten. The filter can be used for another text then.
func (f *Filter) Flush(dst []byte) []byte {
	if f.partN > 0 {
		dst = f.step(dst, utf8.RuneError)
	}
	*f = Filter{}
	return dst
}

// complete feeds src into the character that is held. ok is false when there
// is still not enough.
func (f *Filter) complete(dst []byte, src string) (out []byte, rest string, ok bool) {
	buf := append(f.part[:f.partN:f.partN], src[:min(len(src), utf8.UTFMax-f.partN)]...)
	if !utf8.FullRune(buf) {
		f.partN = copy(f.part[:], buf)
		return dst, "", false
	}
	r, n := utf8.DecodeRune(buf)
	if taken := n - f.partN; taken >= 0 {
		f.partN = 0
		return f.step(dst, r), src[taken:], true
	}
	// The held bytes turned out to be no character: the first of them is
	// replaced, the others are looked at again.
	f.partN = copy(f.part[:], f.part[n:f.partN])
	return f.step(dst, r), src, true
}

func fullRune(s string) bool { return utf8.FullRuneInString(s) }

// Clean returns what may be printed of a whole text.
func Clean(s string) string {
	var f Filter
	return string(f.Flush(f.Append(make([]byte, 0, len(s)), s)))
}

// Line is Clean for a text that has to stay on one line: a line break becomes a
// space.
func Line(s string) string {
	b := []byte(Clean(s))
	for i, c := range b {
		if c == '\n' || c == '\t' {
			b[i] = ' '
		}
	}
	return string(b)
}
