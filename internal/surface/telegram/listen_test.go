package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/surface"
	"verbatim/internal/surface/surfacetest"
	"verbatim/internal/surface/telegram"
)

// listen starts Listen; what it returns ends it.
func (s *stage) listen(t *testing.T, in surface.Inbox) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	sf := s.Again()
	if s.Reach != nil {
		hook, ok := sf.(surface.Hook)
		if !ok {
			t.Fatalf("%T is no Hook", sf)
		}
		s.Reach(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { hook.ServeHook(w, r, in) }))
	}
	go func() { done <- sf.Listen(ctx, in) }()
	synctest.Wait()
	return func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Listen ended with %v", err)
		}
	}
}

// after waits in virtual time.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// said is a message as Telegram tells it.
func said(content map[string]any) map[string]any {
	out := map[string]any{
		"message_id": 9, "date": 1_800_000_000,
		"from": map[string]any{"id": 815, "first_name": "Ann", "last_name": "Lee", "username": "annlee"},
		"chat": map[string]any{"id": -1001, "type": "supergroup"},
	}
	for name, value := range content {
		out[name] = value
	}
	return out
}

type object = map[string]any

func mark(kind string, offset, length int) []object {
	return []object{{"type": kind, "offset": offset, "length": length}}
}

func TestReceived(t *testing.T) {
	bot := object{"id": 4711, "is_bot": true, "username": "verbatim_bot"}
	ann := surface.Person{ID: "815", Name: "Ann Lee", Other: []string{"@annlee"}}
	group := surface.Chat{ID: "-1001"}
	for _, c := range []struct {
		name string
		told object
		want surface.Message // its ID, Chat, Sender, At and Fields are those of said unless they are set
		none bool
	}{
		{name: "talk among others", told: object{"text": "hello"}, want: surface.Message{Text: "hello"}},
		{name: "named first", told: object{"text": "@Verbatim_Bot,  do  it", "entities": mark("mention", 0, 13)},
			want: surface.Message{Text: "do  it", Mentioned: true}},
		{name: "named in the middle", told: object{"text": "😀 ask @verbatim_bot now", "entities": mark("mention", 7, 13)},
			want: surface.Message{Text: "😀 ask @verbatim_bot now", Mentioned: true}},
		{name: "named alone", told: object{"text": "@verbatim_bot", "entities": mark("mention", 0, 13)},
			want: surface.Message{Text: "@verbatim_bot", Mentioned: true}},
		{name: "another one named", told: object{"text": "@verbatim_bot2 do it", "entities": mark("mention", 0, 14)},
			want: surface.Message{Text: "@verbatim_bot2 do it"}},
		{name: "a name that is no mention", told: object{"text": "`@verbatim_bot`", "entities": mark("code", 0, 13)},
			want: surface.Message{Text: "`@verbatim_bot`"}},
		{name: "a command for it", told: object{"text": "/stop@verbatim_bot now", "entities": mark("bot_command", 0, 18)},
			want: surface.Message{Text: "/stop now", Mentioned: true}},
		{name: "a command for all", told: object{"text": "/stop now", "entities": mark("bot_command", 0, 5)},
			want: surface.Message{Text: "/stop now"}},
		{name: "a mention of one without a name", told: object{"text": "Bot do it", "entities": []object{{"type": "text_mention", "offset": 0, "length": 3, "user": bot}}},
			want: surface.Message{Text: "do it", Mentioned: true}},
		{name: "an entity out of all bounds", told: object{"text": "a", "entities": mark("mention", 5, 1<<40)},
			want: surface.Message{Text: "a"}},
		{name: "an answer to it", told: object{"text": "yes", "reply_to_message": object{"message_id": 3, "from": bot}},
			want: surface.Message{Text: "yes", Mentioned: true}},
		{name: "an answer to another", told: object{"text": "yes", "reply_to_message": object{"message_id": 3, "from": object{"id": 5}}},
			want: surface.Message{Text: "yes"}},
		{name: "a thread of answers is no topic", told: object{"text": "a", "message_thread_id": 3},
			want: surface.Message{Text: "a"}},
		{name: "a topic", told: object{"text": "a", "message_thread_id": 3, "is_topic_message": true},
			want: surface.Message{Text: "a", Chat: surface.Chat{ID: "-1001", Thread: "3"}}},
		{name: "the first message of a topic of the bot is no mention", told: object{"text": "a", "message_thread_id": 3, "is_topic_message": true, "reply_to_message": object{"message_id": 3, "from": bot}},
			want: surface.Message{Text: "a", Chat: surface.Chat{ID: "-1001", Thread: "3"}}},
		{name: "a private chat", told: object{"text": "a", "chat": object{"id": 815, "type": "private"}},
			want: surface.Message{Text: "a", Direct: true, Chat: surface.Chat{ID: "815"}}},
		{name: "an administrator who hides", told: object{"text": "a", "from": object{"id": 1087968824, "is_bot": true}, "sender_chat": object{"id": -1001, "title": "Team"}},
			want: surface.Message{Text: "a", Sender: surface.Person{ID: "-1001", Name: "Team"}}},
		{name: "another program", told: object{"text": "a", "from": object{"id": 7, "is_bot": true}}, none: true},
		{name: "somebody joined", told: object{"new_chat_members": []object{bot}}, none: true},
		{name: "a voice message", told: object{"voice": object{"file_id": "v"}},
			want: surface.Message{Refused: []string{"a voice message: only text, pictures and documents are taken"}}},
		{name: "a sticker and words", told: object{"sticker": object{"file_id": "s"}, "caption": "look"},
			want: surface.Message{Text: "look", Refused: []string{"a sticker: only text, pictures and documents are taken"}}},
		{name: "an animation, which is a document too", told: object{"animation": object{"file_id": "s"}, "document": object{"file_id": "s"}},
			want: surface.Message{Refused: []string{"an animation: only text, pictures and documents are taken"}}},
		{name: "a document that is too large", told: object{"document": object{"file_id": "d", "file_name": "a.pdf", "file_size": 3 << 20}},
			want: surface.Message{Refused: []string{"a.pdf: it has 3.0 MiB, and at most 2 MiB are taken"}}},
		{name: "a document that is not there any more", told: object{"document": object{"file_id": "none", "file_name": "a.pdf"}, "caption": "read it"},
			want: surface.Message{Text: "read it", Refused: []string{"a.pdf: it could not be fetched from Telegram (the file can't be taken: Telegram answered 400: Bad Request: invalid file_id); send it again"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			play(t, telegram.Options{}, topic, func(t *testing.T, s *stage) {
				var in surfacetest.Inbox
				stop := s.listen(t, &in)
				defer stop()
				s.far.Happen("message", said(c.told))
				after(time.Second)
				if c.none {
					if len(in.Taken()) != 0 {
						t.Errorf("it was taken: %+v", in.Taken())
					}
					return
				}
				want := c.want
				want.ID, want.At = "9", time.Unix(1_800_000_000, 0)
				if want.Chat == (surface.Chat{}) {
					want.Chat = group
				}
				if want.Sender.ID == "" {
					want.Sender = ann
				}
				want.Fields = map[string]string{"chat": want.Chat.ID, "thread": want.Chat.Thread, "user": want.Sender.ID}
				if diff := cmp.Diff([]surface.Message{want}, in.Taken()); diff != "" {
					t.Errorf("received (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestFilesAreReceivedEachInAMessage(t *testing.T) {
	png := []byte("\x89PNG\r\n\x1a\n" + strings.Repeat("x", 2<<20-8))
	play(t, telegram.Options{}, private, func(t *testing.T, s *stage) {
		var in surfacetest.Inbox
		stop := s.listen(t, &in)
		defer stop()
		s.far.Say(surface.Message{Chat: s.Chat, Sender: s.Person, Text: "these", Files: []surface.File{
			{Name: "a.txt", Data: []byte("words")}, {Name: "p.png", Data: png}, {Name: "large.png", Data: append(png, 'x')},
		}})
		after(time.Second)
		got := in.Taken()
		if len(got) != 3 {
			t.Fatalf("%d messages came", len(got))
		}
		if f := got[0].Files; len(f) != 1 || got[0].Text != "these" || f[0].Name != "a.txt" || string(f[0].Data) != "words" || f[0].MIME != "text/plain" {
			t.Errorf("%+v", got[0])
		}
		if f := got[1].Files; len(f) != 1 || len(f[0].Data) != len(png) || f[0].MIME != "image/jpeg" || !strings.HasPrefix(f[0].Name, "photo-") {
			t.Errorf("%q has %d files", got[1].Text, len(f))
		}
		if f := got[2].Files; len(f) != 1 || len(f[0].Data) != 1 {
			t.Errorf("the smaller size was not taken: %d files", len(f))
		}
	})
}

func TestAWebhookThatIsSetIsTakenAwayForPolling(t *testing.T) {
	for name, set := range map[string]func(s *stage, listen func()){
		"before": func(s *stage, listen func()) { s.far.SetHook("https://old.example"); listen() },
		"later":  func(s *stage, listen func()) { listen(); s.far.SetHook("https://old.example") },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, telegram.Options{}, private, func(t *testing.T, s *stage) {
				var in surfacetest.Inbox
				stop := func() {}
				set(s, func() { stop = s.listen(t, &in) })
				defer func() { stop() }()
				after(time.Minute)
				s.far.Say(surface.Message{Chat: s.Chat, Sender: s.Person, Text: "words"})
				after(time.Minute)
				if s.far.Hook() != "" || len(in.Taken()) != 1 || !strings.Contains(s.Log.String(), "webhook") {
					t.Errorf("the webhook is %q, %d messages came; the log says\n%s", s.far.Hook(), len(in.Taken()), s.Log)
				}
			})
		})
	}
}

func TestAnotherProgramThatReadsIsNamedAndWaitedOut(t *testing.T) {
	play(t, telegram.Options{}, private, func(t *testing.T, s *stage) {
		var mine, others surfacetest.Inbox
		stop := s.listen(t, &mine)
		defer stop()
		stopOther := s.listen(t, &others)
		after(5 * time.Minute)
		stopOther()
		if n := strings.Count(s.Log.String(), "another program reads"); n == 0 || n > 4 {
			t.Errorf("it is named %d times:\n%s", n, s.Log)
		}
		after(5 * time.Minute)
		s.far.Say(surface.Message{Chat: s.Chat, Sender: s.Person, Text: "words"})
		after(5 * time.Minute)
		if len(mine.Taken()) != 1 {
			t.Errorf("%d messages came when the other one was gone", len(mine.Taken()))
		}
	})
}

func TestATokenThatIsRefusedEndsListening(t *testing.T) {
	for _, webhook := range []bool{false, true} {
		play(t, telegram.Options{Webhook: webhook}, private, func(t *testing.T, s *stage) {
			other := telegram.Options{Token: "4711:another-secret-of-a-bot", Base: "http://api.example", Webhook: webhook}
			sf, err := telegram.Platform.New(surface.Setup{
				Name: "phone", Keys: telegram.KeysOf(other), Client: s.Net.Client(t), Now: time.Now, Logger: s.Log.Logger(),
				PublicURL: "https://verbatim.example",
			})
			if err != nil {
				t.Fatal(err)
			}
			var in surfacetest.Inbox
			err = sf.Listen(t.Context(), &in)
			if err == nil || !strings.Contains(err.Error(), "token") || strings.Contains(err.Error(), "another-secret") {
				t.Errorf("Listen ended with %v", err)
			}
		})
	}
}

// TestNumbersThatBeginAnewLoseNothing: after a week without updates, Telegram may
// go on with a lower number.
func TestNumbersThatBeginAnewLoseNothing(t *testing.T) {
	play(t, telegram.Options{}, private, func(t *testing.T, s *stage) {
		var in surfacetest.Inbox
		stop := s.listen(t, &in)
		s.far.Say(surface.Message{Chat: s.Chat, Sender: s.Person, Text: "one"})
		after(time.Second)
		stop()
		after(8 * 24 * time.Hour)
		s.far.Jump(10)
		s.far.Say(surface.Message{Chat: s.Chat, Sender: s.Person, Text: "two"})
		stop = s.listen(t, &in)
		defer stop()
		s.far.Say(surface.Message{Chat: s.Chat, Sender: s.Person, Text: "three"})
		after(2 * time.Minute)
		if len(in.Taken()) != 3 {
			t.Errorf("%d messages came", len(in.Taken()))
		}
	})
}

func TestWhatWasReadIsConfirmedUntilItsNumberIsOld(t *testing.T) {
	now := time.Now()
	for age, want := range map[time.Duration]int64{0: 105, time.Hour: 105, 4 * 24 * time.Hour: 105, 6 * 24 * time.Hour: 0} {
		if got := telegram.OffsetAfter(105, now, now.Add(age)); got != want {
			t.Errorf("after %v the offset is %d, not %d", age, got, want)
		}
	}
}

func TestAnAnswerThatIsTooLongIsAskedForInParts(t *testing.T) {
	play(t, telegram.Options{}, private, func(t *testing.T, s *stage) {
		for i := range 12 {
			s.far.Happen("message", said(object{"message_id": i + 1, "text": fmt.Sprint(i), "padding": strings.Repeat("x", 200<<10)}))
		}
		var in surfacetest.Inbox
		stop := s.listen(t, &in)
		defer stop()
		after(10 * time.Minute)
		if n := len(in.Taken()); n != 12 {
			t.Errorf("%d of 12 messages came", n)
		}
	})
}

func TestAnUpdateThatCantBeReadIsSaidAndLeftOut(t *testing.T) {
	play(t, telegram.Options{}, private, func(t *testing.T, s *stage) {
		id := s.far.Happen("message", object{"message_id": "nine"})
		s.far.Say(surface.Message{Chat: s.Chat, Sender: s.Person, Text: "words"})
		var in surfacetest.Inbox
		stop := s.listen(t, &in)
		defer stop()
		after(time.Minute)
		if len(in.Taken()) != 1 || !strings.Contains(s.Log.String(), fmt.Sprintf("update=%d", id)) {
			t.Errorf("%d messages came; the log says\n%s", len(in.Taken()), s.Log)
		}
	})
}

func TestAFileThatComesLateIsWaitedFor(t *testing.T) {
	play(t, telegram.Options{}, private, func(t *testing.T, s *stage) {
		var in surfacetest.Inbox
		stop := s.listen(t, &in)
		defer stop()
		s.Net.Down(true) // the connection that waits stays
		s.far.Say(surface.Message{Chat: s.Chat, Sender: s.Person, Files: []surface.File{{Name: "a.txt", Data: []byte("words")}}})
		after(3 * time.Second)
		s.Net.Down(false)
		after(time.Minute)
		if got := in.Taken(); len(got) != 1 || len(got[0].Files) != 1 {
			t.Errorf("%+v", got)
		}
	})
}

func TestAnEditWithoutTextChangesNothing(t *testing.T) {
	play(t, telegram.Options{}, topic, func(t *testing.T, s *stage) {
		var in surfacetest.Inbox
		stop := s.listen(t, &in)
		defer stop()
		s.far.Happen("edited_message", said(object{"location": object{}}))
		s.far.Happen("edited_message", said(object{"text": "a", "from": object{"id": 7, "is_bot": true}}))
		s.far.Happen("edited_message", said(object{"caption": "@verbatim_bot new", "caption_entities": mark("mention", 0, 13)}))
		after(time.Second)
		want := []surfacetest.Changing{{Chat: surface.Chat{ID: "-1001"}, ID: "9", Text: "new"}}
		if diff := cmp.Diff(want, in.Changes()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWhoPressesIsToldAtMostWhatFits(t *testing.T) {
	play(t, telegram.Options{}, private, func(t *testing.T, s *stage) {
		var in surfacetest.Inbox
		in.Line(strings.Repeat("😀", 150))
		stop := s.listen(t, &in)
		defer stop()
		id := s.made(t, "may it?", surface.Post{Buttons: []surface.Button{{Label: "Allow", Data: "a"}}})
		s.far.Press(s.Chat, id, "a", s.Person)
		after(time.Second)
		if diff := cmp.Diff([]string{strings.Repeat("😀", 100)}, s.far.Told()); diff != "" {
			t.Error(diff)
		}
		if len(in.Presses()) != 1 {
			t.Errorf("%d presses came", len(in.Presses()))
		}
	})
}
