package zulip

import (
	"strings"
	"testing"
)

func TestTheMentionAtTheStartIsTakenOff(t *testing.T) {
	me := account{id: 5, name: "Ver Batim"}
	cases := []struct{ name, in, want string }{
		{"by name", "@**Ver Batim** hello", "hello"},
		{"by name and id", "@**Ver Batim|5** hello", "hello"},
		{"by id", "@**|5** hello", "hello"},
		{"under an old name", "@**Old Name|5** hello", "hello"},
		{"however the name is written", "@**ver batim** hello", "hello"},
		{"with a comma", "@**Ver Batim**, hello", "hello"},
		{"with a colon", "@**Ver Batim**: hello", "hello"},
		{"in a line of its own", "@**Ver Batim**\n\n    code\n    more", "    code\n    more"},
		{"nothing but it", "@**Ver Batim** \n", ""},
		{"behind blanks", " \n@**Ver Batim** hello", "hello"},
		{"in the middle it is text", "ask @**Ver Batim** this", "ask @**Ver Batim** this"},
		{"of somebody else", "@**Iago** hello", "@**Iago** hello"},
		{"of everybody", "@**all** hello", "@**all** hello"},
		{"of another with this name", "@**Ver Batim|50** hello", "@**Ver Batim|50** hello"},
		{"a silent one", "@_**Ver Batim|5** hello", "@_**Ver Batim|5** hello"},
		{"half of one", "@**Ver Batim hello", "@**Ver Batim hello"},
		{"without one blanks stay", "  hello ", "  hello "},
		{"a command", "@**Ver Batim** /stop", "/stop"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := me.unmention(c.in); got != c.want {
				t.Errorf("%q is %q, not %q", c.in, got, c.want)
			}
		})
	}
}

func TestAQuoteOfTheBotAsksIt(t *testing.T) {
	me := account{id: 5, name: "Verbatim"}
	for text, want := range map[string]bool{
		"@_**Verbatim|5** [said](https://x/#narrow/near/1):\n```quote\na\n```\nwhy?": true,
		"@_**Old|5** [said](https://x):":                                             true,
		"@_**Iago|11** [said](https://x):\n```quote\n@_**Verbatim|5** [said](":       false,
		"@_**Verbatim|5** is nice":                                                   false,
		"I think @_**Verbatim|5** [said](x)":                                         false,
	} {
		if got := me.quotedIn(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

func FuzzUnmention(f *testing.F) {
	f.Add("@**Verbatim** x")
	f.Add("@**|5**,\n\n x")
	f.Add("@****")
	me := account{id: 5, name: "Verbatim"}
	f.Fuzz(func(t *testing.T, in string) {
		if got := me.unmention(in); !strings.HasSuffix(in, got) {
			t.Fatalf("%q became %q", in, got)
		}
		me.quotedIn(in)
	})
}
