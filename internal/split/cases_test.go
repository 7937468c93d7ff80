package split_test

import (
	"html"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/split"
)

// shown cuts a closed text, checks what holds of any, and returns its pieces as
// they are shown.
func shown(t *testing.T, r split.Rule, text string) []string {
	t.Helper()
	ends := cutAll(t, r, text)
	checkClusters(t, r, text, ends)
	var pieces []string
	from := 0
	for _, to := range ends {
		checkPiece(t, r, text, from, to)
		pieces = append(pieces, r.Display(text, from, to).Text)
		from = to
	}
	return pieces
}

// grown checks that the text comes to the same pieces when it grows.
func grown(t *testing.T, r split.Rule, text string, step int) {
	t.Helper()
	checkGrowth(t, r, text, func() int { return step })
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("pieces (-want +got):\n%s", d)
	}
}

func utf16Units(s string) int { return len(utf16.Encode([]rune(s))) }

func TestD1EachUnitIsCountedAsThePlatformCounts(t *testing.T) {
	text := strings.Repeat("😀", 5000)
	for _, c := range []struct {
		name    string
		measure func(string) int
		full    int // characters of a full piece
	}{
		{"UTF-16", utf16Units, 2048},
		{"code points", utf8.RuneCountInString, 4096},
		{"bytes", nil, 1024},
	} {
		t.Run(c.name, func(t *testing.T) {
			pieces := shown(t, split.Rule{Max: 4096, Measure: c.measure, Markers: true}, text)
			if strings.Join(pieces, "") != text {
				t.Error("the pieces are not the text")
			}
			for i, p := range pieces[:len(pieces)-1] {
				if n := utf8.RuneCountInString(p); n != c.full {
					t.Errorf("piece %d has %d characters, not %d", i, n, c.full)
				}
			}
		})
	}
}

func TestD2NoCharacterIsCutInBytes(t *testing.T) {
	r := split.Rule{Max: 10, Markers: true}
	want(t, shown(t, r, "aaaaaaaa😀b"), "aaaaaaaa", "😀b")
	want(t, shown(t, r, "aaaaaaa😀b"), "aaaaaaa", "😀b")
	want(t, shown(t, r, strings.Repeat("x", 25)), strings.Repeat("x", 10), strings.Repeat("x", 10), "xxxxx")
}

func TestD3ClustersGoWholeToTheNextPiece(t *testing.T) {
	r := split.Rule{Max: 9, Measure: utf8.RuneCountInString, Markers: true}
	want(t, shown(t, r, "aaaaaaa👩‍💻b"), "aaaaaaa", "👩‍💻b")
	want(t, shown(t, r, "aaaaaaaa🇩🇪🇫🇷b"), "aaaaaaaa", "🇩🇪🇫🇷b")
	want(t, shown(t, r, "aaaaaaaae\u0301b"), "aaaaaaaa", "e\u0301b")
	want(t, shown(t, r, "aaaaaaaa👍🏽b"), "aaaaaaaa", "👍🏽b")
	long := "a" + strings.Repeat("\u0301", 20)
	pieces := shown(t, r, "bb"+long+"c")
	if pieces[0] != "bb" || strings.Join(pieces, "") != "bb"+long+"c" {
		t.Errorf("a cluster that is too long alone is cut into %q", pieces)
	}
}

func TestD4CodeGoesOnAsCode(t *testing.T) {
	var text strings.Builder
	text.WriteString("```py\n")
	for i := range 300 {
		text.WriteString("line_" + strings.Repeat("i", i%7) + " = f(i)\n")
	}
	text.WriteString("```")
	pieces := shown(t, split.Rule{Max: 2000, Markers: true}, text.String())
	if len(pieces) < 3 {
		t.Fatalf("only %d pieces", len(pieces))
	}
	for i, p := range pieces {
		if !strings.HasPrefix(p, "```py\nline_") || !strings.HasSuffix(p, ")\n```") || strings.Count(p, "```") != 2 {
			t.Errorf("piece %d is no block of code: %q", i, p)
		}
	}
}

func TestD5RoomIsKeptForMarkers(t *testing.T) {
	info := strings.Repeat("i", 1500)
	pieces := shown(t, split.Rule{Max: 2000, Markers: true}, "```"+info+"\n"+strings.Repeat("z", 3000)+"\n```")
	for i, p := range pieces {
		begin := "```\nz"
		if i == 0 {
			begin = "```" + info + "\nz"
		}
		if !strings.HasPrefix(p, begin) || !strings.HasSuffix(p, "z\n```") {
			t.Errorf("piece %d begins with %.10q and ends with %q", i, p, p[len(p)-5:])
		}
	}
	text := "```\n" + strings.Repeat("z", 1891) + "\n```"
	r := split.Rule{Max: 1900, Markers: true}
	want(t, shown(t, r, text), text)
	grown(t, r, text, 1)
	if to, sealed := r.Cut(text[:len(text)-2], 0, false); sealed || to != len(text)-2 {
		t.Errorf("while its end is written the block is cut at %d, sealed: %v", to, sealed)
	}
}

func TestD6TablesGoOnAsTables(t *testing.T) {
	head := "| name        | value        |\n|-------------|--------------|\n"
	line := "| abcdefghijk | 123456789012 |\n"
	r := split.Rule{Max: 200, Markers: true}
	text := head + strings.Repeat(line, 20) + "\nDone.\n"
	pieces := shown(t, r, text)
	for i, p := range pieces {
		if !strings.HasPrefix(p, head+line) {
			t.Errorf("piece %d is no table: %q", i, p)
		}
	}
	grown(t, r, text, 7)
	t.Run("a table that fits is kept whole", func(t *testing.T) {
		want(t, shown(t, r, strings.Repeat("Some words. ", 8)+"\n\n"+head+line+line+"\nDone.\n"),
			strings.Repeat("Some words. ", 8)+"\n\n", head+line+line+"\nDone.\n")
	})
	t.Run("words right under it are not cut off by its header", func(t *testing.T) {
		want(t, shown(t, r, head+strings.Repeat(line, 4)+"Words under the table."),
			head+strings.Repeat(line, 4), "Words under the table.")
	})
	t.Run("a header that is too long is not repeated", func(t *testing.T) {
		pieces := shown(t, split.Rule{Max: 110, Markers: true}, head+strings.Repeat(line, 6))
		want(t, pieces, head+line, line+line+line, line+line)
	})
}

func TestD8UnfinishedCharactersWait(t *testing.T) {
	text := "你好🌍"
	r := split.Rule{Max: 100, Markers: true}
	for n := range len(text) {
		steady := split.Steady(text[:n], 0)
		to, sealed := r.Cut(text[:n], 0, false)
		if sealed || !utf8.ValidString(text[:to]) || !utf8.ValidString(text[:steady]) || steady > to {
			t.Errorf("of %d bytes %d are shown, and the piece has %d", n, steady, to)
		}
	}
	if to, _ := r.Cut(text[:5], 0, true); to != 5 {
		t.Errorf("a text that ends within a character has a piece of %d bytes", to)
	}
}

func TestExactlyTheLimit(t *testing.T) {
	r := split.Rule{Max: 12, Markers: true}
	want(t, shown(t, r, "twelve bytes"), "twelve bytes")
	want(t, shown(t, r, "twelve bytes\n\n"), "twelve bytes")
	want(t, shown(t, r, "twelve bytes!"), "twelve ", "bytes!")
	want(t, shown(t, r, "twelve bytes\n\nand more"), "twelve bytes", "and more")
	want(t, shown(t, r, "\n\n  twelve byte"), "\n\n  twelve ", "byte")
}

// The limits that no platform has: every piece still has something to see and is
// no longer than it may be, unless it is one code point.
func TestTinyLimits(t *testing.T) {
	text := "Hi, `a b`:\n\n```go\nx := \"é\"\n```\n\n| a | b |\n|---|---|\n| 1 | 👩‍💻 |\n\n> q\n> - r 😀"
	for most := 1; most <= 8; most++ {
		for _, measure := range measures {
			r := split.Rule{Max: most, Measure: measure, Markers: true}
			shown(t, r, text)
			grown(t, r, text, 1)
		}
	}
	if to, sealed := (split.Rule{Max: -1}).Cut("ab", 0, true); to != 1 || !sealed {
		t.Errorf("a limit below 1 gives a piece of %d bytes", to)
	}
}

func TestInflation(t *testing.T) {
	escaped := func(s string) int { return len(html.EscapeString(s)) }
	r := split.Rule{Max: 100, Measure: escaped, Markers: true}
	pieces := shown(t, r, strings.Repeat("a < b && c > d. ", 40))
	for _, p := range pieces[:len(pieces)-1] {
		if n := escaped(p); n < 75 {
			t.Errorf("%q fills only %d", p, n)
		}
	}
	grown(t, r, strings.Repeat("a < b && c > d. ", 20), 5)
}

// A piece that was refused is cut again from its own beginning, never from the
// first one.
func TestPiecesDontDependOnOthers(t *testing.T) {
	text := strings.Repeat("Some words, and then some. ", 40)
	r := split.Rule{Max: 100, Markers: true}
	ends := cutAll(t, r, text)
	for i, from := range ends[:len(ends)-1] {
		if to, _ := r.Cut(text, from, true); to != ends[i+1] {
			t.Errorf("the piece from %d ends at %d, then at %d", from, ends[i+1], to)
		}
	}
}

func TestProseEndsAtWhiteSpaceInTheLastQuarter(t *testing.T) {
	words := strings.Fields("a piece ends where some word or line or paragraph does, never in extraordinarily long ones; see: antidisestablishmentarianism! And? Yes.")
	var b strings.Builder
	for i := range 800 {
		b.WriteString(words[i*i%len(words)])
		b.WriteString([]string{" ", " ", " ", "\n", "  "}[i*7%5])
	}
	for most := 40; most < 200; most += 13 {
		r := split.Rule{Max: most, Markers: true}
		from := 0
		for _, to := range cutAll(t, r, b.String()) {
			if to < b.Len() && (to-from < most*3/4 || strings.TrimRight(b.String()[:to], " \n") == b.String()[:to]) {
				t.Errorf("Max %d: %q", most, b.String()[from:to])
			}
			from = to
		}
	}
}

func TestWithoutMarkers(t *testing.T) {
	text := "```go\n" + strings.Repeat("x = 1\n", 30) + "```\n"
	pieces := shown(t, split.Rule{Max: 60}, text)
	if strings.Join(pieces, "") != text {
		t.Error("without markers the pieces are not the ranges")
	}
	if slices.ContainsFunc(pieces[1:], func(p string) bool { return strings.HasPrefix(p, "```go") }) {
		t.Error("a fence is opened again without markers")
	}
}
