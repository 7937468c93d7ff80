package webhook

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Render leaves text as it is, but for blank lines at its start and white space
// at its end. The indentation of its first line stays. Markup is the receiver's
// business, so plain changes nothing.
func (h *hook) Render(markdown string, _ bool) (text string, size int) {
	text = trimEnds(markdown)
	return text, utf8.RuneCountInString(text)
}

func trimEnds(s string) string {
	s = strings.TrimRightFunc(s, unicode.IsSpace)
	visible := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsSpace(r) })
	if visible < 0 {
		return ""
	}
	return s[strings.LastIndexByte(s[:visible], '\n')+1:]
}
