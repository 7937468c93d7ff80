package split

import (
	"strings"
	"testing"
)

// letters name the kinds of lines: Blank, Prose, Heading, Rule, Indented, Opener,
// Code, closEr, Separator, roW. Those that open a list item have it in front of
// them with a minus, those that open a quote with a greater-than sign.
const letters = "BPHRIOCESW"

func kinds(text string) string {
	var b strings.Builder
	var m mark
	for m.at < len(text) {
		end := len(text)
		if n := strings.IndexByte(text[m.at:], '\n'); n >= 0 {
			end = m.at + n
		}
		after, l := m.step(text, m.at, end)
		if l.item {
			b.WriteByte('-')
		}
		if l.quote {
			b.WriteByte('>')
		}
		b.WriteByte(letters[l.kind])
		m = mark{end + 1, after}
	}
	return b.String()
}

func TestKindsOfLines(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a paragraph", "a\nb\n\nc", "PPBP"},
		{"headings", "# a\n#b\n####### c\na\n===\nb\n---\n", "HPPPHPH"},
		{"lines across", "---\n***\n_ _ _\n--\n", "RRRP"},
		{"code by indentation", "    a\n\n    b\nc\n    d", "IBIPP"},
		{"fences", "```\na\n```\n~~~ py\n```\n~~~~\n", "OCEOCE"},
		{"a marker that is too short or has more behind it", "````\n```\n```` x\n````\n", "OCCE"},
		{"a code span is no fence", "``` a`b\nc", "PP"},
		{"a marker that is deep", "   ```\na\n    ```\n  ```\n", "OCCE"},
		{"a fence ends a paragraph", "a\n```\nb\n```\nc", "POCEP"},
		{"a list", "- a\n- b\n\n  c\nd\n\ne", "-P-PBPPBP"},
		{"a fence in a list", "1. a\n   ```\n   b\n\n   c\n   ```\n2. d", "-POCCCE-P"},
		{"a list item that ends its fence", "- ```\n  a\nb\n", "-OCP"},
		{"a marker outside of the item opens another fence", "- ```\n  a\n```\nb\n", "-OCOC"},
		{"a list in a list", "- a\n  - b\n    ```\n    c\n    ```\n  - d\n- e", "-P-POCE-P-P"},
		{"a fence after a tab", "-\ta\n\t```\n\tb\n\t```\n", "-POCE"},
		{"numbers in a paragraph", "in\n2024. It\n1. a\n", "PP-P"},
		{"an empty item ends with a blank line", "-\n\n     ```\n", "-PBI"},
		{"a quote", "> a\nb\n>\n> c\n\nd", ">PPBPBP"},
		{"a fence in a quote", "> ```\n> a\n> ```\n> b", ">OCEP"},
		{"a quote that ends its fence", "> ```\n> a\nb\n", ">OCP"},
		{"a table", "| a | b |\n|:--|--:|\n| 1 | 2 |\n\n| 3 |", "PSWBP"},
		{"a table without outer bars", "a | b\n--|--\nc | d\ne", "PSWP"},
		{"a table after words", "words\n| a |\n|---|\n| 1 |", "PPSW"},
		{"other numbers of cells make no table", "| a | b |\n|---|\n", "PP"},
		{"escaped bars are no cells", "a \\| b\n|---|\n", "PP"},
		{"line ends of two bytes", "```\r\na\r\n```\r\n\r\n- a\r\n\r\n  b\r\n", "OCEB-PBP"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := kinds(c.text); got != c.want {
				t.Errorf("%q is %s, not %s", c.text, got, c.want)
			}
		})
	}
}

func TestScannerReadsOldText(t *testing.T) {
	text := strings.Repeat("- a\n  ```\n  b\n  ```\n\n", 60)
	var s Scanner
	s.line(text, len(text))
	if len(s.past) < 3 || len(s.past) > len(text)/span+1 {
		t.Errorf("%d states are kept of %d bytes", len(s.past), len(text))
	}
	for at := range text {
		var fresh Scanner
		if got, want := s.line(text, at), fresh.line(text, at); got.at != want.at || got.fence != want.fence || len(got.in) != len(want.in) {
			t.Fatalf("at %d: %+v, not %+v", at, got, want)
		}
	}
}
