package zulip

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/surface"
	"verbatim/internal/surface/surfacetest"
	"verbatim/internal/surface/zulip/zulipfake"
)

func from(p surface.Person, chat surface.Chat, text string) surface.Message {
	return surface.Message{Chat: chat, Sender: p, Text: text}
}

func TestWhoIsSpokenToIsSaid(t *testing.T) {
	group := surface.Chat{ID: "direct:11-12"}
	support := surface.Chat{ID: "stream:8", Thread: "printer"}
	const quote = "@_**Verbatim|5** [said](https://chat.example.org/#narrow/near/1):\n```quote\nso\n```\nwhy?"
	cases := []struct {
		name              string
		m                 surface.Message
		text              string
		direct, mentioned bool
	}{
		{"talk in a channel", from(iago, topic, "hello all"), "hello all", false, false},
		{"a mention", from(iago, topic, "@**Verbatim** hello"), "hello", false, true},
		{"a mention in the middle", from(iago, topic, "so @**Verbatim|5**, hello"), "so @**Verbatim|5**, hello", false, true},
		{"everybody", from(iago, topic, "@**all** hello"), "@**all** hello", false, false},
		{"a silent mention", from(iago, topic, "@_**Verbatim** said so"), "@_**Verbatim** said so", false, false},
		{"a quote of the bot", from(iago, topic, quote), quote, false, true},
		{"a channel that is listened to", from(iago, support, "hello"), "hello", false, true},
		{"a direct message", from(iago, direct, "hello"), "hello", true, false},
		{"a direct message in a group", from(iago, group, "hello"), "hello", false, false},
		{"a mention in a group", from(cordel, group, "@**Verbatim** hello"), "hello", false, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, func(_ *zulipfake.Options, k *keys) { k.Listen = []string{"#Support"} })
				defer s.listen(s.surface())()
				id := s.say(c.m)
				got := s.in.Taken()
				if len(got) != 1 {
					t.Fatalf("%d messages came", len(got))
				}
				m := got[0]
				if m.Text != c.text || m.Direct != c.direct || m.Mentioned != c.mentioned || m.ID != id || m.Chat != c.m.Chat {
					t.Errorf("it came as %+v", m)
				}
				if m.Sender.ID != c.m.Sender.ID || m.Sender.Name != c.m.Sender.Name || !slices.Equal(m.Sender.Other, c.m.Sender.Other) {
					t.Errorf("it is by %+v", m.Sender)
				}
				if strings.HasPrefix(m.Chat.ID, "stream:") && (m.Fields["thread"] != m.Chat.Thread || m.Fields["channel"] == "") {
					t.Errorf("its fields are %v", m.Fields)
				}
			})
		})
	}
}

func TestZulipsOwnBotsAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		defer s.listen(s.surface())()
		s.say(from(surface.Person{ID: "notification-bot@zulip.com"}, topic, "@**Verbatim** was added"))
		s.say(from(iago, topic, "@**Verbatim** hello"))
		if got := s.texts(); !slices.Equal(got, []string{"hello"}) {
			t.Errorf("what came is %q", got)
		}
	})
}

func TestTheFirstStartBeginsWithWhatIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		for i := range 30 {
			s.say(from(iago, direct, fmt.Sprint("old", i)))
		}
		stop := s.listen(s.surface())
		s.say(from(iago, direct, "new"))
		stop()
		s.server.Expire()
		defer s.listen(s.surface())()
		if got := s.texts(); !slices.Equal(got, []string{"new"}) {
			t.Errorf("what came is %q", got)
		}
	})
}

func TestALostQueueLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		stop := s.listen(s.surface())
		late := s.server.Late(from(iago, direct, "stored late"))
		s.say(from(iago, direct, "word"))
		want := []string{"word", "stored late"}
		stop()
		late()
		for i := range 250 {
			want = append(want, fmt.Sprint("word", i))
			s.say(from(iago, direct, want[len(want)-1]))
		}
		<-time.After(11 * time.Minute) // the queue is gone
		stop = s.listen(s.surface())
		s.say(from(iago, direct, "at last"))
		s.server.Expire() // under a wait
		s.say(from(iago, direct, "really"))
		settle()
		stop()
		if got, want := s.texts(), append(want, "at last", "really"); !slices.Equal(got, want) {
			t.Errorf("%d messages came, not %d: %.300q", len(got), len(want), got)
		}
		if strings.Contains(s.log.String(), "level=WARN") {
			t.Errorf("a lost queue is nothing to warn of: %s", s.log)
		}
	})
}

func TestWhatIsKnownIsNotFetchedAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		stop := s.listen(s.surface())
		for i := range 60 {
			s.say(from(iago, direct, fmt.Sprint("word", i)))
		}
		stop()
		s.server.Expire()
		defer s.listen(s.surface())()
		if again := s.in.Given() - len(s.in.Taken()); again > overlap+1 {
			t.Errorf("%d messages were given again", again)
		}
	})
}

func TestAMarkFromAnOlderTimeLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		stop := s.listen(s.surface())
		s.say(from(iago, direct, "one"))
		old, _ := s.in.Mark(t.Context(), queueMark)
		s.say(from(iago, direct, "two"))
		stop()
		s.say(from(iago, direct, "three"))
		s.in.SetMark(t.Context(), queueMark, old) // as from a backup
		defer s.listen(s.surface())()
		if got := s.texts(); !slices.Equal(got, []string{"one", "two", "three"}) {
			t.Errorf("what came is %q", got)
		}
	})
}

func TestADamagedMarkIsNoFirstStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		s.in.SetMark(t.Context(), queueMark, `{"begun":tr`)
		stop := s.listen(s.surface())
		s.say(from(iago, direct, "one"))
		stop()
		if len(s.in.Taken()) != 0 || !strings.Contains(s.log.String(), "the mark queue is damaged") {
			t.Errorf("it went on: %q, %s", s.texts(), s.log)
		}
	})
}

func TestWhatPeopleChangeIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		b := s.surface()
		stop := s.listen(b)
		b.Send(t.Context(), topic, post("an answer"))
		b.Edit(t.Context(), topic, "1001", post("a better answer"))
		talk := s.say(from(iago, topic, "@**Verbatim** old"))
		private := s.say(from(iago, direct, "old"))
		s.server.Preview(talk)
		s.server.Move(talk, "another topic")
		stop()
		s.server.Rewrite(topic, talk, "@**Verbatim** new")
		s.server.Rewrite(direct, private, "new")
		s.server.Erase(direct, private)
		stop = s.listen(s.surface())
		settle()
		stop()
		if slices.ContainsFunc(s.server.Requests(), func(r string) bool { return strings.HasPrefix(r, "GET /api/v1/messages/") }) {
			t.Error("what is known was asked for")
		}
		want := []surfacetest.Changing{{Chat: topic, ID: talk, Text: "new"}, {Chat: direct, ID: private, Text: "new"}}
		if got := s.in.Changes(); !slices.Equal(got, want) {
			t.Errorf("the changes are %+v", got)
		}
		if got := s.in.Removes(); !slices.Equal(got, []surfacetest.Changing{{Chat: direct, ID: private}}) {
			t.Errorf("the removals are %+v", got)
		}
	})
}

func TestItsOwnEditsDoNotUseUpTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		b := s.surface()
		defer s.listen(b)()
		b.Send(t.Context(), topic, post("x"))
		for i := range 100 {
			b.Edit(t.Context(), topic, "1001", post(fmt.Sprint("x", i)))
			<-time.After(60 * time.Millisecond)
		}
		asked := len(slices.DeleteFunc(s.server.Requests(), func(r string) bool { return r != "GET /api/v1/events" }))
		if asked > 22 {
			t.Errorf("in 6 s it asked for events %d times", asked)
		}
	})
}

func TestAChangeOfAnOldMessageIsToldToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		defer s.listen(s.surface())()
		old := s.say(from(iago, direct, "old"))
		gone := s.say(from(iago, direct, "gone"))
		talk := s.say(from(iago, topic, "@**Verbatim** old"))
		for i := range maxRecent {
			s.say(from(iago, topic, fmt.Sprint("talk", i)))
		}
		s.server.Rewrite(direct, old, "new")
		settle()
		if got := s.in.Changes(); !slices.Equal(got, []surfacetest.Changing{{Chat: direct, ID: old, Text: "new"}}) {
			t.Errorf("the changes are %+v", got)
		}
		s.server.Erase(topic, talk)
		s.server.Erase(direct, gone) // nobody can say where that was
		settle()
		if got := s.in.Removes(); !slices.Equal(got, []surfacetest.Changing{{Chat: topic, ID: talk}}) {
			t.Errorf("the removals are %+v", got)
		}
	})
}

func TestAMovedTopicIsANewChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		defer s.listen(s.surface())()
		id := s.say(from(iago, topic, "@**Verbatim** one"))
		s.server.Move(id, "✔ greetings")
		resolved := surface.Chat{ID: "stream:7", Thread: "✔ greetings"}
		s.say(from(iago, resolved, "@**Verbatim** two"))
		if got := s.in.Taken(); len(got) != 2 || got[1].Chat != resolved {
			t.Errorf("what came is %+v", got)
		}
		if len(s.in.Changes())+len(s.in.Removes()) != 0 {
			t.Error("a move is no change of a text")
		}
	})
}

func TestARenamedBotKnowsItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		stop := s.listen(s.surface())
		stop()
		s.server.Rename("Veritas")
		defer s.listen(s.surface())()
		s.say(from(iago, topic, "@**Veritas** hello"))
		s.server.Rename("Vera")
		s.server.Expire()
		settle()
		s.say(from(iago, topic, "@**Vera** again"))
		if got := s.texts(); !slices.Equal(got, []string{"hello", "again"}) {
			t.Errorf("what came is %q", got)
		}
	})
}

func TestARefusedKeyEndsListening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, func(_ *zulipfake.Options, k *keys) { k.APIKey = "wrong-key-0123456789" })
		err := s.surface().Listen(t.Context(), &s.in)
		if err == nil || !strings.Contains(err.Error(), "api_key") || strings.Contains(err.Error()+s.log.String(), "wrong-key") {
			t.Errorf("it ends with: %v", err)
		}
	})
}

func TestAnOddEventStandsInNobodysWay(t *testing.T) {
	var asked int
	odd := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		fmt.Fprint(w, `{"result":"success","events":[
			{"id":3,"type":"message","flags":{"new":"form"},"message":{"id":900,"type":"private","display_recipient":[{"id":5},{"id":11}],"sender_id":11,"sender_email":"iago@example.org","content":"one"}},
			{"id":4,"type":"from_the_future","x":[1]},
			{"id":5,"type":"message","flags":[],"message":{"id":901,"type":"private","display_recipient":[{"id":5},{"id":11}],"sender_id":11,"sender_email":"iago@example.org","content":"two","timestamp":"soon"}}]}`)
	})
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		s.failing("/api/v1/events", 1, odd)
		stop := s.listen(s.surface())
		stop()
		if got := s.texts(); !slices.Equal(got, []string{"one", "two"}) || asked != 1 {
			t.Errorf("what came is %q, asked %d times", got, asked)
		}
		if !strings.Contains(s.log.String(), "level=ERROR") {
			t.Error("nobody is told")
		}
	})
}

func TestThePausesGrowAndTheServersWishIsHeld(t *testing.T) {
	var at []time.Duration
	start := time.Now()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		start = time.Now()
		s.net = surfacetest.NewNet(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			at = append(at, time.Since(start))
			if len(at) == 3 {
				w.WriteHeader(http.StatusTooManyRequests)
				fmt.Fprint(w, `{"result":"error","code":"RATE_LIMIT_HIT","retry-after":100}`)
				return
			}
			w.WriteHeader(http.StatusBadGateway)
		}))
		stop := s.listen(s.surface())
		<-time.After(5 * time.Minute)
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	var want []time.Duration
	for _, s := range []int{0, 1, 3, 103, 111, 127, 159, 219, 279} {
		want = append(want, time.Duration(s)*time.Second)
	}
	if !slices.Equal(at, want) {
		t.Errorf("it asked at %v", at)
	}
}

func FuzzAsk(f *testing.F) {
	for _, seed := range []string{
		`{"result":"success","events":[{"id":1,"type":"heartbeat"}],"msg":""}`, `{"result":"error","msg":"x","code":"BAD_EVENT_QUEUE_ID"}`,
		`{"events":[`, `[]`, `{"result":"success","events":{}}`, `{"retry-after":"x"}`, ``, `{"result":null}`,
		`{"result":"success","events":[{"id":1,"message":{"id":2,"display_recipient":7,"flags":1}}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		b := &bot{key: botKey, email: botEmail, now: time.Now}
		resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}
		b.client = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			resp.Body = body1(body)
			return resp, nil
		})}
		var err error
		if b.site, err = siteOf("https://chat.example.org"); err != nil {
			t.Fatal(err)
		}
		var n int
		err = b.ask(t.Context(), http.MethodGet, "events", nil, func(name string, dec *json.Decoder) error {
			if name != "events" {
				return errSkip
			}
			return readList(dec, func(raw json.RawMessage) error {
				n++
				var e event
				if err := json.Unmarshal(raw, &e); err != nil && !odd(err) {
					return err
				}
				return nil
			})
		})
		var whole struct {
			Result string `json:"result"`
		}
		if err == nil && (!json.Valid(body) || json.Unmarshal(body, &whole) != nil || whole.Result != "success") {
			t.Fatalf("%q is taken for a success", body)
		}
	})
}
