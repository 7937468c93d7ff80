package telegram_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/surface"
	"verbatim/internal/surface/surfacetest"
	"verbatim/internal/surface/telegram"
	"verbatim/internal/surface/telegram/telegramfake"
)

// stage is a bot beside its far end, inside a bubble.
type stage struct {
	surfacetest.Kit
	far *telegramfake.Fake
}

// play runs a test in a bubble of virtual time.
func play(t *testing.T, o telegram.Options, chat surface.Chat, f func(t *testing.T, s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, o, chat)
		far, ok := k.Far.(*telegramfake.Fake)
		if !ok {
			t.Fatalf("the far end is %T", k.Far)
		}
		f(t, &stage{k, far})
		if strings.Contains(k.Log.String(), token) {
			t.Error("the token is in the log")
		}
	})
}

var (
	private = surface.Chat{ID: "815"}
	topic   = surface.Chat{ID: "-1001", Thread: "7"}
)

// post renders Markdown and sends it with what else is in p.
func (s *stage) post(t *testing.T, markdown string, p surface.Post) surface.Outcome {
	t.Helper()
	p.ID, p.Text = "p1", ""
	p.Text, _ = s.Surface.Render(markdown, p.Plain)
	return s.Surface.Send(t.Context(), s.Chat, p)
}

func (s *stage) made(t *testing.T, markdown string, p surface.Post) string {
	t.Helper()
	o := s.post(t, markdown, p)
	if o.Class != surface.Delivered || o.PlatformID == "" {
		t.Fatalf("%+v", o)
	}
	return o.PlatformID
}

func (s *stage) shows(t *testing.T, want ...telegramfake.Post) {
	t.Helper()
	if diff := cmp.Diff(want, s.far.Posts(s.Chat)); diff != "" {
		t.Errorf("a reader sees (-want +got):\n%s", diff)
	}
}

func TestAPostWithEverythingIsShownSo(t *testing.T) {
	play(t, telegram.Options{}, topic, func(t *testing.T, s *stage) {
		asked := s.far.Say(surface.Message{Chat: s.Chat, Sender: s.Person, Text: "may it?"})
		buttons := []surface.Button{{Label: "Allow", Data: "a"}, {Label: "Always", Data: "b"}, {Label: "Deny", Data: "c"}, {Label: "More", Data: "d"}}
		id := s.made(t, "**Run** `ls`?", surface.Post{ReplyTo: asked, Buttons: buttons})
		want := telegramfake.Post{
			ID: id, Text: "Run ls?", ReplyTo: asked, Buttons: [][]string{{"Allow", "Always", "Deny"}, {"More"}},
			Entities: []telegramfake.Entity{{Type: "bold", Length: 3}, {Type: "code", Offset: 4, Length: 2}},
		}
		s.shows(t, want)
		text, _ := s.Surface.Render("Allowed by *Ann*", false)
		if o := s.Surface.Edit(t.Context(), s.Chat, id, surface.Post{Text: text}); o.Class != surface.Delivered {
			t.Fatalf("%+v", o)
		}
		want.Text, want.Buttons = "Allowed by Ann", nil
		want.Entities = []telegramfake.Entity{{Type: "italic", Offset: 11, Length: 3}}
		s.shows(t, want)
	})
}

func TestTypingIsShownInTheTopic(t *testing.T) {
	play(t, telegram.Options{}, topic, func(t *testing.T, s *stage) {
		if o := s.Surface.Typing(t.Context(), s.Chat); o.Class != surface.Delivered {
			t.Fatalf("%+v", o)
		}
		if diff := cmp.Diff([]surface.Chat{topic}, s.far.Typed()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestFiles(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n"
	picture := surface.File{Name: "p.png", MIME: "image/png", Data: []byte(png)}
	report := surface.File{Name: "a \"b\"\n.txt", MIME: "text/plain", Data: []byte("words")}
	for _, c := range []struct {
		name  string
		files []surface.File
		want  [][]string
	}{
		{"a picture", []surface.File{picture}, [][]string{{"p.png: " + png}}},
		{"a document", []surface.File{report}, [][]string{{"a \"b\"_.txt: words"}}},
		{"pictures", []surface.File{picture, picture}, [][]string{{"p.png: " + png}, {"p.png: " + png}}},
		{"both, as documents", []surface.File{picture, report}, [][]string{{"p.png: " + png}, {"a \"b\"_.txt: words"}}},
		{"a file without a name", []surface.File{{Data: []byte("x")}}, [][]string{{"file: x"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			play(t, telegram.Options{}, private, func(t *testing.T, s *stage) {
				asked := s.far.Say(surface.Message{Chat: s.Chat, Sender: s.Person, Text: "send them"})
				id := s.made(t, "*Here*", surface.Post{Files: c.files, ReplyTo: asked})
				if s.far.Calls() != 1 {
					t.Errorf("it took %d calls", s.far.Calls())
				}
				posts := s.far.Posts(s.Chat)
				if len(posts) != len(c.want) {
					t.Fatalf("there are %d messages", len(posts))
				}
				for i, p := range posts {
					if diff := cmp.Diff(c.want[i], p.Files); diff != "" || p.ReplyTo != asked {
						t.Errorf("message %d answers %q: %s", i, p.ReplyTo, diff)
					}
				}
				if posts[0].ID != id || posts[0].Text != "Here" || posts[0].Entities[0].Type != "italic" {
					t.Errorf("%+v", posts[0])
				}
				if o := s.Surface.Edit(t.Context(), s.Chat, id, surface.Post{Text: "There", Files: c.files}); o.Class != surface.Delivered {
					t.Fatalf("%+v", o)
				}
				if p := s.far.Posts(s.Chat)[0]; p.Text != "There" || len(p.Files) != 1 {
					t.Errorf("%+v", p)
				}
			})
		})
	}
}

func TestFilesThatNoMessageHoldsAreRefused(t *testing.T) {
	play(t, telegram.Options{}, private, func(t *testing.T, s *stage) {
		many := make([]surface.File, 11)
		if o := s.post(t, "a", surface.Post{Files: many}); o.Class != surface.Refused {
			t.Errorf("%+v", o)
		}
		two := surface.Post{Files: many[:2], Buttons: []surface.Button{{Label: "a", Data: "b"}}}
		if o := s.post(t, "a", two); o.Class != surface.Refused {
			t.Errorf("%+v", o)
		}
		if s.far.Calls() != 0 {
			t.Errorf("%d calls were made", s.far.Calls())
		}
		if o := s.post(t, strings.Repeat("a", 1025), surface.Post{Files: many[:1]}); o.Class != surface.Refused || !o.Markup {
			t.Errorf("%+v", o)
		}
		s.made(t, strings.Repeat("a", 1024), surface.Post{Files: []surface.File{{Data: []byte("x")}}})
	})
}

func TestAClosedChatIsGone(t *testing.T) {
	play(t, telegram.Options{}, topic, func(t *testing.T, s *stage) {
		id := s.made(t, "words", surface.Post{})
		s.far.Shut(s.Chat, 403, "Forbidden: bot was kicked from the supergroup chat")
		if o := s.post(t, "more", surface.Post{}); o.Class != surface.Refused || !o.Gone || !strings.Contains(o.Detail, "kicked") {
			t.Errorf("%+v", o)
		}
		if o := s.Surface.Edit(t.Context(), s.Chat, id, surface.Post{Text: "x"}); o.Class != surface.Refused || !o.Gone {
			t.Errorf("%+v", o)
		}
		s.far.Migrate(s.Chat, -1009)
		if o := s.post(t, "more", surface.Post{}); o.Class != surface.Refused || !o.Gone || !strings.Contains(o.Detail, "-1009") {
			t.Errorf("%+v", o)
		}
	})
}
