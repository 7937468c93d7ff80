package split_test

import (
	"strings"
	"testing"

	"verbatim/internal/split"
)

// longText is a text of n bytes like those that models write.
func longText(n int) string {
	part := "Some words of a paragraph, which is `long enough` to be one. See [more](https://example.org/more).\n\n" +
		"1. First, with words.\n2. Second:\n   ```sh\n   make it so\n   make test\n   ```\n\n" +
		"| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\n```go\nfunc f() {\n\treturn\n}\n```\n\n"
	return strings.Repeat(part, n/len(part)+1)[:n]
}

// grow does for a growing text what a surface asks for, and returns how many
// pieces it came to.
func grow(text string, step int) int {
	r := split.Rule{Max: 4096, Measure: utf16Units, Markers: true}
	var s split.Scanner
	from, pieces := 0, 0
	for n := 0; n < len(text); {
		n = min(n+step, len(text))
		for {
			to, sealed := s.Cut(r, text[:n], from, false)
			_ = s.Display(r, text[:n], from, min(to, max(from, split.Steady(text[:n], from))))
			_ = s.Paragraph(text[:n], from)
			if !sealed {
				break
			}
			from = to
			pieces++
		}
	}
	return pieces
}

func BenchmarkGrow(b *testing.B) {
	for name, text := range map[string]string{
		"100k":            longText(100_000),
		"200k":            longText(200_000),
		"100k_one_fence":  "```\n" + strings.Repeat("x = 1\n", 100_000/6),
		"100k_one_line":   strings.Repeat("word ", 20_000),
		"100k_one_word":   strings.Repeat("z", 100_000),
		"100k_hanzi":      strings.Repeat("你", 33_333),
		"100k_one_column": strings.Repeat("\n", 100_000),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				grow(text, 24)
			}
		})
	}
}

func BenchmarkCutWhole(b *testing.B) {
	text := longText(100_000)
	r := split.Rule{Max: 4096, Measure: utf16Units, Markers: true}
	for b.Loop() {
		var s split.Scanner
		for from := 0; from < len(text); {
			from, _ = s.Cut(r, text, from, true)
		}
	}
}

// Eight times the text takes eight times the measuring, and each byte that is
// added makes only the open piece be measured again, a bounded number of times.
func TestGrowthIsLinear(t *testing.T) {
	measured := func(n int) int {
		text, sum := longText(n), 0
		r := split.Rule{Max: 4096, Markers: true, Measure: func(s string) int { sum += len(s); return len(s) }}
		var s split.Scanner
		from := 0
		for n := 0; n < len(text); {
			n = min(n+240, len(text))
			for sealed := true; sealed; {
				var to int
				if to, sealed = s.Cut(r, text[:n], from, false); sealed {
					from = to
				}
			}
		}
		return sum
	}
	small, large := measured(40_000), measured(320_000)
	if large > 9*small || large > 320_000/240*3*4096 {
		t.Errorf("for 40,000 bytes %d are measured, for 320,000 %d", small, large)
	}
}
