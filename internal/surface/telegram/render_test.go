package telegram_test

import (
	"strings"
	"testing"

	"verbatim/internal/surface/telegram"
)

func TestRender(t *testing.T) {
	for _, c := range []struct{ name, markdown, want string }{
		{"plain words", "one & <two>", "one &amp; &lt;two&gt;"},
		{"emphasis", "*a* **b** ***c*** ~~d~~", "<i>a</i> <b>b</b> <i><b>c</b></i> <s>d</s>"},
		{"a single tilde is one", "20~25 °C and 30~35 °C", "20~25 °C and 30~35 °C"},
		{"code interrupts bold", "**a `b<` c**", "<b>a </b><code>b&lt;</code><b> c</b>"},
		{"bold inside bold is bold", "# a **b**", "<b>a b</b>"},
		{"what is not closed stays", "a **b _c `d", "a **b _c `d"},
		{"lines stay lines", "a\nb  \nc\\\nd\n\n\ne", "a\nb\nc\nd\n\ne"},
		{"escapes and references", `\*a\* \&amp; &lt; &copy;`, "*a* &amp;amp; &lt; ©"},
		{"HTML is text", "<b>a</b> <!-- b -->\n\n<div>c</div>", "&lt;b&gt;a&lt;/b&gt; &lt;!-- b --&gt;\n\n&lt;div&gt;c&lt;/div&gt;"},
		{"a line below a line is no heading", "Title\n-", "Title\n-"},
		{"a rule", "a\n\n---\n\nb", "a\n\n———\n\nb"},

		{"lists", "- a\n  more\n- b\n  - c\n\n    d", "• a\n  more\n• b\n  • c\n\n    d"},
		{"numbers as written", "3. a\n2. b\n1. c", "3. a\n2. b\n1. c"},
		{"numbers that are all one", "1) a\n1) b\n1) c", "1) a\n2) b\n3) c"},
		{"a list that goes on", "4. a\n5. b", "4. a\n5. b"},
		{"tasks", "- [x] a\n- [ ] b", "• ☑ a\n• ☐ b"},
		{"an item without text", "- a\n-\n- c", "• a\n• \n• c"},

		{"a quotation", "> a **b**\n> `c`\n\nd", "<blockquote>a <b>b</b>\n<code>c</code></blockquote>\n\nd"},
		{"a quotation in one", "> a\n> > b\n> > c", "<blockquote>a\n&gt; b\n&gt; c</blockquote>"},
		{"code in a quotation", "> ```go\n> x\n> ```", `<blockquote><pre><code class="language-go">x</code></pre></blockquote>`},

		{"a block of code", "```c++\na <b>\n  c\n```\nd", "<pre><code class=\"language-c++\">a &lt;b&gt;\n  c</code></pre>\nd"},
		{"a block that is not closed", "```\na", "<pre>a</pre>"},
		{"indented code", "    a\n      b", "<pre>a\n  b</pre>"},
		{"words that name no language", "```This is it", "<pre>This is it</pre>"},
		{"a block in a list", "- ```\n  a\n  ```\n- b", "• \n<pre>a</pre>\n• b"},
		{"nothing but a fence", "```", "```"},

		{"a link", "[a **b**](https://h.io/?x=1&y=\"2\" \"title\")", "<a href=\"https://h.io/?x=1&amp;y=%222%22\">a <b>b</b></a> (title)"},
		{"a link of Telegram", "[a](tg://user?id=1)", `<a href="tg://user?id=1">a</a>`},
		{"an address that would be dropped", "[a](file.txt) [b](javascript:c) [d](http://localhost/e) [f](mailto:g@h.io)", "a (file.txt) b (javascript:c) d (http://localhost/e) f (mailto:g@h.io)"},
		{"code in a link", "[`a`](http://h.io)", `<a href="http://h.io">a</a>`},
		{"a link without a text", "[](http://h.io)", `<a href="http://h.io">http://h.io</a>`},
		{"an image", "![a](http://h.io/b.png) ![](c.png)", `<a href="http://h.io/b.png">a</a> c.png`},
		{"an image in a link", "[![a](b.png)](http://h.io)", `<a href="http://h.io">a (b.png)</a>`},
		{"bare addresses", "http://h.io/a_b_c <http://h.io>", "http://h.io/a_b_c http://h.io"},
		{"a defined link", "[a][k] [b]\n\n[k]: http://h.io 'title'\n[b]: rel", "<a href=\"http://h.io\">a</a> b\n\n[k]: http://h.io 'title'\n[b]: rel"},

		{"a table", "| a | b |\n|---|--:|\n| *1* | 22 |\n| 語 | 3 |", "<pre>a  |  b\n---|---\n1  | 22\n語 |  3</pre>"},
		{"a table with more cells than its header", "| a |\n|---|\n| b | c |", "<pre>a\n-----\nb | c</pre>"},
		{"a table with links", "| a | b |\n|---|---|\n| [c](http://h.io) | d |", "<b>a | b</b>\n<a href=\"http://h.io\">c</a> | d"},
		{"a wide table", "| a | b |\n|---|---|\n| " + strings.Repeat("c", 60) + " | d |", "<b>a | b</b>\n" + strings.Repeat("c", 60) + " | d"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSurface(t, telegram.Options{})
			parsed(t, s, c.markdown)
			if got, _ := s.Render(c.markdown, false); got != c.want {
				t.Errorf("%q became\n%q, not\n%q", c.markdown, got, c.want)
			}
		})
	}
}

func TestRenderPlainLeavesTextAlone(t *testing.T) {
	s := newSurface(t, telegram.Options{})
	for _, c := range []struct {
		markdown, want string
		size           int
	}{
		{"  **a** <b> &amp; ", "  **a** <b> &amp; ", 18},
		{"😀", "😀", 2},
		{"a\r\nb\rc\u2028d", "a\nb\nc\nd", 7},
	} {
		if got, size := s.Render(c.markdown, true); got != c.want || size != c.size {
			t.Errorf("%q became %q of size %d, not %q of %d", c.markdown, got, size, c.want, c.size)
		}
	}
}

// TestDeepNestingAddsLittle: what indents does so to a bound, so a text can't grow
// out of all measure.
func TestDeepNestingAddsLittle(t *testing.T) {
	s := newSurface(t, telegram.Options{})
	for _, mark := range []string{">", "> - ", "- "} {
		seen, _ := parsed(t, s, strings.Repeat(mark, 500)+"word\nmore")
		if n := strings.Count(seen, " ") + strings.Count(seen, ">"); n > 700 || !strings.Contains(seen, "word") {
			t.Errorf("500 of %q add %d characters", mark, n)
		}
	}
}

// TestRenderMakesNoMoreLinksThanTelegramKeeps: the address of a link that Telegram
// would take for plain text is shown.
func TestRenderMakesNoMoreLinksThanTelegramKeeps(t *testing.T) {
	s := newSurface(t, telegram.Options{})
	_, entities := parsed(t, s, strings.Repeat("[a](http://h.io) ", 120))
	if len(entities) != 100 {
		t.Errorf("there are %d entities", len(entities))
	}
	text, _ := s.Render(strings.Repeat("[a](http://h.io) ", 120), false)
	if n := strings.Count(text, "http://h.io"); n != 120 {
		t.Errorf("%d of 120 addresses are there", n)
	}
}
