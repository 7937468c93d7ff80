package zulip

import (
	"strings"
	"testing"
	"unicode/utf8"

	"verbatim/internal/surface"
)

func TestRenderTakesThePowerOutOfMentions(t *testing.T) {
	const z = breaker
	cases := []struct{ name, in, want string }{
		{"words stay", "a **b** @ c *d* x@y.org @name", "a **b** @ c *d* x@y.org @name"},
		{"everybody", "@**all** and @**topic**", "@" + z + "**all** and @" + z + "**topic**"},
		{"a person, a group", "@**Iago|11** @*support*", "@" + z + "**Iago|11** @" + z + "*support*"},
		{"a silent mention", "@_**Iago**", "@" + z + "_**Iago**"},
		{"in brackets", "(@**all**)", "(@" + z + "**all**)"},
		{"not in fenced code", "```py\n@**all**\n```\n@**all**", "```py\n@**all**\n```\n@" + z + "**all**"},
		{"not in code that never ends", "~~~\n@**all**", "~~~\n@**all**"},
		{"a fence ends with its own length", "````\n```\n@**all**\n````\n@**all**", "````\n```\n@**all**\n````\n@" + z + "**all**"},
		{"a quote is no code", "```quote\n@**all**\n```", "```quote\n@" + z + "**all**\n```"},
		{"nor what stands in it", "```quote\n```py\n@**all**\n```\n```", "```quote\n```py\n@" + z + "**all**\n```\n```"},
		{"a spoiler is no code", "```spoiler the end\n@**all**\n```", "```spoiler the end\n@" + z + "**all**\n```"},
		{"an indented fence is none to Zulip", " ```\n@**all**\n ```", " ```\n@" + z + "**all**\n ```"},
		{"a fence with more in its line is none", "```a`b\n@**all**", "```a`b\n@" + z + "**all**"},
		{"a fence behind a tab is one", "```\tpy\n@**all**\n```\n@**all**", "```\tpy\n@**all**\n```\n@" + z + "**all**"},
		{"bare carriage returns make doubts", "```\r@**all**\n```\n@**all**", "```\r@" + z + "**all**\n```\n@" + z + "**all**"},
		{"a poll", "/poll Tea?\nyes", z + "/poll Tea?\nyes"},
		{"a status", "/me waves", z + "/me waves"},
		{"a list of tasks", "/todo", z + "/todo"},
		{"a path is no command", "/media and\n/poll", "/media and\n/poll"},
		{"the ends are as Zulip keeps them", "\n\n  a \n\n", "  a"},
		{"NUL can't be sent", "a\x00b", "a\uFFFDb"},
		{"nothing is nothing", " \n ", ""},
	}
	b := &bot{}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			text, size := b.Render(c.in, false)
			if text != c.want || size != utf8.RuneCountInString(c.want) {
				t.Errorf("%q is %q, %d long; it should be %q", c.in, text, size, c.want)
			}
		})
	}
}

func TestPlainTextIsFencedByMoreThanIsInIt(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"words", "a **b** @**all**", "```text\na **b** @**all**\n```"},
		{"a fence inside", "x\n```\ny\n```", "````text\nx\n```\ny\n```\n````"},
		{"many backticks", "``````", "```````text\n``````\n```````"},
		{"a command", "/me waves", "```text\n/me waves\n```"},
		{"nothing", "\n", ""},
	}
	b := &bot{}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if text, size := b.Render(c.in, true); text != c.want || size != utf8.RuneCountInString(c.want) {
				t.Errorf("%q is %q, %d long; it should be %q", c.in, text, size, c.want)
			}
		})
	}
}

func TestSameIsTheSameTextButForItsEnds(t *testing.T) {
	cases := []struct {
		name, seen, text string
		want             bool
	}{
		{"as it was sent", "a b", "a b", true},
		{"blanks at the end dropped", "a b", "a b \n\u2003", true},
		{"line feeds at the start dropped", "  a", "\n\n  a", true},
		{"indentation is text", "a", "  a", false},
		{"a beginning", "a", "a b", false},
		{"more", "a b", "a", false},
		{"with links to its files", "a\n\n[x.txt](/user_uploads/2/ab/x.txt)\n[y](/user_uploads/2/ab/y)", "a", true},
		{"a text that ends with a link", "a\n[x](/user_uploads/2/x)", "a\n[x](/user_uploads/2/x)", true},
		{"a link to elsewhere is text", "a\n\n[x](https://example.org/x)", "a", false},
		{"cut by the server", "aaa\n[message truncated]", "aaabbb", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := (&bot{}).Same(surface.Seen{Text: c.seen}, c.text); got != c.want {
				t.Errorf("%q and %q: %t", c.seen, c.text, got)
			}
		})
	}
}

func FuzzRender(f *testing.F) {
	for _, seed := range []string{"@**all**", "```quote\n@*x*\n```", "```\n@**a**", "/me x", "\r@_**x**", "\n \x00 `", "~~~py x\n@*\n~~~\n@*"} {
		f.Add(seed)
	}
	b := &bot{}
	f.Fuzz(func(t *testing.T, in string) {
		text, size := b.Render(in, false)
		if again, _ := b.Render(in, false); again != text || size != utf8.RuneCountInString(text) {
			t.Fatal("not the same again")
		}
		in = strings.ReplaceAll(in, breaker, "")
		text, _ = b.Render(in, false)
		words := trim(strings.ReplaceAll(in, "\x00", "\uFFFD"))
		if got := strings.ReplaceAll(text, breaker, ""); got != words {
			t.Fatalf("the words of %q became %q", in, got)
		}
		if !strings.Contains(in, "```") && !strings.Contains(in, "~~~") && mention.MatchString(text) {
			t.Fatalf("%q still mentions", text)
		}
		plain, _ := b.Render(in, true)
		if words == "" {
			return
		}
		fence, rest, _ := strings.Cut(plain, "text\n")
		if inner, ok := strings.CutSuffix(rest, "\n"+fence); !ok || inner != words || strings.Contains(inner, fence) {
			t.Fatalf("%q in plain is %q", in, plain)
		}
	})
}
