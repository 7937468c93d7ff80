package inbound

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"verbatim/internal/id"
	"verbatim/internal/surface"
)

func conversationOf(t *testing.T, name, template string, m surface.Message) id.Conversation {
	t.Helper()
	in, err := New(Options{Surface: name, Template: template})
	if err != nil {
		t.Fatal(err)
	}
	return in.base(m)
}

func TestConversationOfAMessage(t *testing.T) {
	m := surface.Message{
		Chat: surface.Chat{ID: "-100", Thread: "7"}, Sender: surface.Person{ID: "ann@example.org"},
		Fields: map[string]string{"repo": "a/b", "number": "12", "none": ""},
	}
	for template, want := range map[string]string{
		"":                         "team.-100_-7",
		OneConversation:            "team.default",
		"{{chat}}":                 "team.-100",
		"{{ thread }}":             "team.7",
		"{{sender}}":               "team.ann_40example_2eorg",
		"{{surface}}":              "team.team",
		"bugs-{{number}}":          "team.bugs-12",
		"{{number}} of the bugs":   "team.12_20of_20the_20bugs",
		"{{repo}}#{{number}}":      "team.a_2fb_-12",
		"{{repo}} is {{number}}":   "team.a_2fb_-_20is_20_-12",
		"{{none}}":                 "team._",
		"{{none}}{{number}}":       "team._-12",
		"{{number}}{{none}}":       "team.12",
		"{{number}}.{{thread}}":    "team.12_-7",
		"größe":                    "team.gr_c3_b6_c3_9fe",
		"{{chat}}{{chat}}{{none}}": "team.-100_--100",
	} {
		if got := conversationOf(t, "team", template, m); string(got) != want {
			t.Errorf("%q: got %s, want %s", template, got, want)
		}
	}
}

func TestFieldsOfTheMessageComeFirst(t *testing.T) {
	m := surface.Message{Chat: surface.Chat{ID: "c", Thread: "t"}, Fields: map[string]string{"thread": "own"}}
	if got := conversationOf(t, "team", "{{thread}}", m); got != "team.own" {
		t.Errorf("got %s", got)
	}
}

func TestCheckTemplate(t *testing.T) {
	for template, want := range map[string]string{
		"":                    "",
		"default":             "",
		"{{thread}}":          "",
		"{{ repo }}/{{chat}}": "",
		"{{tread}}":           "names {{tread}}, which messages here don't have; it may name chat, repo, sender, surface, thread",
		"{{thread":            "braces",
		"thread}}":            "braces",
		"{{}}":                "braces",
		"{{ }}":               "braces",
		"{{a{{thread}}":       "braces",
		"{{thread}} }}":       "braces",
	} {
		err := CheckTemplate(template, "repo", "thread")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", template, err, want)
		}
	}
	if _, err := New(Options{Template: "{{"}); err == nil {
		t.Error("an inbox was made with a template that can't be read")
	}
}

// Long values are cut, and still tell conversations apart.
func TestLongConversations(t *testing.T) {
	for _, name := range []string{"a", strings.Repeat("s", 32)} {
		seen := map[id.Conversation]string{}
		for n := range 200 {
			for _, tail := range []string{"x", "y", "/"} {
				thread := strings.Repeat("ü", n/8) + strings.Repeat("t", n%8) + tail
				c := conversationOf(t, name, "{{thread}}", surface.Message{Chat: surface.Chat{Thread: thread}})
				if other, ok := seen[c]; ok {
					t.Errorf("%q and %q are both %s", other, thread, c)
				}
				seen[c] = thread
				for _, number := range []int{0, 1, 9_999_999} {
					if got := numbered(c, number); !id.Valid(string(got)) {
						t.Errorf("%s is no id", got)
					}
				}
			}
		}
	}
}

// What a surface names is a valid id, never another surface's, and different for
// different values; short ones can be read back.
func FuzzConversation(f *testing.F) {
	f.Add("team", "{{chat}}/{{thread}}", "-100", "7", "-100/7", "")
	f.Add("team", "{{chat}}x{{thread}}", "1x2", "3", "1", "2x3")
	f.Add("t", "a{{chat}}{{thread}}b", "_-", "", "_", "-")
	f.Add("t", "{{thread}}", "", strings.Repeat("a", 100), "", strings.Repeat("a", 101))
	f.Add("t_-", "{{sender}}", "", "é", "", "\xff")
	f.Fuzz(func(t *testing.T, name, template, chat1, thread1, chat2, thread2 string) {
		if !id.Valid(name) || strings.Contains(name, ".") || len(name) > 32 {
			return
		}
		tpl, err := parseTemplate(template)
		if err != nil {
			return
		}
		values := func(chat, thread string) []string {
			var list []string
			for _, n := range tpl.names {
				list = append(list, map[string]string{"chat": chat, "thread": thread}[n])
			}
			return list
		}
		body := func(chat, thread string) string {
			return tpl.body(name, func(n string) string { return map[string]string{"chat": chat, "thread": thread}[n] })
		}
		one, two := body(chat1, thread1), body(chat2, thread2)
		if !id.Valid(name+"."+one) || len(name)+1+len(one)+suffixChars > id.MaxBytes || strings.Contains(one, ".") {
			t.Errorf("%q of %q is no id", one, name)
		}
		if same := slices.Equal(values(chat1, thread1), values(chat2, thread2)); same != (one == two) {
			t.Errorf("%q and %q: the same values %v", one, two, same)
		}
		if got, ok := unescape(escape(chat1)); !ok || got != chat1 {
			t.Errorf("%q is read back as %q", chat1, got)
		}
	})
}

// unescape reads back what escape wrote.
func unescape(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '_' {
			b.WriteByte(s[i])
			continue
		}
		var c byte
		if i+2 >= len(s) {
			return "", false
		}
		if _, err := fmt.Sscanf(s[i+1:i+3], "%02x", &c); err != nil {
			return "", false
		}
		b.WriteByte(c)
		i += 2
	}
	return b.String(), true
}

func FuzzCommand(f *testing.F) {
	for _, s := range []string{"/new", "/stop@bot now", "/etc/passwd", "/", "//", "/deny abcd because\nof it", " /Help ", "/a\x00", "/new\u00a0x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, ok := parseCommand(text)
		if !ok {
			return
		}
		if !strings.HasPrefix(strings.TrimSpace(text), "/") || c.name == "" || c.name != strings.ToLower(c.name) {
			t.Errorf("%q is read as %+v", text, c)
		}
		again, ok := parseCommand(c.String())
		if !ok || again.name != c.name || again.args != c.args {
			t.Errorf("%+v is stored as %q, which is %+v", c, c.String(), again)
		}
	})
}

func TestRunsThatReplaceOthers(t *testing.T) {
	first := id.Run("r_abc")
	second := succeeding(first)
	third := succeeding(second)
	if second != "r_abc.2" || third != "r_abc.3" || preceding(third) != second || preceding(second) != first || preceding(first) != "" {
		t.Errorf("%s, %s, %s", second, third, preceding(third))
	}
	for _, r := range []id.Run{"r_abc.x", "r_abc.", "r_abc.1", "r_abc.-2", "r_abc.0"} {
		if got := preceding(r); got != "" {
			t.Errorf("%s replaces %q", r, got)
		}
	}
}
