package tool

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shown makes a reason out of text that holds a model's words: on one line,
// every character that can't be seen or that reorders text written as one that
// can, and cut with a note after MaxReasonRunes, which counts the note.
func shown(reason string) string {
	var b strings.Builder
	for _, r := range reason {
		b.WriteString(picture(r))
	}
	s := b.String()
	n := utf8.RuneCountInString(s)
	if n <= MaxReasonRunes {
		return s
	}
	const room = 40
	keep := MaxReasonRunes - room
	return string([]rune(s)[:keep]) + fmt.Sprintf("… [%s more]", countOf(int64(n-keep), "character"))
}

// picture writes a character so that it is seen: a line feed as ␊.
func picture(r rune) string {
	switch {
	case r < 0x20:
		return string('␀' + r)
	case r == 0x7f:
		return "␡"
	case r != ' ' && !unicode.IsPrint(r):
		return fmt.Sprintf("<U+%04X>", r)
	}
	return string(r)
}
