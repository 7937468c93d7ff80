package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"verbatim/internal/surface"
	"verbatim/internal/surface/surfacetest"
	"verbatim/internal/surface/webhook/webhookfake"
)

var newYear = time.Unix(1767225600, 0)

var somePost = surface.Post{
	ID: "p-1", Conversation: "alerts.t1", Run: "r-1", Kind: surface.KindAnswer, Seq: 42, Part: 2,
	Text: "  a <b> & \"c\"\n\té 😀", Final: true,
	// What a webhook has no use for is not in the body.
	Plain: true, ReplyTo: "x", Buttons: []surface.Button{{Label: "l", Data: "d"}}, Files: []surface.File{{Name: "f"}},
}

// sender is a surface that only sends.
func sender(t *testing.T, client *http.Client, d deliver) surface.Surface {
	t.Helper()
	k := Platform.Keys().(*keys)
	k.Deliver = d
	if d.Limit == 0 {
		k.Deliver.Limit = defaultLimit
	}
	return build(t, k, func(s *surface.Setup) {
		s.Now = func() time.Time { return newYear }
		if d.AllowPrivate {
			s.Client = client
		} else {
			s.Guarded = client
		}
	})
}

func answering(status int, header http.Header, body io.Reader) *http.Client {
	return &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if header == nil {
			header = http.Header{}
		}
		return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(body), Request: r}, nil
	}), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func TestBodyAndHeadersOfAPost(t *testing.T) {
	t.Parallel()
	const body = `{"post_id":"p-1","conversation":"alerts.t1","run_id":"r-1","kind":"answer","seq":42,"part":2,"text":"  a <b> & \"c\"\n\té 😀","final":true}`
	for _, private := range []bool{false, true} {
		var got *http.Request
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			got = r
			raw, err := io.ReadAll(r.Body)
			if err != nil || string(raw) != body {
				t.Errorf("the body is %s, %v", raw, err)
			}
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
		})}
		s := sender(t, client, deliver{URL: "https://far.example/in?a=b", Secret: outSecret, AllowPrivate: private})
		if o := s.Send(t.Context(), surface.Chat{ID: "t1"}, somePost); o.Class != surface.Delivered {
			t.Fatalf("it is %+v", o)
		}
		want := map[string]string{
			"Content-Type": "application/json", "User-Agent": "Verbatim", "Idempotency-Key": "p-1",
			"X-Verbatim-Timestamp": "1767225600",
			"X-Verbatim-Signature": "v1=4dc3f3929027abea9cb00dee96080cf17e98d2d77f8306260cb83b19662405ce",
		}
		for name, value := range want {
			if got.Header.Get(name) != value {
				t.Errorf("%s is %q, not %q", name, got.Header.Get(name), value)
			}
		}
		if got.Method != http.MethodPost || got.URL.String() != "https://far.example/in?a=b" || len(got.Header) != len(want) {
			t.Errorf("it is %s %s with %v", got.Method, got.URL, got.Header)
		}
	}
}

func TestOutcomeOfAnAnswer(t *testing.T) {
	t.Parallel()
	after := func(v string) http.Header { return http.Header{"Retry-After": {v}} }
	limited := func(d time.Duration) surface.Outcome {
		return surface.Outcome{Class: surface.NotTaken, RetryAfter: d, Wide: d > 0}
	}
	delivered := func(id string) surface.Outcome { return surface.Outcome{Class: surface.Delivered, PlatformID: id} }
	unknown, refused := surface.Outcome{Class: surface.Unknown}, surface.Outcome{Class: surface.Refused}
	for name, c := range map[string]struct {
		status int
		header http.Header
		body   string
		want   surface.Outcome
	}{
		"an id that is text":           {200, nil, `{"id":"abc","more":[1]}`, delivered("abc")},
		"an id that is a number":       {201, nil, `{"id":12345678901234567890}`, delivered("12345678901234567890")},
		"no id":                        {202, nil, `{"ok":true}`, delivered("")},
		"an id that is null":           {200, nil, `{"id":null}`, delivered("")},
		"an id that is an object":      {200, nil, `{"id":{}}`, delivered("")},
		"an id that is a truth value":  {200, nil, `{"id":true}`, delivered("")},
		"an id without end":            {200, nil, `{"id":"` + strings.Repeat("x", 600) + `"}`, delivered("")},
		"no content":                   {204, nil, "", delivered("")},
		"a page":                       {200, nil, "<html>ok</html>", delivered("")},
		"half an answer":               {200, nil, `{"id":"ab`, delivered("")},
		"a list":                       {200, nil, `["id"]`, delivered("")},
		"a status nobody knows":        {299, nil, `{"id":"x"}`, delivered("x")},
		"too many, seconds":            {429, after("7"), "", limited(7 * time.Second)},
		"too many, part of a second":   {429, after("0.3"), "", limited(time.Second)},
		"too many, a date":             {429, after("Thu, 01 Jan 2026 00:01:30 GMT"), "", limited(90 * time.Second)},
		"too many, a date that is old": {429, after("Wed, 31 Dec 2025 00:01:30 GMT"), "", limited(0)},
		"too many, no time":            {429, nil, "", limited(0)},
		"too many, nonsense":           {429, after("soon"), "", limited(0)},
		"too many, not a number":       {429, after("NaN"), "", limited(0)},
		"too many, less than nothing":  {429, after("-5"), "", limited(0)},
		"too many, for ever":           {429, after("99999999999999999999"), "", limited(100 * 365 * 24 * time.Hour)},
		"away, seconds":                {503, after("120"), "", limited(2 * time.Minute)},
		"away, at once":                {503, after("0"), "", limited(0)},
		"away, no time":                {503, nil, "", unknown},
		"away, nonsense":               {503, after("soon"), "", unknown},
		"gone":                         {410, nil, "", surface.Outcome{Class: surface.Refused, Gone: true}},
		"not readable":                 {400, nil, "", refused},
		"no right":                     {401, nil, "", refused},
		"not found":                    {404, after("9"), "", refused},
		"too long":                     {413, nil, "", refused},
		"a broken program":             {500, nil, `{"id":"x"}`, unknown},
		"a gateway":                    {502, nil, "<html>", unknown},
		"a gateway's patience":         {504, after("9"), "<html>", unknown},
		"moved":                        {301, http.Header{"Location": {"https://elsewhere.example/"}}, "", unknown},
		"moved, with its body":         {307, http.Header{"Location": {"https://elsewhere.example/"}}, "", unknown},
		"not modified":                 {304, nil, "", unknown},
		"no status at all":             {999, nil, "", unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sender(t, answering(c.status, c.header, strings.NewReader(c.body)), deliver{URL: "https://far.example/" + urlToken, Secret: outSecret})
			got := s.Send(t.Context(), surface.Chat{ID: "t1"}, somePost)
			if got.Detail == "" || strings.Contains(got.Detail, urlToken) {
				t.Errorf("the detail is %q", got.Detail)
			}
			got.Detail = ""
			if got != c.want {
				t.Errorf("it is %+v, not %+v", got, c.want)
			}
		})
	}
}

// endless is a body that begins and never goes on.
type endless struct {
	ctx   context.Context
	begun bool
}

func (e *endless) Read(p []byte) (int, error) {
	if !e.begun {
		e.begun = true
		return copy(p, `{"id":"ab`), nil
	}
	<-e.ctx.Done()
	return 0, e.ctx.Err()
}

func TestA2xxIsAReceiptWithoutItsBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(&endless{ctx: r.Context()}), Request: r}, nil
		})}
		s := sender(t, client, deliver{URL: "https://far.example/in", Secret: outSecret})
		start := time.Now()
		if o := s.Send(t.Context(), surface.Chat{}, somePost); o.Class != surface.Delivered || o.PlatformID != "" {
			t.Errorf("it is %+v", o)
		}
		if took := time.Since(start); took != bodyWait {
			t.Errorf("it took %v", took)
		}
	})
	broken := io.MultiReader(strings.NewReader(`{"id":"ab"}`), brokenReader{})
	s := sender(t, answering(200, nil, broken), deliver{URL: "https://far.example/in", Secret: outSecret})
	if o := s.Send(t.Context(), surface.Chat{}, somePost); o.Class != surface.Delivered || o.PlatformID != "ab" {
		t.Errorf("with a body that breaks it is %+v", o)
	}
	s = sender(t, answering(200, nil, io.MultiReader(strings.NewReader(`{"id":"ab","x":"`), zeros{})), deliver{URL: "https://far.example/in", Secret: outSecret})
	if o := s.Send(t.Context(), surface.Chat{}, somePost); o.Class != surface.Delivered || o.PlatformID != "" {
		t.Errorf("with a body without end it is %+v", o)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

// zeros is a text of "0" without end.
type zeros struct{}

var digits = bytes.Repeat([]byte("0"), 64<<10)

func (zeros) Read(p []byte) (int, error) {
	return copy(p, digits), nil
}

func TestOutcomeWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	failing := func(err error) dialer { return func() (net.Conn, error) { return nil, err } }
	for name, c := range map[string]struct {
		dial dialer
		want surface.Class
	}{
		"no such host":               {failing(&net.DNSError{Err: "no such host", IsNotFound: true}), surface.NotTaken},
		"an address that is guarded": {failing(errors.New("not on the public internet")), surface.NotTaken},
		"connecting takes too long": {func() (net.Conn, error) {
			<-time.After(time.Minute)
			return nil, errors.New("too late")
		}, surface.NotTaken},
		"an answer that is no HTTP": {notHTTP, surface.Unknown},
		"an answer that never ends": {headersWithoutEnd, surface.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return c.dial() }}
				s := sender(t, &http.Client{Transport: transport}, deliver{URL: "http://far.example/" + urlToken, Secret: outSecret})
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
				defer cancel()
				o := s.Send(ctx, surface.Chat{}, somePost)
				if o.Class != c.want || o.Detail == "" || strings.Contains(o.Detail, urlToken) {
					t.Errorf("it is %+v, not %s", o, c.want)
				}
				<-time.After(time.Minute) // the library goes on connecting by itself
			})
		})
	}
	unwatched := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("broken") })}
	s := sender(t, unwatched, deliver{URL: "http://far.example/", Secret: outSecret})
	if o := s.Send(t.Context(), surface.Chat{}, somePost); o.Class != surface.Unknown {
		t.Errorf("a call that nobody could follow is %+v", o)
	}
}

type dialer func() (net.Conn, error)

// speaking is a far end that reads a request and says what it always says.
func speaking(after func(net.Conn)) (net.Conn, error) {
	here, there := net.Pipe()
	go func() {
		defer there.Close()
		if _, err := there.Read(make([]byte, 64<<10)); err == nil {
			after(there)
		}
	}()
	return here, nil
}

func notHTTP() (net.Conn, error) {
	return speaking(func(c net.Conn) {
		c.Write([]byte("SSH-2.0-OpenSSH\r\n\r\n"))
	})
}

func headersWithoutEnd() (net.Conn, error) {
	return speaking(func(c net.Conn) {
		c.Write([]byte("HTTP/1.1 200 OK\r\n"))
		for {
			if _, err := c.Write([]byte("X-More: and more\r\n")); err != nil {
				return
			}
			<-time.After(time.Second)
		}
	})
}

// The lengths are those of answers that once were lost on their way through a
// webhook: each began with line breaks, which were sent instead of the answer.
func TestAnswersOfKnownLengthsArriveWhole(t *testing.T) {
	t.Parallel()
	for _, n := range []int{44, 71, 223, 335, 356, 439, 780, 785, 1314} {
		for _, blank := range []string{"", "\n\n"} {
			t.Run(fmt.Sprintf("%d after %q", n, blank), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { arrivesWhole(t, blank, answerOf(n)) })
			})
		}
	}
}

func arrivesWhole(t *testing.T, blank, answer string) {
	far := webhookfake.New(webhookfake.Options{Secret: outSecret})
	k := Platform.Keys().(*keys)
	k.Deliver.URL, k.Deliver.Secret = "http://far.example/in", outSecret
	s := build(t, k, func(s *surface.Setup) { s.Guarded = surfacetest.NewNet(t, far).Client(t) })
	p := somePost
	var size int
	if p.Text, size = s.Render(blank+answer, false); size != utf8.RuneCountInString(answer) {
		t.Errorf("the size is %d", size)
	}
	if o := s.Send(t.Context(), surface.Chat{}, p); o.Class != surface.Delivered || o.PlatformID != "p1" {
		t.Errorf("it is %+v", o)
	}
	if got := far.Posts(); len(got) != 1 || got[0].Text != answer || !got[0].Final {
		t.Errorf("a reader sees %+v", got)
	}
	if wrong := far.Wrong(); wrong != nil {
		t.Errorf("the receiver found %q", wrong)
	}
}

// answerOf returns an answer of n characters with paragraphs, indentation and
// characters of several bytes.
func answerOf(n int) string {
	var b strings.Builder
	for i := 0; utf8.RuneCountInString(b.String()) < n; i++ {
		fmt.Fprintf(&b, "слово%d é😀\n\n    indented  %d\t", i, i)
	}
	return string([]rune(b.String())[:n-1]) + "."
}

func TestAMuteWebhookRefusesPosts(t *testing.T) {
	t.Parallel()
	k := Platform.Keys().(*keys)
	k.Secret = inSecret
	s := build(t, k)
	if !s.Caps().Mute {
		t.Error("it is not mute")
	}
	for name, o := range map[string]surface.Outcome{
		"send":   s.Send(t.Context(), surface.Chat{}, somePost),
		"edit":   s.Edit(t.Context(), surface.Chat{}, "p1", somePost),
		"typing": s.Typing(t.Context(), surface.Chat{}),
	} {
		if o.Class != surface.Refused || o.Detail == "" {
			t.Errorf("%s: it is %+v", name, o)
		}
	}
}
