package attachment

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// alphabets are the letters beyond ASCII that one language uses. The encodings of
// Eastern Europe take the same bytes for other letters; a text in one of them
// mixes letters here that no language has together.
func alphabets() []string {
	return []string{
		"àâæçéèêëîïôœùûüÿ", // French
		"äöüßé",            // German
		"áéíóúüñ",          // Spanish
		"áàâãçéêíóôõúü",    // Portuguese
		"àèéìíîòóùú",       // Italian
		"àçéèíïóòúü",       // Catalan
		"åäöéü",            // Swedish, Finnish
		"æøåéèêòóôü",       // Danish, Norwegian
		"áéëïíóöúüèê",      // Dutch
		"áéíóúýþæöð",       // Icelandic
	}
}

// scoreWestern wants Latin words in the letters of one language, and marks where
// these stand in a text.
func scoreWestern(text string) float64 {
	letters := map[rune]int{}
	odd, all := 0, 0
	word := wordShape{}
	before := ' '
	for i, r := range text {
		after, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
		switch {
		case westernLetter(r) || latin(r):
			word.add(r)
			if r >= utf8.RuneSelf {
				all++
				letters[unicode.ToLower(r)]++
			}
		default:
			odd += word.end()
			if r >= utf8.RuneSelf {
				all++
				if !inPlace(before, r, after) {
					odd++
				}
			}
		}
		before = r
	}
	odd += word.end() + foreign(letters)
	if all == 0 || mostOdd*odd > all {
		return 0
	}
	return 1
}

func westernLetter(r rune) bool {
	return 'À' <= r && r <= 'ÿ' && r != '×' && r != '÷' || r == 'œ' || r == 'Œ' || r == 'Ÿ'
}

// foreign returns how many of the letters are not of the language that has the
// most of them.
func foreign(letters map[rune]int) int {
	least := -1
	for _, alphabet := range alphabets() {
		n := 0
		for r, count := range letters {
			if !strings.ContainsRune(alphabet, r) {
				n += count
			}
		}
		if least < 0 || n < least {
			least = n
		}
	}
	return least
}

// wordShape counts what a word consists of.
type wordShape struct {
	ascii, other int
	// turned counts capital letters beyond ASCII that follow a small letter.
	turned int
	last   rune
}

func (w *wordShape) add(r rune) {
	if latin(r) {
		w.ascii++
	} else {
		w.other++
		if unicode.IsUpper(r) && unicode.IsLower(w.last) {
			w.turned++
		}
	}
	w.last = r
}

// end returns how many letters of the word are out of place, and begins another.
func (w *wordShape) end() int {
	odd := w.turned
	if w.other > 1 && w.other > 2*w.ascii {
		odd = w.other
	}
	*w = wordShape{}
	return odd
}

// inPlace reports whether a mark stands where it does in Western texts.
func inPlace(before, r, after rune) bool {
	left, right := unicode.IsLetter(before), unicode.IsLetter(after)
	switch r {
	case '’', '—', '«', '»', '\u00a0', '\u00ad', '€', '·', '•', '†', '‡', '©', '®', '™':
		return true
	case '“', '”', '–', '…', '°', '÷', '×':
		return !left || !right
	case '‘', '„', '‚', '¿', '¡', '§', '¼', '½', '¾', 'µ':
		return !left
	case '²', '³', '¹', 'ª', 'º', '‰', '£', '¢', '¥', '›':
		return !right
	case '±', '‹':
		return !left && !right
	}
	return false
}
