package split_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"verbatim/internal/split"
)

func TestSteady(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"a word that goes on", "Hello wor", "Hello "},
		{"a space that may get an accent", "Hello ", "Hello"},
		{"a space with an accent", "Hello \u0301x", "Hello \u0301"},
		{"a line that has ended", "Hello\n", "Hello\n"},
		{"half a line end", "Hello\r", "Hello"},
		{"no space at all", "你好世界", "你好世"},
		{"a space that is far away", "a " + strings.Repeat("z", 48), "a " + strings.Repeat("z", 47)},
		{"a space that is not", "a " + strings.Repeat("z", 47), "a "},
		{"an accent to come", strings.Repeat("z", 60) + "e", strings.Repeat("z", 60)},
		{"a family to come", strings.Repeat("家", 20) + "👩\u200d", strings.Repeat("家", 20)},
		{"half a flag", strings.Repeat("家", 20) + "🇩🇪🇫", strings.Repeat("家", 20) + "🇩🇪"},
		{"half a character", "Hello w\xf0\x9f", "Hello "},
		{"one backtick", "a\n`", "a\n"},
		{"a marker", "a\n```", "a\n"},
		{"a marker with half a language", "a\n```p", "a\n"},
		{"a marker that is done", "a\n```py\n", "a\n```py\n"},
		{"a marker in a list", "a\n- ```py", "a\n"},
		{"a marker in a quote", "> a\n>  ~~~", "> a\n"},
		{"a code span at a line's beginning", "a\n`b c", "a\n`b "},
		{"a code span of three", "a\n``` b``` c", "a\n``` b``` "},
		{"a marker at the very beginning", "``", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.text[:split.Steady(c.text, 0)]; got != c.want {
				t.Errorf("%q is shown of %q, not %q", got, c.text, c.want)
			}
		})
	}
}

func TestSteadyBeginsAtThePiece(t *testing.T) {
	text := "some words ```py"
	if got := split.Steady(text, 11); got != len(text)-1 {
		t.Errorf("a piece that begins within a line is shown to %d", got)
	}
	if got := split.Steady("some words", 7); got != 9 {
		t.Errorf("white space before the piece counts: %d", got)
	}
	if got := split.Steady("some", 9); got != 4 {
		t.Errorf("a beginning behind the end gives %d", got)
	}
}

// What is shown early is cut where no text that follows could join the characters
// before and after, and is never the beginning of a marker.
func FuzzSteady(f *testing.F) {
	f.Add("Hello wor", "ld", uint8(0))
	f.Add("你好e", "\u0301x", uint8(3))
	f.Add("a\r", "\n", uint8(0))
	f.Add("a\n``", "`py\nx", uint8(1))
	f.Add("🇩🇪🇫", "🇷 👩\u200d💻", uint8(0))
	f.Add(" \u0600", "1", uint8(0))
	f.Fuzz(func(t *testing.T, text, more string, from uint8) {
		start := min(int(from), len(text))
		end := split.Steady(text, start)
		if end < start || end > len(text) {
			t.Fatalf("from %d of %d bytes to %d", start, len(text), end)
		}
		if !utf8.ValidString(text) || !utf8.ValidString(more) || start > 0 {
			return
		}
		if !boundaryOf(text+more, end) {
			t.Errorf("%q followed by %q is cut within a character: %q", text, more, text[:end])
		}
		line := text[strings.LastIndexByte(text[:end], '\n')+1 : end]
		if line != "" && (strings.Trim(line, "`") == "" || strings.Trim(line, "~") == "") {
			t.Errorf("of %q the beginning of a marker is shown: %q", text, line)
		}
	})
}

func boundaryOf(text string, at int) bool {
	g := uniseg.NewGraphemes(text)
	for g.Next() {
		if start, _ := g.Positions(); start >= at {
			return start == at
		}
	}
	return at == len(text)
}

func TestParagraph(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"none", "words", ""},
		{"a line", "words\n", ""},
		{"a paragraph", "words\n\n", "words\n\n"},
		{"two", "words\n\nwords\n  \t\nwo", "words\n\nwords\n  \t\n"},
		{"half a blank line", "words\n  ", ""},
		{"a blank line in code", "words\n\n```\na\n\nb\n\n", "words\n\n"},
		{"code that has ended", "```\na\n\nb\n```\n\nw", "```\na\n\nb\n```\n\n"},
		{"code in a list that ended with it", "- ```\n  a\n\nwords\n\nx", "- ```\n  a\n\nwords\n\n"},
		{"a table that goes on", "| a |\n|---|\n| b |\n", ""},
		{"a table that has ended", "| a |\n|---|\n| b |\n\nw", "| a |\n|---|\n| b |\n\n"},
		{"line ends of two", "words\r\n\r\nw", "words\r\n\r\n"},
		{"blank lines before the first word", "\n\n\nwords", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.text[:split.Paragraph(c.text, 0)]; got != c.want {
				t.Errorf("of %q %q is done, not %q", c.text, got, c.want)
			}
		})
	}
	if got := split.Paragraph("a\n\nb\n\nc", 3); got != 6 {
		t.Errorf("the second paragraph ends at %d", got)
	}
	if got := split.Paragraph("a\n\n\nb", 3); got != 3 {
		t.Errorf("blank lines alone are a paragraph that ends at %d", got)
	}
}

func TestVisible(t *testing.T) {
	for _, c := range []struct {
		text       string
		most, want int
	}{
		{"", 9, 0},
		{" \n\t\u00a0\u3000\u2800", 9, 0},
		{"\u200b\u200d\ufeff\u00ad\ufe0f\u3164\x00", 9, 0},
		{" a b ", 9, 2},
		{"👩‍💻🇩🇪e\u0301", 9, 3},
		{"abcdef", 4, 4},
		{"\xff", 9, 1},
		{"\u0600", 9, 1},
	} {
		if got := split.Visible(c.text, c.most); got != c.want {
			t.Errorf("%q has %d visible characters up to %d, not %d", c.text, got, c.most, c.want)
		}
	}
}
