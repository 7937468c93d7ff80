package search

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// boundary reports whether a text may be cut at an offset: between two
// characters that do not make one to the eye. It follows the rules of extended
// grapheme clusters, but for the few characters that are written before the
// one they belong to.
func boundary(text string, at int) bool {
	if at <= 0 || at >= len(text) {
		return true
	}
	if !utf8.RuneStart(text[at]) {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at:])
	switch {
	case before == '\r' && after == '\n':
		return false
	case unicode.IsControl(before) || unicode.IsControl(after):
		return true
	case extends(after):
		return false
	case before == zeroWidthJoiner && !unicode.IsSpace(after):
		return false
	case virama(before) && unicode.Is(unicode.Lo, after):
		return false
	case flag(before) && flag(after):
		return flagsBefore(text[:at])%2 == 0
	}
	return !hangulJoins(before, after)
}

const zeroWidthJoiner = 0x200D

// extends reports whether a character is part of the one before it.
func extends(r rune) bool {
	switch {
	case r < 0x0300:
		return false
	case r == zeroWidthJoiner, r == 0x200C, r == 0x0E33, r == 0x0EB3, r == 0xFF9E, r == 0xFF9F:
		return true
	case r >= 0x1F3FB && r <= 0x1F3FF, r >= 0xE0020 && r <= 0xE007F:
		return true // skin tones, and the letters of flags of regions
	}
	return unicode.Is(unicode.M, r)
}

// virama reports whether a mark joins the consonants before and after it.
func virama(r rune) bool {
	const ccc = 9
	return unicode.Is(unicode.M, r) && norm.NFD.PropertiesString(string(r)).CCC() == ccc
}

func flag(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }

// flagsBefore counts the regional letters at the end of a text; two make a flag.
func flagsBefore(text string) int {
	n := 0
	for {
		r, size := utf8.DecodeLastRuneInString(text)
		if !flag(r) {
			return n
		}
		n++
		text = text[:len(text)-size]
	}
}

// hangulJoins reports whether two parts of Hangul make one syllable.
func hangulJoins(before, after rune) bool {
	leading := func(r rune) bool { return r >= 0x1100 && r < 0x1160 || r >= 0xA960 && r < 0xA97D }
	vowel := func(r rune) bool { return r >= 0x1160 && r < 0x11A8 || r >= 0xD7B0 && r < 0xD7C7 }
	final := func(r rune) bool { return r >= 0x11A8 && r < 0x1200 || r >= 0xD7CB && r < 0xD7FC }
	syllable := func(r rune) bool { return r >= 0xAC00 && r <= 0xD7A3 }
	switch {
	case leading(before):
		return leading(after) || vowel(after) || syllable(after)
	case vowel(before), syllable(before):
		return vowel(after) && (vowel(before) || (before-0xAC00)%28 == 0) || final(after)
	case final(before):
		return final(after)
	}
	return false
}
