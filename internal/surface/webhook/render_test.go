package webhook

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestRenderTakesBlankEndsAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"nothing to take":         {"a\n\n  b", "a\n\n  b"},
		"blank lines at its ends": {"\n \t\n\nHi\n \n", "Hi"},
		"indentation of the first line is kept": {
			"\n\n    four\n\tone tab\n", "    four\n\tone tab"},
		"line ends of two characters": {"\r\n\r\n  a\r\nb\r\n", "  a\r\nb"},
		"white space beyond ASCII":    {"\u2003\n\u00a0a\u3000", "\u00a0a"},
		"markup stays":                {"**a** <b>&amp;</b> `c` ", "**a** <b>&amp;</b> `c`"},
		"blank":                       {" \n\t\n ", ""},
		"empty":                       {"", ""},
	} {
		for _, plain := range []bool{false, true} {
			text, size := (&hook{}).Render(c.in, plain)
			if text != c.want || size != utf8.RuneCountInString(c.want) {
				t.Errorf("%s: %q of size %d, not %q", name, text, size, c.want)
			}
		}
	}
}

func FuzzRender(f *testing.F) {
	for _, s := range []string{"", "\n\n a \n", "\r\n\tx\r\n", "日\n\n本 "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, size := (&hook{}).Render(s, false)
		at := strings.Index(s, text)
		if at < 0 || size != utf8.RuneCountInString(text) {
			t.Fatalf("%q became %q of size %d", s, text, size)
		}
		before := strings.TrimSuffix(s, text+s[at+len(text):])
		if strings.TrimFunc(before, unicode.IsSpace) != "" || before != "" && text != "" && !strings.HasSuffix(before, "\n") {
			t.Fatalf("%q was taken from the start of %q", before, s)
		}
		if again, _ := (&hook{}).Render(text, false); again != text {
			t.Fatalf("%q became %q and then %q", s, text, again)
		}
	})
}
