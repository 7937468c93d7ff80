package split

import (
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Visible counts the characters of a text that a reader sees: grapheme clusters
// that are not made of white space, control and format characters alone. It
// stops at most.
func Visible(text string, most int) int {
	n := 0
	for text != "" && n < most {
		size := cluster(text)
		if !isBlank(text[:size]) {
			n++
		}
		text = text[size:]
	}
	return n
}

// cluster returns how many bytes the first grapheme cluster of a text has.
func cluster(text string) int {
	if len(text) < 2 || text[0] < utf8.RuneSelf && text[1] < utf8.RuneSelf && text[0] != '\r' {
		return min(len(text), 1)
	}
	first, _, _, _ := uniseg.FirstGraphemeClusterInString(text, -1)
	return len(first)
}

func isBlank(text string) bool {
	for _, r := range text {
		if !blankRune(r) {
			return false
		}
	}
	return true
}

// blankRune reports whether a character alone shows nothing.
func blankRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r <= ' ' || r == 0x7F
	}
	const brailleBlank = 0x2800
	return r == brailleBlank || unicode.In(r, unicode.White_Space, unicode.Cc, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) ||
		unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// visibleEnd returns where the last visible character of text[from:to] ends, from
// if there is none.
func visibleEnd(text string, from, to int) int {
	at := to
	for at > from {
		r, size := utf8.DecodeLastRuneInString(text[from:at])
		if !blankRune(r) {
			if at == to || text[at] < utf8.RuneSelf {
				return at
			}
			// A joiner or a selector that follows belongs to it.
			start := at - size
			return start + cluster(text[start:to])
		}
		at -= size
	}
	return from
}

// visibleStart returns where the first character of text[from:to] that shows
// something begins, to if there is none.
func visibleStart(text string, from, to int) int {
	for i, r := range text[from:to] {
		if !blankRune(r) {
			return from + i
		}
	}
	return to
}

// afterBlanks returns where a piece that begins after text[:at] should begin:
// after the blanks that follow, but with the indentation of its first line.
func afterBlanks(text string, at int) int {
	i := at
	for i < len(text) {
		size := cluster(text[i:])
		if !isBlank(text[i : i+size]) {
			break
		}
		i += size
		if text[i-1] == '\n' {
			at = i
		}
	}
	if at > 0 && text[at-1] == '\n' {
		return at
	}
	return i
}

// whole returns text without an unfinished UTF-8 sequence at its end.
func whole(text string) string {
	for i := len(text) - 1; i >= 0 && i >= len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRuneInString(text[i:]) {
				return text[:i]
			}
			break
		}
	}
	return text
}

// boundary returns the last place in text[from:at] at which a grapheme cluster
// begins, whatever may follow at; from if there is none after it.
func boundary(text string, from, at int) int {
	text = text[:at]
	i := restart(text, from)
	for i < at {
		size := cluster(text[i:])
		if i+size >= at {
			break
		}
		i += size
	}
	return i
}

// restart returns a place near the end of a text at which a cluster surely
// begins: from, or one between two characters that join no other, with at least
// one more after it.
func restart(text string, from int) int {
	_, size := utf8.DecodeLastRuneInString(text)
	at := len(text) - size
	r, size := utf8.DecodeLastRuneInString(text[:at])
	for at-size > from {
		at -= size
		var before rune
		before, size = utf8.DecodeLastRuneInString(text[:at])
		if joinsNone(r) && joinsNone(before) {
			return at
		}
		r = before
	}
	return from
}

// joinsNone reports whether a character is one of the usual ones that never are
// of one cluster with another of them.
func joinsNone(r rune) bool {
	switch {
	case r < 0x300:
		return r >= ' ' || r == '\n' || r == '\t'
	case r < 0x530: // Greek, Cyrillic
		return r >= 0x370 && (r < 0x483 || r > 0x489)
	case r < 0x3100: // CJK punctuation, kana
		return r >= 0x3001 && r < 0x302A || r >= 0x3041 && r <= 0x3096 || r >= 0x30A1
	}
	return r >= 0x4E00 && r <= 0x9FFF
}
