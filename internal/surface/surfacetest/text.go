package surfacetest

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"verbatim/internal/surface"
)

// words returns the words of a text with a space between; blanks are nobody's
// words.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

func short(text string) string {
	if utf8.RuneCountInString(text) <= 40 {
		return text
	}
	return string([]rune(text)[:40]) + "…"
}

// numbered returns a text of exactly n characters of ASCII without markup, whose
// words are all different: "a0 a1 a2 …", filled up with letters.
func numbered(n int) string {
	var b strings.Builder
	for i := 0; ; i++ {
		word := fmt.Sprintf("a%d ", i)
		if b.Len()+len(word) > n {
			break
		}
		b.WriteString(word)
	}
	text := strings.TrimSuffix(b.String(), " ")
	return text + strings.Repeat("x", n-len(text))
}

// count returns the length of a text in a unit. Of graphemes it knows single
// characters only.
func count(text string, unit surface.Unit) int {
	switch unit {
	case surface.Bytes:
		return len(text)
	case surface.UTF16:
		return len(utf16.Encode([]rune(text)))
	case surface.CodePoints, surface.Graphemes:
		return utf8.RuneCountInString(text)
	default:
		return -1
	}
}

// filled returns as many of a character as fit into n units.
func filled(character string, n int, unit surface.Unit) string {
	return strings.Repeat(character, n/count(character, unit))
}

// samples are texts with everything in them that a renderer meets.
var samples = []string{
	"one",
	"  indented\n\n\nand **bold**, _italic_, ~~gone~~, `code`",
	"# Head\n\n1. one\n2. two\n   - three\n\n> quote\n\n---\n",
	"```go\nfunc main() { fmt.Println(\"<b>&amp;\") }\n```",
	"```\nnever closed",
	"| a | b |\n|---|---|\n| 1 | 2 |\n",
	"[link](https://example.org/a_b?c=d&e=f) ![picture](https://example.org/p.png) <i>raw</i> &copy; \\*",
	"**never closed _and_ `neither",
	"日本語の文章と😀と👩‍💻とé",
	"@**all** @here <!channel> @everyone #general",
	"a\tb\r\nc\u00a0d\u200be",
}
