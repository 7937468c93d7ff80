package telegram_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"verbatim/internal/surface"
	"verbatim/internal/surface/telegram"
	"verbatim/internal/surface/telegram/telegramfake"
)

func newSurface(t testing.TB, o telegram.Options) surface.Surface {
	t.Helper()
	if o.Token == "" {
		o.Token = token
	}
	s, err := telegram.Platform.New(surface.Setup{
		Name: "phone", Keys: telegram.KeysOf(o), Client: http.DefaultClient, Now: time.Now,
		PublicURL: "https://verbatim.example",
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// parsed renders Markdown and has Telegram take the tags out again.
func parsed(t testing.TB, s surface.Surface, markdown string) (string, []telegramfake.Entity) {
	t.Helper()
	text, size := s.Render(markdown, false)
	seen, entities, err := telegramfake.ParseHTML(text)
	if err != nil {
		t.Fatalf("%q became %q: %v", markdown, text, err)
	}
	if got := len(utf16.Encode([]rune(seen))); got != size {
		t.Errorf("%q became %q, of size %d, not %d", markdown, text, got, size)
	}
	if strings.TrimSpace(markdown) != "" && strings.TrimSpace(seen) == "" {
		t.Errorf("%q: nothing is left to see of it", markdown)
	}
	return seen, entities
}

// everything is what a reader can find: the text, with the language of a block
// before it and the address of a link behind it.
func everything(seen string, entities []telegramfake.Entity) string {
	type note struct {
		at   int
		text string
	}
	var notes []note
	for _, e := range entities {
		if e.Language != "" {
			notes = append(notes, note{e.Offset, e.Language})
		}
		if e.URL != "" {
			notes = append(notes, note{e.Offset + e.Length, e.URL})
		}
	}
	slices.SortStableFunc(notes, func(a, b note) int { return b.at - a.at })
	units := utf16.Encode([]rune(seen))
	for _, n := range notes {
		units = slices.Insert(units, n.at, utf16.Encode([]rune(" "+n.text+" "))...)
	}
	return string(utf16.Decode(units))
}

// pieces are what a text is made of, each picked by a byte; "w" is a word.
var pieces = []string{
	"w", "w", "w", " ", " ", "\n", "\n", "\n\n", "*", "**", "***", "_", "__", "~", "~~", "`", "``", "\n```", "\n~~~",
	"# ", "\n# ", "> ", "\n> ", "- ", "\n- ", "\n  - ", "1. ", "\n2) ", "\n    ", "\t", "|", " | ", "\n|---|---|\n", "\n|:-:|\n",
	"[", "](", "](http://h.io/", "](tg://", " \"", "\")", ")", "![", "<b>", "</b>", "<!--", "<", ">", "<http://h.io/", "http://h.io/",
	"\\", "&", "&lt;", "&amp;", "&#0;", "\"", "'", "!", "---\n", "\n===\n", "- [ ] ", "- [x] ", "😀", "語", "\r", "\x00", "é", "[k]", "![k]", "\n[k]: http://q.io/", "\n[k]: x '", "\n[k]: <",
}

// compose makes a text of bytes, and returns the words in it, all different.
func compose(data []byte) (markdown string, words []string) {
	var b strings.Builder
	for _, c := range data {
		piece := pieces[int(c)%len(pieces)]
		if piece == "w" {
			piece = fmt.Sprintf("w%dz", len(words))
			words = append(words, piece)
		}
		b.WriteString(piece)
	}
	return b.String(), words
}

// FuzzRenderKeepsWords: whatever the Markdown, Telegram takes what was made of it,
// and each of its words is in there once, in order.
func FuzzRenderKeepsWords(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		data := make([]byte, 1+random.IntN(60))
		for i := range data {
			data[i] = byte(random.IntN(3 * len(pieces) / 2))
			if int(data[i]) >= len(pieces) {
				data[i] = 0 // a third of them are words
			}
		}
		f.Add(data)
	}
	s := newSurface(f, telegram.Options{})
	f.Fuzz(func(t *testing.T, data []byte) {
		markdown, words := compose(data[:min(len(data), 400)])
		seen, entities := parsed(t, s, markdown)
		rest := everything(seen, entities)
		for _, word := range words {
			_, after, ok := strings.Cut(rest, word)
			if !ok {
				t.Fatalf("%q: %s is missing, or not in its place, in %q", markdown, word, everything(seen, entities))
			}
			rest = after
		}
		for _, word := range words {
			if strings.Count(seen, word) > 1 {
				t.Fatalf("%q: %s is there twice in %q", markdown, word, seen)
			}
		}
	})
}

// FuzzRender: Telegram takes what was made of any text, also of one that is cut
// off anywhere.
func FuzzRender(f *testing.F) {
	for _, seed := range samples {
		f.Add(seed)
	}
	s := newSurface(f, telegram.Options{})
	f.Fuzz(func(t *testing.T, markdown string) {
		if len(markdown) > 5000 {
			return
		}
		parsed(t, s, markdown)
		if text, size := s.Render(markdown, true); len(utf16.Encode([]rune(text))) != size {
			t.Errorf("%q, plain, has the size %d", text, size)
		}
	})
}

// samples are texts whose every beginning is rendered too.
var samples = []string{
	"# Head *x* `code` tail\ntext **bold `code` more** ~~gone~~ 20~25 °C\n\n- a\n- b\n  - c\n    more\n- [x] d\n\n3. x\n2. y\n",
	"> quote **b** `c`\n> > inner\n>\n> ```go\n> x := 1 < 2\n> ```\n\nafter",
	"| a | b |\n|---|--:|\n| 1 | 22 | extra |\n| `x` | [z](http://a.b) |\ntail\n",
	"[ref]: http://x.yz \"the title\"\n[foo][ref] [bar](javascript:x) ![img](http://i.mg/a.png) [![alt](b.png)](http://li.nk) <b>raw</b> &copy;",
	"```python\nprint(\"<&>\")\n```\n~~~ no language\n\n    indented\n\n- ```\n  in a list\n  ```\n- > q\n",
	"***both** one* [`code`](http://c.d) \\*x\\* \\&amp; <http://auto.li> 😀語 [a](<b c> 'd')",
}

func TestEveryBeginningRenders(t *testing.T) {
	s := newSurface(t, telegram.Options{})
	for _, sample := range samples {
		for i := range sample {
			parsed(t, s, sample[:i])
		}
	}
}
