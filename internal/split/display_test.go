package split_test

import (
	"strings"
	"testing"

	"verbatim/internal/split"
)

func TestPieces(t *testing.T) {
	code := strings.Repeat("    make it so\n", 4)
	for _, c := range []struct {
		name string
		max  int
		text string
		want []string
	}{
		{
			"a paragraph's end is better than a line's, and that better than a sentence's", 60,
			"One paragraph that has some words, and more.\n\nA line. And\nmore of it in the next line.\n",
			[]string{"One paragraph that has some words, and more.\n\n", "A line. And\nmore of it in the next line.\n"},
		},
		{
			"a sentence's end is better than a word's", 60,
			"These are words of a sentence that has an end. Then others come, many.",
			[]string{"These are words of a sentence that has an end. ", "Then others come, many."},
		},
		{
			"a sentence of a script without spaces", 20,
			"你好世界。我们今天",
			[]string{"你好世界。", "我们今天"},
		},
		{
			"a code span goes whole to the next piece", 40,
			"This is how one calls it, then: `go test ./...` and so on.",
			[]string{"This is how one calls it, then: ", "`go test ./...` and so on."},
		},
		{
			"a link goes whole to the next piece", 50,
			"See [the whole page](https://example.org/page) and [others](https://example.org).",
			[]string{"See [the whole page](https://example.org/page) and", "[others](https://example.org)."},
		},
		{
			"a span that is longer than a piece is cut at white space", 24,
			"`one two three four five six seven`",
			[]string{"`one two three four five", "six seven`"},
		},
		{
			"list items stay whole and keep their numbers", 60,
			"8. The first one has words.\n9. The second has some, too.\n10. The third is the last.\n",
			[]string{"8. The first one has words.\n9. The second has some, too.\n", "10. The third is the last.\n"},
		},
		{
			"an item that has several paragraphs stays whole", 50,
			"Before it.\n\n- An item.\n\n  It has more, and yet more.\n\nBehind it.\n",
			[]string{"Before it.\n\n", "- An item.\n\n  It has more, and yet more.\n\n", "Behind it.\n"},
		},
		{
			"a heading stays with what it is for", 40,
			"Words before it are here.\n\n# Heading\n\nWords behind it are here.\n",
			[]string{"Words before it are here.\n\n", "# Heading\n\nWords behind it are here.\n"},
		},
		{
			"code begins a piece rather than be cut late", 60,
			"These words come before the code that is here:\n\n```\na = 1\nb = 2\n```\n",
			[]string{"These words come before the code that is here:\n\n", "```\na = 1\nb = 2\n```\n"},
		},
		{
			"code keeps its indentation and its language", 60,
			"~~~~ py x\nif so:\n" + strings.Repeat("        do()\n", 5) + "~~~~\n",
			[]string{"~~~~ py x\nif so:\n        do()\n        do()\n        do()\n~~~~", "~~~~py x\n        do()\n        do()\n~~~~\n"},
		},
		{
			"a line of code that is too long is cut in two", 30,
			"```\n" + strings.Repeat("z", 40) + "\n```",
			[]string{"```\n" + strings.Repeat("z", 22) + "\n```", "```\n" + strings.Repeat("z", 18) + "\n```"},
		},
		{
			"code in a list item keeps the item's indentation", 60,
			"1. do:\n   ```sh\n" + strings.Repeat("   make it so\n", 4) + "   ```\n2. end\n",
			[]string{"1. do:\n   ```sh\n   make it so\n   make it so\n   ```", "   ```sh\n   make it so\n   make it so\n   ```\n2. end\n"},
		},
		{
			"code that is deep in a list is in one again", 60,
			"10. do:\n    ```sh\n" + code + "    ```\n11. end\n",
			[]string{"10. do:\n    ```sh\n    make it so\n    make it so\n    ```", "-   ```sh\n    make it so\n    make it so\n    ```\n11. end\n"},
		},
		{
			"code in a quote is in a quote again", 48,
			"> ```\n" + strings.Repeat("> make it so\n", 4) + "> ```\nend\n",
			[]string{"> ```\n> make it so\n> make it so\n> ```", "> ```\n> make it so\n> make it so\n> ```\nend\n"},
		},
		{
			"a list item that ends without the end of its code", 60,
			"- do:\n  ```\n" + strings.Repeat("  make it so\n", 4) + "\nThis is no code.\n",
			[]string{"- do:\n  ```\n  make it so\n  make it so\n  make it so\n  ```", "  ```\n  make it so\n\n```", "This is no code.\n"},
		},
		{
			"a quote goes on as a quote", 40,
			"> These are the words of a long quote, and of one line.",
			[]string{"> These are the words of a long quote, ", "> and of one line."},
		},
		{
			"what only looks like a block is none", 12,
			"twelve and\u00a0a - b",
			[]string{"twelve ", "and\u00a0a - b"},
		},
		{
			"what can't but begin like a block is guarded", 16,
			"oneandtwo5678 ``` and so on",
			[]string{"oneandtwo5678 ", "\u200b``` and so on"},
		},
		{
			"a list that is deep goes on as one", 40,
			"- one\n  - two\n    - three has words, some\n    - four has words, too\n",
			[]string{"- one\n  - two\n", "-\n    - three has words, some\n", "-\n    - four has words, too\n"},
		},
		{
			"blanks at the very start go with the first word", 20,
			"\n\n   \nwords are here, some",
			[]string{"\n\n   \nwords are ", "here, some"},
		},
		{
			"blanks that are too many are left out", 10,
			strings.Repeat("\n", 30) + "word" + strings.Repeat(" ", 30) + "word\n\n\n\n\n\n\n\n\n\n",
			[]string{"word", "word"},
		},
		{
			"a carriage return stays with its line feed", 12,
			"eleven chr\r\n\r\nmore",
			[]string{"eleven chr", "more"},
		},
		{
			"a link by reference, a picture and an address go whole", 40,
			"Here is a link that is long: [one two][ref one], ![a b](p.png \"c d\") here it is <https://example.org/a/b>.",
			[]string{"Here is a link that is long: ", "[one two][ref one], ![a b](p.png \"c d\") ", "here it is <https://example.org/a/b>."},
		},
		{
			"brackets that are no link may be cut", 30,
			"It is so (as told) for all [1, 2, 3, 4, 5].",
			[]string{"It is so (as told) for all ", "[1, 2, 3, 4, 5]."},
		},
		{
			"bold words go whole to the next piece", 30,
			"These words are followed by **bold words** and more.",
			[]string{"These words are followed by ", "**bold words** and more."},
		},
		{
			"escaped signs begin nothing", 30,
			"It is \\`so and so\\[ and so on, for ever and ever.",
			[]string{"It is \\`so and so\\[ and so on,", "for ever and ever."},
		},
		{
			"a quote in a list that is deep goes on as one", 48,
			"- one\n  - two words\n    > three has words, some\n    >\n    > four has words, too\n",
			[]string{"- one\n", "  - two words\n    > three has words, some\n    >\n", "- >\n    > four has words, too\n"},
		},
		{
			"code that is very deep is in lists again", 64,
			"- a\n  - b\n    - c\n      ```\n" + strings.Repeat("      do()\n", 6) + "      ```\n",
			[]string{"- a\n  - b\n", "-\n    - c\n      ```\n      do()\n      do()\n      do()\n      ```", "- - - ```\n      do()\n      do()\n      do()\n      ```\n"},
		},
		{
			"a deep line of a paragraph is no code", 36,
			"These are some words and more\n       and words that are deep\n",
			[]string{"These are some words and more\n", "\u200b       and words that are deep\n"},
		},
		{
			"an end of code that is too deep for the piece ends it", 60,
			"1. do:\n   ```\n" + strings.Repeat("   make it so\n", 4) + "    ```\n\nNo.\n",
			[]string{"1. do:\n   ```\n   make it so\n   make it so\n   ```", "   ```\n   make it so\n   make it so\n    ```\n\n```", "No.\n"},
		},
		{
			"an end of code that is longer than its beginning is in no piece alone", 40,
			"```\n" + strings.Repeat("do it\n", 5) + "``````````\n",
			[]string{"```\ndo it\ndo it\ndo it\ndo it\n```", "```\ndo it\n``````````\n"},
		},
		{
			"a language like the marker", 36,
			"~~~ ~x\n" + strings.Repeat("do it\n", 5) + "~~~\n",
			[]string{"~~~ ~x\ndo it\ndo it\ndo it\ndo it\n~~~", "~~~ ~x\ndo it\n~~~\n"},
		},
		{
			"a list that is very deep goes on as one", 64,
			"- a\n  - b\n    - c\n      - d\n        - e\n          - some words that are here, and some\n          - more\n",
			[]string{"- a\n  - b\n    - c\n      - d\n        - e\n", "- * - *\n          - some words that are here, and some\n", "- * - *\n          - more\n"},
		},
		{
			"a table's header goes with the table", 55,
			"Some words that are in front of the table\n| a | b |\n|---|---|\n| 1 | 2 |\n",
			[]string{"Some words that are in front of the table\n", "| a | b |\n|---|---|\n| 1 | 2 |\n"},
		},
		{
			"a word that would look like a block stays with the one before", 16,
			"aaaaaaaaaaaa bb - cc",
			[]string{"aaaaaaaaaaaa ", "bb - cc"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := split.Rule{Max: c.max, Markers: true}
			got := shown(t, r, c.text)
			if len(c.want) == 0 {
				t.Logf("%q", got)
			}
			want(t, got, c.want...)
			grown(t, r, c.text, 1)
		})
	}
}

// Where Measure jumps, a text may be too long for now. Until that is sure nothing
// is sealed, and only what fits is shown.
func TestTooLongForNow(t *testing.T) {
	text := strings.Repeat("word ", 13)
	const odd, shown = 62, 60
	r := split.Rule{Max: 100, Measure: func(s string) int {
		if len(s) == odd {
			return 1000
		}
		return len(s)
	}}
	for n := range len(text) {
		want := n
		if n == odd {
			want = shown
		}
		if to, sealed := r.Cut(text[:n], 0, false); to != want || sealed {
			t.Errorf("of %d bytes %d are shown, sealed: %v", n, to, sealed)
		}
	}
	if to, sealed := r.Cut(text[:odd], 0, true); to != shown || !sealed {
		t.Errorf("the piece of the closed text ends at %d, sealed: %v", to, sealed)
	}
}

func TestTextThatTakesNoRoom(t *testing.T) {
	measured := 0
	r := split.Rule{Max: 10, Markers: true, Measure: func(s string) int { measured += len(s); return 0 }}
	for _, p := range shown(t, r, strings.Repeat("[a]: https://example.org\n", 1000)) {
		if len(p) > 64*10+4096 {
			t.Errorf("a piece has %d bytes", len(p))
		}
	}
	if measured > 25_000*1000 {
		t.Errorf("%d bytes are measured", measured)
	}
}
