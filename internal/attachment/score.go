package attachment

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// leastShare is how many of the characters of a text must be everyday ones
	// of its language. By the wrong encoding some 5 % are, by the right one a
	// third and more.
	leastShare = 0.2
	// leastHits is the least number of these: one may be chance.
	leastHits = 2
)

func scoreChinese(text string) float64 { return share(text, everydayHan) }

func scoreKorean(text string) float64 { return share(text, everydayHangul) }

func scoreJapanese(text string) float64 {
	return share(text, func(r rune) bool { return kana(r) || everydayHan(r) })
}

func everydayHan(r rune) bool { return strings.ContainsRune(commonHan, r) }

func everydayHangul(r rune) bool { return strings.ContainsRune(commonHangul, r) }

func kana(r rune) bool {
	return 'ぁ' <= r && r <= 'ん' || 'ァ' <= r && r <= 'ー'
}

// share returns how many of the characters beyond ASCII are everyday ones, 0 if
// these are too few to judge by. Punctuation, which several encodings share, does
// not count. A character between two Latin letters is none of an East Asian
// text: there a word was taken apart.
func share(text string, everyday func(rune) bool) float64 {
	hits, all := 0, 0
	seen := map[rune]bool{}
	before := ' '
	for i, r := range text {
		if r >= utf8.RuneSelf && !punctuation(r) {
			after, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
			all++
			known, looked := seen[r]
			if !looked {
				known = everyday(r)
				seen[r] = known
			}
			if known && (!latin(before) || !latin(after)) {
				hits++
			}
		}
		before = r
	}
	if hits < leastHits || float64(hits) < leastShare*float64(all) {
		return 0
	}
	return float64(hits) / float64(all)
}

// punctuation reports whether r is a mark that East Asian texts have in common.
func punctuation(r rune) bool {
	return 0x3000 <= r && r <= 0x3011 || 0xff01 <= r && r <= 0xff5e || 0x2010 <= r && r <= 0x2026 || r == '·'
}

func latin(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// mostOdd is how many of the characters of a text in an alphabet may be out of
// place: one in 50.
const mostOdd = 50

// frequentCyrillic are the letters that make up two thirds of a Russian text and
// most of others.
const frequentCyrillic = "оеаинтсрвліОЕАИНТСРВЛІ"

// scoreCyrillic wants whole words of Cyrillic in the usual mix of letters, mostly
// small.
func scoreCyrillic(text string) float64 {
	all, small, frequent, odd := 0, 0, 0, 0
	before := ' '
	for _, r := range text {
		switch {
		case r >= utf8.RuneSelf && unicode.Is(unicode.Cyrillic, r):
			all++
			if unicode.IsLower(r) {
				small++
			}
			if strings.ContainsRune(frequentCyrillic, r) {
				frequent++
			}
			if latin(before) || unicode.IsLower(before) && unicode.IsUpper(r) {
				odd++
			}
		case r >= utf8.RuneSelf && !strings.ContainsRune("«»„“”‘’–—…№§©®°\u00a0", r):
			odd++
		}
		before = r
	}
	if all < 2*leastHits || mostOdd*odd > all || 2*small < all || 5*frequent < 2*all {
		return 0
	}
	return 1
}
