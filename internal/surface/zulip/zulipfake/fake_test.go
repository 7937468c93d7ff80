package zulipfake

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"verbatim/internal/surface"
)

const form = "application/x-www-form-urlencoded"

func call(s *Server, key, method, path, kind, body string) (status int, text string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	r.SetBasicAuth("bot@example.org", key)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	raw, _ := io.ReadAll(w.Result().Body)
	return w.Code, string(raw)
}

func TestWhatTheRealServerRefusesIsRefused(t *testing.T) {
	cases := []struct {
		name, key, method, path, kind, body string
		status                              int
		has                                 string
	}{
		{"a wrong key", "x", "GET", "/api/v1/users/me", "", "", 401, "INVALID_API_KEY"},
		{"a wrong method", "key", "PUT", "/api/v1/messages", form, "content=x", 405, "error"},
		{"a wrong place", "key", "GET", "/api/v2/messages", "", "", 404, "<html>"},
		{"a body of another kind", "key", "POST", "/api/v1/messages", "application/json", `{"type":"stream"}`, 400, "error"},
		{"a parameter that there is not", "key", "POST", "/api/v1/messages", form, "type=stream&to=7&topic=t&content=x&reply_to=1", 400, "reply_to"},
		{"no topic", "key", "POST", "/api/v1/messages", form, "type=stream&to=7&content=x", 400, "Missing topic"},
		{"no such channel", "key", "POST", "/api/v1/messages", form, "type=stream&to=8&topic=t&content=x", 400, "STREAM_DOES_NOT_EXIST"},
		{"no such person", "key", "POST", "/api/v1/messages", form, "type=direct&to=[99]&content=x", 400, "Invalid user ID"},
		{"an empty message", "key", "POST", "/api/v1/messages", form, "type=stream&to=7&topic=t&content=%0a+", 400, "must not be empty"},
		{"a NUL", "key", "POST", "/api/v1/messages", form, "type=stream&to=7&topic=t&content=a%00b", 400, "null bytes"},
		{"a queue without a local id", "key", "POST", "/api/v1/messages", form, "type=stream&to=7&topic=t&content=a&queue_id=q", 400, "Missing local_id"},
		{"an edit of nothing", "key", "PATCH", "/api/v1/messages/99", form, "content=x", 400, "Invalid message"},
		{"a list without numbers", "key", "GET", "/api/v1/messages?anchor=newest", "", "", 400, "num_before"},
		{"a filter that there is not", "key", "GET", "/api/v1/messages?anchor=oldest&num_before=0&num_after=9&narrow=[{%22operator%22:%22x%22}]", "", "", 400, "BAD_NARROW"},
		{"a queue that there is not", "key", "GET", "/api/v1/events?queue_id=x&last_event_id=-1", "", "", 400, "BAD_EVENT_QUEUE_ID"},
		{"typing nowhere", "key", "POST", "/api/v1/typing", form, "type=stream&op=start", 400, "error"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := New(Options{Email: "bot@example.org", Key: "key", Name: "Bot", Channels: map[int64]string{7: "general"}})
			s.Say(surface.Message{Chat: surface.Chat{ID: "stream:7", Thread: "t"}, Sender: surface.Person{ID: "a@example.org"}, Text: "x"})
			status, text := call(s, c.key, c.method, c.path, c.kind, c.body)
			if status != c.status || !strings.Contains(text, c.has) {
				t.Errorf("it answers %d %s", status, text)
			}
		})
	}
}

func TestLongTextIsCutWithoutAWord(t *testing.T) {
	s := New(Options{Email: "bot@example.org", Key: "key", Name: "Bot", Channels: map[int64]string{7: "general"}, MaxLength: 30})
	status, text := call(s, "key", "POST", "/api/v1/messages", form, "type=stream&to=7&topic=t&content=%0a"+strings.Repeat("x", 31)+"+")
	seen := s.Shown(surface.Chat{ID: "stream:7", Thread: "T"})
	if status != http.StatusOK || len(seen) != 1 || seen[0].Text != strings.Repeat("x", 10)+"\n[message truncated]" {
		t.Errorf("it answers %d %s and shows %v", status, text, seen)
	}
}

func TestTheLimitIsHeld(t *testing.T) {
	now := time.Unix(1000, 0)
	s := New(Options{Email: "bot@example.org", Key: "key", Name: "Bot", PerMinute: 2, Now: func() time.Time { return now }})
	for i, want := range []int{200, 200, 429} {
		if status, text := call(s, "key", "GET", "/api/v1/users/me", "", ""); status != want {
			t.Errorf("call %d: %d %s", i, status, text)
		}
		now = now.Add(10 * time.Second)
	}
	now = now.Add(30 * time.Second)
	if status, text := call(s, "key", "GET", "/api/v1/users/me", "", ""); status != http.StatusOK {
		t.Errorf("after the wait: %d %s", status, text)
	}
}
