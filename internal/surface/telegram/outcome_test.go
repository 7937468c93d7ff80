package telegram_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/surface"
	"verbatim/internal/surface/telegram"
)

// roundTrip answers a request without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answering returns a bot whose server gives one answer.
func answering(t *testing.T, status int, body string) surface.Surface {
	t.Helper()
	return over(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		if _, err := io.ReadAll(r.Body); err != nil {
			t.Error(err)
		}
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}))
}

func over(t *testing.T, transport http.RoundTripper) surface.Surface {
	t.Helper()
	s, err := telegram.Platform.New(surface.Setup{
		Name: "phone", Keys: telegram.KeysOf(telegram.Options{Token: token}), Now: time.Now,
		Client: &http.Client{Transport: transport},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	deliveredClass = surface.Delivered
	notTaken       = surface.NotTaken
	refused        = surface.Refused
	unknown        = surface.Unknown
)

func TestOutcomes(t *testing.T) {
	type outcome = surface.Outcome
	bad := func(description string) string {
		return `{"ok":false,"error_code":400,"description":"Bad Request: ` + description + `"}`
	}
	for _, c := range []struct {
		name       string
		status     int
		body       string
		send, edit outcome
	}{
		{"made", 200, `{"ok":true,"result":{"message_id":12,"new_field":{}}}`, outcome{Class: deliveredClass, PlatformID: "12"}, outcome{Class: deliveredClass}},
		{"made, but which?", 200, `{"ok":true,"result":true}`, outcome{Class: unknown}, outcome{Class: deliveredClass}},
		{"a limit", 429, `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 9","parameters":{"retry_after":9}}`,
			outcome{Class: notTaken, RetryAfter: 9 * time.Second}, outcome{Class: notTaken, RetryAfter: 9 * time.Second}},
		{"E4: a limit inside a 200", 200, `{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":30}}`,
			outcome{Class: notTaken, RetryAfter: 30 * time.Second}, outcome{Class: notTaken, RetryAfter: 30 * time.Second}},
		{"a limit without a time", 429, `{"ok":false,"error_code":429,"description":"Too Many Requests"}`, outcome{Class: notTaken}, outcome{Class: notTaken}},
		{"a limit that is a gateway's", 429, `<html>slow down</html>`, outcome{Class: unknown}, outcome{Class: unknown}},
		{"a limit for ever", 429, `{"ok":false,"error_code":429,"parameters":{"retry_after":1e300}}`,
			outcome{Class: notTaken, RetryAfter: 8760 * time.Hour}, outcome{Class: notTaken, RetryAfter: 8760 * time.Hour}},
		{"its own trouble", 500, `{"ok":false,"error_code":500,"description":"Internal Server Error: restart"}`, outcome{Class: notTaken}, outcome{Class: notTaken}},
		{"its own trouble inside a 200", 200, `{"ok":false,"error_code":502,"description":"Bad Gateway"}`, outcome{Class: notTaken}, outcome{Class: notTaken}},
		{"a gateway", 502, `<html>bad gateway</html>`, outcome{Class: unknown}, outcome{Class: unknown}},
		{"a gateway with JSON", 503, `{"message":"no upstream"}`, outcome{Class: unknown}, outcome{Class: unknown}},
		{"a redirect", 302, ``, outcome{Class: unknown}, outcome{Class: unknown}},
		{"an empty 200", 200, ``, outcome{Class: unknown}, outcome{Class: unknown}},
		{"half an answer", 200, `{"ok":true,"result":{"message_`, outcome{Class: unknown}, outcome{Class: unknown}},
		{"a success that is none", 500, `{"ok":true,"result":{"message_id":1}}`, outcome{Class: unknown}, outcome{Class: unknown}},
		{"neither", 200, `{"ok":false}`, outcome{Class: unknown}, outcome{Class: unknown}},
		{"endless", 200, strings.Repeat(" ", 2<<20) + `{"ok":true,"result":{"message_id":1}}`, outcome{Class: unknown}, outcome{Class: unknown}},

		{"so already", 400, bad("message is not modified: specified new message content"), outcome{Class: refused}, outcome{Class: deliveredClass}},
		{"markup", 400, bad("can't parse entities: Unsupported start tag"), outcome{Class: refused, Markup: true}, outcome{Class: refused, Markup: true}},
		{"too long", 400, bad("message is too long"), outcome{Class: refused, Markup: true}, outcome{Class: refused, Markup: true}},
		{"entities too long", 400, bad("ENTITIES_TOO_LONG"), outcome{Class: refused, Markup: true}, outcome{Class: refused, Markup: true}},
		{"a deleted message", 400, bad("message to edit not found"), outcome{Class: refused, Gone: true}, outcome{Class: refused, Gone: true}},
		{"a message of others", 400, bad("message can't be edited"), outcome{Class: refused, Gone: true}, outcome{Class: refused, Gone: true}},
		{"a chat that is not there", 400, bad("chat not found"), outcome{Class: refused, Gone: true}, outcome{Class: refused, Gone: true}},
		{"a topic that is not there", 400, bad("message thread not found"), outcome{Class: refused, Gone: true}, outcome{Class: refused, Gone: true}},
		{"a chat where it may not write", 400, bad("not enough rights to send text messages to the chat"), outcome{Class: refused, Gone: true}, outcome{Class: refused, Gone: true}},
		{"blocked", 403, `{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}`, outcome{Class: refused, Gone: true}, outcome{Class: refused, Gone: true}},
		{"moved", 400, `{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded","parameters":{"migrate_to_chat_id":-1009}}`,
			outcome{Class: refused, Gone: true}, outcome{Class: refused, Gone: true}},
		{"another refusal", 400, bad("BUTTON_DATA_INVALID"), outcome{Class: refused}, outcome{Class: refused}},
		{"words that only quote a reason", 400, bad("BUTTON_TEXT_INVALID: chat not found"), outcome{Class: refused}, outcome{Class: refused}},
		{"a token that is none", 401, `{"ok":false,"error_code":401,"description":"Unauthorized"}`, outcome{Class: refused}, outcome{Class: refused}},
		{"too much", 413, `{"ok":false,"error_code":413,"description":"Request Entity Too Large"}`, outcome{Class: refused}, outcome{Class: refused}},
		{"the token in the words", 400, bad("no such bot " + token), outcome{Class: refused}, outcome{Class: refused}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := answering(t, c.status, c.body)
			chat, p := surface.Chat{ID: "-5"}, surface.Post{ID: "p1", Text: "words"}
			check := func(call string, got, want outcome) {
				t.Helper()
				if got.Class != deliveredClass && got.Detail == "" || strings.Contains(got.Detail, "secret-of") {
					t.Errorf("%s: the detail is %q", call, got.Detail)
				}
				got.Detail = ""
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", call, diff)
				}
			}
			check("send", s.Send(t.Context(), chat, p), c.send)
			check("edit", s.Edit(t.Context(), chat, "12", p), c.edit)
			p.Plain = true
			c.send.Markup, c.edit.Markup = false, false
			check("plain send", s.Send(t.Context(), chat, p), c.send)
			check("plain edit", s.Edit(t.Context(), chat, "12", p), c.edit)
			want := c.send
			want.PlatformID = ""
			if c.status == 200 && strings.HasPrefix(c.body, `{"ok":true,"result":true`) {
				want.Class = deliveredClass
			}
			check("typing", s.Typing(t.Context(), chat), typing(want, c.body))
		})
	}
}

// typing is like a send, but no markup is in it.
func typing(o surface.Outcome, body string) surface.Outcome {
	o.Markup = strings.Contains(body, "can't parse") || strings.Contains(body, "too long") || strings.Contains(body, "TOO_LONG")
	return o
}

func TestIDsOfOtherPlatformsAreRefusedWithoutACall(t *testing.T) {
	s := over(t, roundTrip(func(*http.Request) (*http.Response, error) {
		t.Error("a call was made")
		return nil, errors.New("no")
	}))
	p := surface.Post{ID: "p1", Text: "words"}
	for _, chat := range []surface.Chat{{ID: "general"}, {ID: ""}, {ID: "1", Thread: "topic"}, {ID: "1", Thread: "-2"}} {
		for _, o := range []surface.Outcome{
			s.Send(t.Context(), chat, p), s.Edit(t.Context(), chat, "1", p), s.Typing(t.Context(), chat),
		} {
			if o.Class != refused || !o.Gone || o.Detail == "" {
				t.Errorf("%+v: %+v", chat, o)
			}
		}
	}
	if o := s.Edit(t.Context(), surface.Chat{ID: "1"}, "1700.5", p); o.Class != refused || !o.Gone {
		t.Errorf("%+v", o)
	}
}

// TestACallThatNeverGotAConnectionWasNotTaken: the time may be over before there
// is anybody to send it to.
func TestACallThatNeverGotAConnectionWasNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		given := make(chan struct{})
		defer close(given)
		s := over(t, &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			<-given
			return nil, errors.New("too late")
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if o := s.Send(ctx, surface.Chat{ID: "1"}, surface.Post{Text: "a"}); o.Class != notTaken {
			t.Errorf("%+v", o)
		}
	})
}

func TestAPictureThatIsTooLargeForOneIsADocument(t *testing.T) {
	for size, want := range map[int]string{10_000_000: "/sendPhoto", 10_000_001: "/sendDocument"} {
		s := over(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			if !strings.HasSuffix(r.URL.Path, want) {
				t.Errorf("%d bytes go to %s", size, r.URL.Path[strings.LastIndexByte(r.URL.Path, '/'):])
			}
			return nil, errors.New("enough seen")
		}))
		p := surface.Post{Text: "a", Files: []surface.File{{Name: "p.png", MIME: "image/png", Data: make([]byte, size)}}}
		s.Send(t.Context(), surface.Chat{ID: "1"}, p)
	}
}
