package telegram_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"verbatim/internal/surface"
	"verbatim/internal/surface/surfacetest"
	"verbatim/internal/surface/telegram"
	"verbatim/internal/surface/telegram/telegramfake"
)

// FuzzUpdate: whatever a call of the webhook holds, it is answered, and what is
// taken of it is text.
func FuzzUpdate(f *testing.F) {
	for _, seed := range []string{
		`{"update_id":1,"message":{"message_id":5,"chat":{"id":815,"type":"private"},"from":{"id":815},"text":"words"}}`,
		`{"update_id":1,"message":{"chat":{"id":-1},"text":"@verbatim_bot a","entities":[{"type":"mention","offset":0,"length":13}]}}`,
		`{"update_id":1,"message":{"text":"😀@verbatim_bot","entities":[{"type":"bot_command","offset":9,"length":-7}]}}`,
		`{"update_id":1,"edited_message":{"caption":"a","caption_entities":[{"type":"text_mention","user":{"id":4711},"offset":0,"length":1}]}}`,
		`{"update_id":1,"callback_query":{"id":"1","from":{"id":1},"message":{"chat":{"id":1}},"data":"x"}}`,
		`{"update_id":1,"message":{"photo":[{"file_id":"a","file_size":9},{"file_size":-1}],"document":{"file_size":1e9}}}`,
		`{"message":null}`, `[]`, ``,
	} {
		f.Add([]byte(seed))
	}
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		body := `{"ok":false,"error_code":400,"description":"Bad Request: no"}`
		if strings.HasSuffix(r.URL.Path, "/getMe") {
			body = `{"ok":true,"result":{"id":4711,"is_bot":true,"username":"verbatim_bot"}}`
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})}
	s, err := telegram.Platform.New(surface.Setup{
		Name: "phone", Keys: telegram.KeysOf(telegram.Options{Token: token, Webhook: true}), Client: client,
		PublicURL: "https://verbatim.example", Logger: surfacetest.NewLog().Logger(),
	})
	if err != nil {
		f.Fatal(err)
	}
	hook, ok := s.(surface.Hook)
	if !ok {
		f.Fatalf("%T is no Hook", s)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks/phone", bytes.NewReader(body))
		r.Header.Set("X-Telegram-Bot-Api-Secret-Token", telegram.ProofOf(token))
		w := httptest.NewRecorder()
		var in surfacetest.Inbox
		hook.ServeHook(w, r, &in)
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest {
			t.Errorf("the status is %d", w.Code)
		}
		for _, m := range in.Taken() {
			if !utf8.ValidString(m.Text) || m.Text == "" && len(m.Files)+len(m.Refused) == 0 {
				t.Errorf("it took %+v", m)
			}
		}
	})
}

// FuzzParseHTML: the far end of the tests takes or refuses any text, and what it
// takes has its entities inside.
func FuzzParseHTML(f *testing.F) {
	for _, seed := range []string{
		"a", "<b>a</b>", "<b><i>a</i>b</b>", "<pre><code class=\"language-go\">a</code></pre>", "<a href=\"x&amp;y\">😀</a>",
		"<blockquote><code>a</code></blockquote>", "&lt;&#65;&#x41;", "<b>a", "</b>", "<b></b>", "<x>", "<b><code>a</code></b>", "&nbsp;", "a > b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		text, entities, err := telegramfake.ParseHTML(source)
		if err != nil {
			return
		}
		units := 0
		for _, c := range text {
			units++
			if c > 0xFFFF {
				units++
			}
		}
		for _, e := range entities {
			if e.Length < 1 || e.Offset < 0 || e.Offset+e.Length > units {
				t.Errorf("%q has %+v in a text of %d units", source, e, units)
			}
		}
	})
}
