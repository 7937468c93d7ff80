package split_test

import (
	"fmt"
	"html"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"verbatim/internal/split"
)

// measures are ways in which platforms count. The last two are hostile: markup
// that is finished takes less room than it did before, and one more line may
// make all lines longer.
var measures = map[string]func(string) int{
	"bytes":       nil,
	"code points": utf8.RuneCountInString,
	"UTF-16":      func(s string) int { return len(utf16.Encode([]rune(s))) },
	"graphemes":   uniseg.GraphemeClusterCount,
	"HTML":        func(s string) int { return len(html.EscapeString(s)) },
	"formatted":   func(s string) int { return utf8.RuneCountInString(markup.ReplaceAllString(s, "$1$2")) },
	"aligned": func(s string) int {
		longest := 0
		for line := range strings.SplitSeq(s, "\n") {
			longest = max(longest, len(line))
		}
		return longest*strings.Count(s, "\n") + len(s)/2
	},
}

var markup = regexp.MustCompile("\\*\\*([^*]*)\\*\\*|\\[([^\\]]*)\\]\\([^)]*\\)|(?m)^```.*\n?")

// cutAll cuts a closed text into its pieces.
func cutAll(t *testing.T, r split.Rule, text string) []int {
	t.Helper()
	var ends []int
	for from := 0; from < len(text); {
		to, sealed := r.Cut(text, from, true)
		if to <= from || to > len(text) {
			t.Fatalf("%+v: the piece of %q that begins at %d ends at %d", r, text, from, to)
		}
		if sealed != (to < len(text)) {
			t.Fatalf("%+v: the piece %d..%d of %d bytes is sealed: %v", r, from, to, len(text), sealed)
		}
		ends = append(ends, to)
		from = to
	}
	return ends
}

func size(r split.Rule, text string) int {
	if r.Measure == nil {
		return len(text)
	}
	return r.Measure(text)
}

// checkPiece checks what holds of every piece by itself.
func checkPiece(t *testing.T, r split.Rule, text string, from, to int) {
	t.Helper()
	p := r.Display(text, from, to)
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("Max %d, markers %v: piece %d..%d of %q, shown as %q: %s", r.Max, r.Markers, from, to, text, p.Text, fmt.Sprintf(format, args...))
	}
	source := text[from:to]
	if got := p.Text[p.Head : len(p.Text)-p.Tail]; got != source[p.Before:len(source)-p.After] {
		fail("without markers it is %q", got)
	}
	if split.Visible(source[:p.Before]+source[len(source)-p.After:], 1) > 0 {
		fail("%d and %d bytes of it are not blank and left out", p.Before, p.After)
	}
	if utf8.ValidString(text) && !utf8.ValidString(p.Text) {
		fail("it is not valid UTF-8")
	}
	if n := size(r, p.Text); n > r.Max && seen(source) > 1 {
		fail("it is %d long", n)
	}
	if split.Visible(source, 1) == 0 && split.Visible(text, 1) > 0 {
		fail("it is blank")
	}
	if !r.Markers && p.Head+p.Tail > 0 {
		fail("it has markers")
	}
	if r.Markers && r.Max >= 64 && split.FenceOpen(p.Text) {
		fail("a fence is open at its end")
	}
}

// seen counts the code points of a text that show something alone.
func seen(text string) int {
	n := 0
	for _, r := range text {
		n += split.Visible(string(r), 1)
	}
	return n
}

// checkClusters checks that a piece ends within a grapheme cluster only if that
// is too long.
func checkClusters(t *testing.T, r split.Rule, text string, ends []int) {
	t.Helper()
	from, start, at := 0, 0, 0
	g := uniseg.NewGraphemes(text)
	for _, to := range ends {
		for at < to && g.Next() {
			start, at = g.Positions()
		}
		if at > to && split.Visible(text[from:max(from, start)], 1) > 0 {
			t.Fatalf("Max %d: %q is cut at %d in a cluster, which could go to the next piece", r.Max, text, to)
		}
		if at > to && size(r, r.Display(text, from, at).Text) <= r.Max {
			t.Fatalf("Max %d: %q is cut at %d in a cluster, which fits", r.Max, text, to)
		}
		from = to
	}
}

// checkGrowth checks that pieces of a text that grows are those of the whole one.
func checkGrowth(t *testing.T, r split.Rule, text string, step func() int) {
	t.Helper()
	type piece struct{ from, to int }
	var sealed []piece
	var s split.Scanner
	from := 0
	for n := 0; n < len(text); {
		n = min(len(text), n+step())
		now := text[:n]
		for {
			to, done := s.Cut(r, now, from, false)
			if to2, done2 := r.Cut(now, from, false); to2 != to || done2 != done {
				t.Fatalf("Max %d: the piece of %q from %d ends at %d, %v; for a scanner at %d, %v", r.Max, now, from, to2, done2, to, done)
			}
			if got, want := s.Display(r, now, from, to), r.Display(now, from, to); got != want {
				t.Fatalf("%d..%d of %q is %+v, for a scanner %+v", from, to, now, want, got)
			}
			if split.Visible(now[from:to], 1) > 0 {
				checkPiece(t, r, now, from, to)
			}
			if !done {
				break
			}
			sealed = append(sealed, piece{from, to})
			from = to
		}
		if got, want := s.Paragraph(now, from), split.Paragraph(now, from); got != want {
			t.Fatalf("the last paragraph of %q from %d ends at %d, for a scanner at %d", now, from, want, got)
		}
	}
	for i, p := range sealed {
		if to, done := r.Cut(text, p.from, false); to != p.to || !done {
			t.Fatalf("Max %d, markers %v: piece %d of %q was sealed as %d..%d, and then ended at %d, %v", r.Max, r.Markers, i, text, p.from, p.to, to, done)
		}
		if to, done := r.Cut(text, p.from, true); to != p.to || !done {
			t.Fatalf("Max %d, markers %v: piece %d of %q was sealed as %d..%d, and in the closed text ended at %d, %v", r.Max, r.Markers, i, text, p.from, p.to, to, done)
		}
	}
}

func checkAll(t *testing.T, r split.Rule, text string, step func() int) {
	t.Helper()
	ends := cutAll(t, r, text)
	from := 0
	for _, to := range ends {
		checkPiece(t, r, text, from, to)
		from = to
	}
	checkClusters(t, r, text, ends)
	checkGrowth(t, r, text, step)
}

func TestAnyTextAnyMeasure(t *testing.T) {
	rounds := uint64(10)
	if os.Getenv("VERBATIM_LONG") != "" {
		rounds = 500
	}
	for name, measure := range measures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range rounds {
				rnd := rand.New(rand.NewPCG(seed, 7))
				text := randomText(rnd, 400)
				r := split.Rule{Max: randomMax(rnd), Measure: measure, Markers: rnd.IntN(4) > 0}
				t.Logf("seed %d, Max %d, markers %v", seed, r.Max, r.Markers)
				checkAll(t, r, text, func() int { return 1 + rnd.IntN(1+rnd.IntN(30)) })
			}
		})
	}
}

func randomMax(rnd *rand.Rand) int {
	if rnd.IntN(3) == 0 {
		return 1 + rnd.IntN(8)
	}
	return 16 + rnd.IntN(150)
}

var parts = []string{
	"word ", "word ", "longer words here. ", "\n", "\n", "\n\n", "\n\n", "- item ", "1. ", "12) ", "> ", "```", "```py\n", "```\n", "~~~\n", "~~~~ sh\n", "`code span`", "`", "``",
	"[a link](https://example.org/a/long/path?x=1)", "[", "](", ")", "![picture](p.png)", "<https://example.org>", "**bold text**", "**", "| a | b |\n", "|---|---|\n", "| 1 | 22 |\n", "|",
	"# Heading\n", "---\n", "===\n", "    ", "  ", "\t", "   ", "        ", "\r\n", "\\", "&", "<", ">>", "\"", "e\u0301", "👩‍💻", "🇩🇪", "🇫🇷", "😀", "你好，世界。", "한국어 ", "नमस्ते ", "\u200b", "\u200d", "\ufe0f", "x", "!", "... ",
	strings.Repeat("z", 60), strings.Repeat(" ", 30), strings.Repeat("\n", 12), "a\u0300\u0301\u0302\u0303\u0304\u0305",
}

func randomText(rnd *rand.Rand, most int) string {
	var b strings.Builder
	few := make([]string, 0, 8)
	for range 4 + rnd.IntN(12) {
		few = append(few, parts[rnd.IntN(len(parts))])
	}
	for n := rnd.IntN(most); b.Len() < n; {
		b.WriteString(few[rnd.IntN(len(few))])
	}
	return b.String()
}

func FuzzCut(f *testing.F) {
	for _, text := range []string{"a **b** `c d`\n\n```py\nx = 1\n```\n", "| a | b |\n|---|---|\n| 1 | 2 |\n", "- a\n  - b\n\n    ```\n    c\n    ```\n", "> q\n> ~~~\n> c\n", "👩‍💻🇩🇪e\u0301 \xff\xc3"} {
		f.Add(text, uint16(20), uint8(0), true, uint8(3))
		f.Add(text+text, uint16(3), uint8(2), false, uint8(1))
	}
	names := []string{"bytes", "code points", "UTF-16", "graphemes", "HTML", "formatted", "aligned"}
	f.Fuzz(func(t *testing.T, text string, most uint16, measure uint8, markers bool, step uint8) {
		// The log holds valid UTF-8 and nothing else.
		if len(text) > 2000 || !utf8.ValidString(text) {
			return
		}
		r := split.Rule{Max: int(most%512) + 1, Measure: measures[names[int(measure)%len(names)]], Markers: markers}
		checkAll(t, r, text, func() int { return 1 + int(step) })
	})
}
