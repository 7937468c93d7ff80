package split

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Steady returns how far a text that still grows may be shown from from on: to
// the last white space if there is some in the last 48 bytes, so that no word is
// shown in two steps, else to where the last grapheme cluster begins, because it
// may still change. It is never in a line that may become the marker of a fence.
// A text that grows no more is shown whole.
func Steady(text string, from int) int {
	size := len(text)
	text = whole(text)
	if from >= len(text) {
		return min(from, size)
	}
	end := beforeMarker(text, from)
	if end == len(text) {
		// What is not shown yet may be why it is no marker.
		end = beforeMarker(text[:steady(text, from)], from)
	}
	return end
}

// steady is Steady without regard to fences.
func steady(text string, from int) int {
	const near = 48
	end := len(text)
	low := max(from, end-near)
	for low < end && !utf8.RuneStart(text[low]) {
		low++
	}
	i := strings.LastIndexFunc(text[low:end], unicode.IsSpace)
	if i < 0 {
		return boundary(text, from, end)
	}
	i += low
	if after := i + cluster(text[i:end]); after < end || text[i] == '\n' {
		return after
	}
	// What comes next may still join the blank.
	return boundary(text, from, end)
}

// beforeMarker returns the end of a text, or where its last line begins if that
// can still become the marker of a fence.
func beforeMarker(text string, from int) int {
	start := from + strings.LastIndexByte(text[from:], '\n') + 1
	if start == from && from > 0 && text[from-1] != '\n' {
		return len(text) // The line begins before from, in a piece that is done.
	}
	line := text[start:]
	for {
		line = strings.TrimLeft(line, " \t>")
		size, _ := bullet(line)
		if size == 0 {
			break
		}
		line = line[size:]
	}
	if line == "" || line[0] != '`' && line[0] != '~' {
		return len(text)
	}
	n := run(line, line[0])
	if n == len(line) || n >= 3 && (line[0] == '~' || strings.IndexByte(line[n:], '`') < 0) {
		return start
	}
	return len(text)
}
