package tool

import (
	"bytes"
	"unicode/utf8"
)

// tail keeps the end of a text, as much as is shown.
type tail struct {
	buf []byte
	// runes and breaks count the characters and line breaks of buf.
	runes, breaks int
	// cut says that something before buf is gone.
	cut bool
}

// add appends valid UTF-8.
func (t *tail) add(text []byte) {
	t.buf = append(t.buf, text...)
	t.runes += utf8.RuneCount(text)
	t.breaks += bytes.Count(text, []byte("\n"))
}

// over reports whether there is more than is shown.
func (t *tail) over() bool {
	return t.cut || t.runes > MaxShownRunes || t.lines() > MaxShownLines
}

// lines counts the lines of buf; one without a line break at the end is one.
func (t *tail) lines() int {
	if n := len(t.buf); n > 0 && t.buf[n-1] != '\n' {
		return t.breaks + 1
	}
	return t.breaks
}

// trim drops what won't be shown, once there is so much of it that it is worth
// the copying.
func (t *tail) trim() {
	if t.runes <= 2*MaxShownRunes && t.breaks <= 2*MaxShownLines {
		return
	}
	shown := t.shown()
	t.cut = true
	t.buf = append(t.buf[:0], shown...)
	t.runes = utf8.RuneCount(t.buf)
	t.breaks = bytes.Count(t.buf, []byte("\n"))
}

// shown returns the last MaxShownRunes characters of the last MaxShownLines
// lines.
func (t *tail) shown() []byte {
	from := 0
	for drop := t.runes - MaxShownRunes; drop > 0; drop-- {
		_, size := utf8.DecodeRune(t.buf[from:])
		from += size
	}
	shown := t.buf[from:]
	// The break at the very end ends the last line, it doesn't begin one.
	end := max(0, len(shown)-1)
	for range MaxShownLines {
		if end = bytes.LastIndexByte(shown[:end], '\n'); end < 0 {
			return shown
		}
	}
	return shown[end+1:]
}

// utf8Joiner makes valid UTF-8 of bytes that come in pieces: characters that a
// piece cuts are joined, and each byte that is part of none becomes U+FFFD.
type utf8Joiner struct {
	// cut is the beginning of a character whose rest has not come.
	cut []byte
	out []byte
}

// add returns the text that is complete with p. It is valid until the next
// call, or until p changes.
func (j *utf8Joiner) add(p []byte) []byte {
	data := p
	if len(j.cut) > 0 {
		data = append(j.cut, p...)
	}
	whole := len(data) - cutBytes(data)
	j.cut = bytes.Clone(data[whole:])
	data = data[:whole]
	if utf8.Valid(data) {
		return data
	}
	j.out = j.out[:0]
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		j.out = utf8.AppendRune(j.out, r)
		data = data[size:]
	}
	return j.out
}

// cutBytes returns how many bytes at the end of data are the beginning of a
// character.
func cutBytes(data []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if end := data[len(data)-n:]; utf8.RuneStart(end[0]) {
			if utf8.FullRune(end) {
				return 0
			}
			return n
		}
	}
	return 0
}

// rest returns what can't be completed any more.
func (j *utf8Joiner) rest() []byte {
	j.out = j.out[:0]
	for range j.cut {
		j.out = utf8.AppendRune(j.out, utf8.RuneError)
	}
	j.cut = nil
	return j.out
}
