package zulip

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/surface"
	"verbatim/internal/surface/surfacetest"
	"verbatim/internal/surface/zulip/zulipfake"
)

func TestKeysThatAreWrongAreNamed(t *testing.T) {
	good := keys{Site: "https://chat.example.org", Email: botEmail, APIKey: botKey, Limit: 10000}
	cases := []struct {
		name   string
		change func(*keys)
		want   string
	}{
		{"no site", func(k *keys) { k.Site = "" }, "site"},
		{"a site without a scheme", func(k *keys) { k.Site = "chat.example.org" }, "site"},
		{"a site with a key in it", func(k *keys) { k.Site = "https://a:" + botKey + "@chat.example.org" }, "site"},
		{"no email", func(k *keys) { k.Email = "" }, "email"},
		{"no key", func(k *keys) { k.APIKey = "" }, "api_key"},
		{"no room", func(k *keys) { k.Limit = 3 }, "limit"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			k := good
			c.change(&k)
			_, err := Platform.New(surface.Setup{Keys: &k})
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), botKey) {
				t.Errorf("it says: %v", err)
			}
		})
	}
	if _, err := Platform.New(surface.Setup{Keys: &good}); err != nil {
		t.Error(err)
	}
}

// answers is a server that gives one answer to everything.
func answers(status int, header map[string]string, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for name, value := range header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
}

func TestAnAnswerIsTakenForWhatItSays(t *testing.T) {
	limit := map[string]string{"Retry-After": "1.5"}
	cases := []struct {
		name   string
		status int
		header map[string]string
		body   string
		send   surface.Outcome
		edit   surface.Outcome
	}{
		{"a message was made", 200, nil, `{"result":"success","msg":"","id":42}`,
			surface.Outcome{Class: surface.Delivered, PlatformID: "42"}, surface.Outcome{Class: surface.Delivered}},
		{"one without a name", 200, nil, `{"result":"success","msg":""}`,
			surface.Outcome{Class: surface.Unknown}, surface.Outcome{Class: surface.Delivered}},
		{"a success that is none of Zulip's", 200, nil, `<html>welcome</html>`,
			surface.Outcome{Class: surface.Unknown}, surface.Outcome{Class: surface.Unknown}},
		{"JSON of somebody else", 400, nil, `{"error":"no"}`,
			surface.Outcome{Class: surface.Unknown}, surface.Outcome{Class: surface.Unknown}},
		{"a redirect", 302, map[string]string{"Location": "https://elsewhere.example/"}, ``,
			surface.Outcome{Class: surface.Unknown}, surface.Outcome{Class: surface.Unknown}},
		{"the server's own fault, which it may have after it stored the message", 500, nil, `{"result":"error","msg":"Internal server error"}`,
			surface.Outcome{Class: surface.Unknown}, surface.Outcome{Class: surface.Unknown}},
		{"the limit, in a header", 429, limit, `{"result":"error","code":"RATE_LIMIT_HIT","msg":"x"}`,
			surface.Outcome{Class: surface.NotTaken, RetryAfter: 1500 * time.Millisecond, Wide: true}, surface.Outcome{Class: surface.NotTaken, RetryAfter: 1500 * time.Millisecond, Wide: true}},
		{"the limit, longer in the body", 429, limit, `{"result":"error","code":"RATE_LIMIT_HIT","retry-after":2.0004}`,
			surface.Outcome{Class: surface.NotTaken, RetryAfter: 2001 * time.Millisecond, Wide: true}, surface.Outcome{Class: surface.NotTaken, RetryAfter: 2001 * time.Millisecond, Wide: true}},
		{"a limit of a proxy", 429, map[string]string{"Retry-After": "7"}, `<html>slow down</html>`,
			surface.Outcome{Class: surface.Unknown, RetryAfter: 7 * time.Second, Wide: true}, surface.Outcome{Class: surface.Unknown, RetryAfter: 7 * time.Second, Wide: true}},
		{"the limit was used up", 200, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Limit": "200", "X-RateLimit-Reset": "1060", "Date": "Thu, 01 Jan 1970 00:16:40 GMT"}, `{"result":"success","id":42}`,
			surface.Outcome{Class: surface.Delivered, PlatformID: "42", RetryAfter: 300 * time.Millisecond, Wide: true}, surface.Outcome{Class: surface.Delivered, RetryAfter: 300 * time.Millisecond, Wide: true}},
		{"the key", 401, nil, `{"result":"error","code":"INVALID_API_KEY","msg":"Invalid API key ` + botKey + `"}`,
			surface.Outcome{Class: surface.NotTaken}, surface.Outcome{Class: surface.NotTaken}},
		{"a channel that is not there", 400, nil, `{"result":"error","code":"STREAM_DOES_NOT_EXIST","msg":"x"}`,
			surface.Outcome{Class: surface.Refused, Gone: true}, surface.Outcome{Class: surface.Refused}},
		{"a mention that is not allowed", 400, nil, `{"result":"error","code":"TOPIC_WILDCARD_MENTION_NOT_ALLOWED","msg":"x"}`,
			surface.Outcome{Class: surface.Refused}, surface.Outcome{Class: surface.Refused}},
		{"markup that breaks the server", 400, nil, `{"result":"error","code":"BAD_REQUEST","msg":"Unable to render message"}`,
			surface.Outcome{Class: surface.Refused, Markup: true}, surface.Outcome{Class: surface.Refused, Markup: true}},
		{"a message that is gone, in any language", 400, nil, `{"result":"error","code":"BAD_REQUEST","msg":"Ungültige Nachricht(en)"}`,
			surface.Outcome{Class: surface.Refused}, surface.Outcome{Class: surface.Refused, Gone: true}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, nil)
				s.net = surfacetest.NewNet(t, answers(c.status, c.header, c.body))
				b := s.surface()
				got := b.Send(t.Context(), topic, post("words"))
				s.compare("send", got, c.send)
				s.compare("edit", b.Edit(t.Context(), topic, "42", post("words")), c.edit)
			})
		})
	}
}

// compare leaves the detail to people, but for secrets.
func (s *scene) compare(what string, got, want surface.Outcome) {
	s.t.Helper()
	if strings.Contains(got.Detail, botKey) || got.Class != surface.Delivered && got.Detail == "" {
		s.t.Errorf("%s: the detail is %q", what, got.Detail)
	}
	detail := got.Detail
	got.Detail = ""
	if got != want {
		s.t.Errorf("%s: it is %+v (%s), not %+v", what, got, detail, want)
	}
}

func TestWaitsAreReadAsTheyAreTold(t *testing.T) {
	now := time.Unix(1000, 0)
	for value, want := range map[string]time.Duration{
		"": 0, "x": 0, "-1": 0, "NaN": 0, "0": 0, "2": 2 * time.Second, "0.0001": time.Millisecond, "+Inf": longestWait, "1e300": longestWait,
		"Thu, 01 Jan 1970 00:16:50 GMT": 10 * time.Second, "Thu, 01 Jan 1970 00:00:50 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q is %v, not %v", value, got, want)
		}
	}
}

func TestNoRequestIsMadeOfWhatCanBeNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, func(o *zulipfake.Options, k *keys) { o.MaxLength, k.Limit = 300, 400 })
		b := s.surface()
		refused := surface.Outcome{Class: surface.Refused}
		s.compare("no chat", b.Send(t.Context(), surface.Chat{ID: "general"}, post("x")), refused)
		s.compare("no chat", b.Edit(t.Context(), surface.Chat{ID: "general"}, "42", post("x")), refused)
		s.compare("no chat", b.Typing(t.Context(), surface.Chat{ID: "general"}), refused)
		s.compare("no message", b.Edit(t.Context(), topic, "x", post("x")), surface.Outcome{Class: surface.Refused, Gone: true})
		s.compare("over limit", b.Send(t.Context(), topic, post(strings.Repeat("語", 401))), refused)
		if n := len(s.server.Requests()); n != 0 {
			t.Errorf("%d requests were made", n)
		}
	})
}

func TestWhatTheServerWouldCutIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, func(o *zulipfake.Options, k *keys) { o.MaxLength, k.Limit = 300, 400 })
		b := s.surface()
		defer s.listen(b)()
		if !strings.Contains(s.log.String(), "limit=300") {
			t.Errorf("the log does not say what to set: %s", s.log)
		}
		out := b.Send(t.Context(), topic, post(strings.Repeat("語", 301)))
		if out.Class != surface.Refused || !strings.Contains(out.Detail, "set limit: 300") {
			t.Errorf("it is %+v", out)
		}
		s.compare("what fits", b.Send(t.Context(), topic, post(strings.Repeat("語", 300))), surface.Outcome{Class: surface.Delivered, PlatformID: "1001"})
		if seen := s.server.Shown(topic); len(seen) != 1 || seen[0].Text != strings.Repeat("語", 300) {
			t.Errorf("a reader sees %v", seen)
		}
	})
}

func TestAMessageThatCanNotBeEditedAnyMoreIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, func(o *zulipfake.Options, _ *keys) { o.EditTime = time.Minute })
		b := s.surface()
		b.Send(t.Context(), topic, post("old"))
		<-time.After(2 * time.Minute)
		s.compare("too late", b.Edit(t.Context(), topic, "1001", post("new")), surface.Outcome{Class: surface.Refused, Gone: true})
		id := s.server.Say(surface.Message{Chat: topic, Sender: iago, Text: "mine"})
		s.compare("somebody else's", b.Edit(t.Context(), topic, id, post("new")), surface.Outcome{Class: surface.Refused, Gone: true})
	})
}

func TestPostsGoToTheRightPeople(t *testing.T) {
	group := surface.Chat{ID: "direct:11-12"}
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		b := s.surface()
		stop := s.listen(b) // with a queue its name goes along
		for i, chat := range []surface.Chat{topic, {ID: "stream:7", Thread: "other"}, direct, group, {ID: "stream:8"}} {
			text := fmt.Sprintf("word%d", i)
			if out := b.Send(t.Context(), chat, post(text)); out.Class != surface.Delivered {
				t.Errorf("%v: %+v", chat, out)
			}
			if out := b.Typing(t.Context(), chat); out.Class != surface.Delivered {
				t.Errorf("%v: %+v", chat, out)
			}
			shown := chat
			if chat.Thread == "" && i == 4 {
				shown.Thread = noTopic
			}
			if seen := s.server.Shown(shown); len(seen) != 1 || seen[0].Text != text {
				t.Errorf("%v shows %v", chat, seen)
			}
			if typed := s.server.Typed(); len(typed) != i+1 || typed[i] != shown {
				t.Errorf("the bot is typing in %v", typed)
			}
			own, err := b.Own(t.Context(), chat, "")
			if err != nil || len(own) != 1 || own[0].Text != text {
				t.Errorf("%v reads back %v, %v", chat, own, err)
			}
		}
		out := b.Send(t.Context(), surface.Chat{ID: "stream:99", Thread: "x"}, post("x"))
		s.compare("no such channel", out, surface.Outcome{Class: surface.Refused, Gone: true})
		stop()
		if n := len(s.in.Taken()); n != 0 {
			t.Errorf("its own posts came back: %d", n)
		}
	})
}

func TestReadingBackBearsLongHistories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		b := s.surface()
		b.Send(t.Context(), topic, post("x"))
		long := strings.Repeat("word ", 1999)
		for i := range 60 {
			if out := b.Edit(t.Context(), topic, "1001", post(fmt.Sprint(long, i))); out.Class != surface.Delivered {
				t.Fatal(out)
			}
		}
		own, err := b.Own(t.Context(), topic, "")
		if err != nil || len(own) != 1 || !b.Same(own[0], long+"59") {
			t.Errorf("own posts: %d, %v", len(own), err)
		}
		if seen, err := b.Read(t.Context(), topic, "1001"); err != nil || !b.Same(seen, long+"59") {
			t.Errorf("read: %v", err)
		}
	})
}

func TestAtMostAHundredOwnPostsAreReadBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		b := s.surface()
		for i := range 130 {
			b.Send(t.Context(), topic, post(fmt.Sprint("word", i)))
		}
		newest, err := b.Own(t.Context(), topic, "")
		if err != nil || len(newest) != 100 || newest[99].Text != "word129" {
			t.Errorf("the newest: %d, %v", len(newest), err)
		}
		after, err := b.Own(t.Context(), topic, "1010")
		if err != nil || len(after) != 100 || after[0].Text != "word10" || after[99].Text != "word109" {
			t.Errorf("after the tenth: %d, %v", len(after), err)
		}
		s.server.Erase(topic, "1010")
		if again, err := b.Own(t.Context(), topic, "1010"); err != nil || len(again) != 100 || again[0].Text != "word10" {
			t.Errorf("after one that was deleted: %d, %v", len(again), err)
		}
	})
}

func TestReadingFailsWithoutSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, func(_ *zulipfake.Options, k *keys) { k.APIKey = "wrong-key-0123456789" })
		b := s.surface()
		_, err := b.Own(t.Context(), topic, "")
		_, err2 := b.Read(t.Context(), topic, "1001")
		for _, err := range []error{err, err2} {
			if err == nil || strings.Contains(err.Error(), "wrong-key") {
				t.Errorf("it says: %v", err)
			}
		}
		s.net.Down(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.Read(ctx, topic, "1001"); err == nil {
			t.Error("a message was read from nowhere")
		}
	})
}

// dying is a connection that can be made to take nothing any more.
type dying struct {
	net.Conn
	dead *atomic.Bool
}

func (c dying) Write(p []byte) (int, error) {
	if c.dead.Load() {
		return 0, errors.New("broken pipe")
	}
	return c.Conn.Write(p)
}

func TestTheLibraryRepeatsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		b := s.surface()
		transport := b.client.Transport.(*http.Transport)
		dial := transport.DialContext
		var dead atomic.Bool
		transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dial(ctx, network, address)
			if dead.Load() {
				return c, err // a new connection would do
			}
			return dying{c, &dead}, err
		}
		s.compare("first", b.Send(t.Context(), topic, post("one")), surface.Outcome{Class: surface.Delivered, PlatformID: "1001"})
		dead.Store(true)
		s.compare("on a dead connection", b.Send(t.Context(), topic, post("two")), surface.Outcome{Class: surface.Unknown})
		if seen := s.server.Shown(topic); len(seen) != 1 {
			t.Errorf("a reader sees %v", seen)
		}
	})
}
