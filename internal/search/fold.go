package search

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// class is what a character is to a word.
type class uint8

const (
	// apart ends a word and is in none: spaces, punctuation, symbols.
	apart class = iota
	// letter is part of a word of a script that puts spaces between words.
	letter
	// single is a character of a script that does not; it is a term by itself.
	single
	// accent belongs to the character before it and is folded away.
	accent
	// joins makes one character with the one before it, such as the sound
	// mark of か゚.
	joins
)

// folded is what a character is after folding: its class, and the characters
// that stand for it: none for apart and accent, one for single and joins.
type folded struct {
	class class
	text  string
}

// tableSize covers the alphabets; what is above is looked up by range or
// folded each time it is met.
const tableSize = 0x2000

// table holds the folding of the first characters, made when the first text is
// folded.
var table = sync.OnceValue(func() *[tableSize]folded {
	var t [tableSize]folded
	for r := range rune(tableSize) {
		t[r] = foldSlowly(r)
	}
	return &t
})

// unspaced reports whether a script writes words without spaces between them.
// Korean has spaces, but its endings are written without any.
func unspaced(r rune) bool {
	switch {
	case r < 0x0E00:
		return false
	case r < 0x0F00: // Thai, Lao
		return true
	case r < 0x1000:
		return false
	case r < 0x10A0: // Myanmar
		return true
	case r < 0x1100:
		return false
	case r < 0x1200: // Hangul letters
		return true
	case r < 0x1780:
		return false
	case r < 0x1800: // Khmer
		return true
	case r < 0x2E80:
		return false
	case r < 0xA4D0: // Han, kana, bopomofo, compatible Hangul, Yi
		return true
	}
	return r >= 0xA960 && r < 0xA980 || r >= 0xAC00 && r < 0xD800 || r >= 0xF900 && r < 0xFB00 || r >= 0x20000
}

// itself reports whether a character above the table is a single one that is
// folded to itself: most of what is written in Chinese, Japanese and Korean.
func itself(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0xAC00 && r <= 0xD7A3 || r >= 0x3400 && r <= 0x4DBF ||
		r >= 0x3041 && r <= 0x3096 || r >= 0x30A1 && r <= 0x30FA
}

// foldSlowly folds a character as Unicode describes it.
func foldSlowly(r rune) folded {
	if joining(r) {
		return folded{joins, norm.NFKD.String(string(r))}
	}
	if isAccent(r) {
		return folded{class: accent}
	}
	if !unicode.In(r, unicode.L, unicode.N, unicode.M) {
		return folded{class: apart}
	}
	var b strings.Builder
	for _, part := range norm.NFKD.String(string(r)) {
		if !isAccent(part) && unicode.In(part, unicode.L, unicode.N, unicode.M) {
			b.WriteString(plain(part))
		}
	}
	// Decomposed kana and Hangul are put together again: their marks are not
	// accents.
	text := norm.NFC.String(b.String())
	first, size := utf8.DecodeRuneInString(text)
	switch {
	case text == "":
		return folded{class: apart}
	case !unspaced(first):
		return folded{letter, text}
	case size < len(text):
		// A single one stays one, such as ヿ.
		return folded{single, string(r)}
	}
	return folded{single, text}
}

// plain returns a letter in lower case, and without a stroke or ligature that
// Unicode does not take apart. All forms of the Turkish i are one.
func plain(r rune) string {
	switch r {
	case 'ß', 'ẞ':
		return "ss"
	case 'æ', 'Æ':
		return "ae"
	case 'œ', 'Œ':
		return "oe"
	case 'ø', 'Ø':
		return "o"
	case 'ł', 'Ł':
		return "l"
	case 'đ', 'Đ':
		return "d"
	case 'ħ', 'Ħ':
		return "h"
	case 'ŧ', 'Ŧ':
		return "t"
	case 'ı':
		return "i"
	case 'և':
		return "եւ"
	}
	return string(unicode.ToLower(unicode.ToUpper(r)))
}

// isAccent reports whether a mark is one that people leave out when they type:
// accents of Latin, Greek and Cyrillic, the points of Hebrew, the vowel signs of
// Arabic. The vowel signs of other scripts are as good as letters.
func isAccent(r rune) bool {
	if r < 0x0300 || !unicode.In(r, unicode.Mn, unicode.Me) || joining(r) {
		return false
	}
	return unicode.In(r, unicode.Inherited, unicode.Hebrew, unicode.Arabic, unicode.Cyrillic)
}

// joining reports whether a character makes one with the one before it: the
// sound marks of kana, and Hangul vowels and finals written by themselves.
func joining(r rune) bool {
	switch {
	case r == 0x3099 || r == 0x309A || r == 0xFF9E || r == 0xFF9F:
		return true
	case r >= 0x1160 && r <= 0x11FF:
		return true
	}
	return false
}
