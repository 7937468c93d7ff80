package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/chat"
	"verbatim/internal/id"
)

func post(path, body string) ask { return ask{method: "POST", path: path, body: body} }

func TestSend(t *testing.T) {
	rows := []struct {
		name, body string
		want       chat.SendRequest
	}{
		{"least", `{"prompt":"hi"}`, chat.SendRequest{Conversation: "default", Prompt: "hi"}},
		{"chat_id", `{"prompt":"hi","chat_id":"c.1_-"}`, chat.SendRequest{Conversation: "c.1_-", Prompt: "hi"}},
		{"session", `{"prompt":"hi","session":"s1"}`, chat.SendRequest{Conversation: "s1", Prompt: "hi"}},
		{"chat_id before session", `{"prompt":"hi","session":"s1","chat_id":"c1"}`, chat.SendRequest{Conversation: "c1", Prompt: "hi"}},
		{"null is absent", `{"prompt":"hi","session":"s1","chat_id":null,"run_id":null,"tools":null,"regenerate_of":null,"attachments":null}`, chat.SendRequest{Conversation: "s1", Prompt: "hi"}},
		{"run_id", `{"prompt":"hi","run_id":"r1"}`, chat.SendRequest{Conversation: "default", Run: "r1", Prompt: "hi"}},
		{"no tools", `{"prompt":"hi","tools":false}`, chat.SendRequest{Conversation: "default", Prompt: "hi", NoTools: true}},
		{"tools", `{"prompt":"hi","tools":true}`, chat.SendRequest{Conversation: "default", Prompt: "hi"}},
		{"again", `{"regenerate_of":0}`, chat.SendRequest{Conversation: "default", Regenerate: &chat.Target{}}},
		{"again with the prompt", `{"prompt":"hi","regenerate_of":0}`, chat.SendRequest{Conversation: "default", Prompt: "hi", Regenerate: &chat.Target{}}},
		{"no attachments", `{"prompt":"hi","attachments":[]}`, chat.SendRequest{Conversation: "default", Prompt: "hi"}},
		{"unknown members", `{"prompt":"hi","mood":{"x":[1]}}`, chat.SendRequest{Conversation: "default", Prompt: "hi"}},
		{"text is kept", `{"prompt":"  é \u0000\r\n\ud83d\ude00\\ud800 \t"}`, chat.SendRequest{Conversation: "default", Prompt: "  é \x00\r\n😀\\ud800 \t"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w, api := newWorld(t, nil)
			rec := post("/chat", row.body).of(api)
			if rec.Code != http.StatusOK || rec.Header().Get("Content-Type") != "text/event-stream" {
				t.Fatalf("answer = %d %s", rec.Code, rec.Body)
			}
			row.want.Via.Surface = "api"
			if diff := cmp.Diff([]chat.SendRequest{row.want}, w.sent); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
			if got := strings.Join(w.calls, ", "); got != "send, serve" {
				t.Errorf("calls = %s", got)
			}
		})
	}
}

func TestSendRefusesBadInputAndDoesNothing(t *testing.T) {
	rows := []struct {
		name, body string
		kind       Kind
		says       string
	}{
		{"no JSON", `{nope`, Invalid, "JSON"},
		{"cut off", `{"prompt":"hi"`, Invalid, "JSON"},
		{"two objects", `{"prompt":"hi"}{"prompt":"ho"}`, Invalid, "JSON"},
		{"a list", `["prompt"]`, Invalid, "object"},
		{"a string", `"hi"`, Invalid, "object"},
		{"null", `null`, Invalid, "object"},
		{"nothing but a space", ` `, Invalid, "empty"},
		{"prompt twice", `{"prompt":"hi","prompt":"ho"}`, Invalid, "twice"},
		{"not UTF-8", "{\"prompt\":\"\xff\"}", Invalid, "UTF-8"},
		{"half a surrogate pair", `{"prompt":"\ud83d"}`, Invalid, "surrogate"},
		{"the other half", `{"prompt":"x\ude00"}`, Invalid, "surrogate"},
		{"two first halves", `{"prompt":"\ud83d\ud83d\ude00"}`, Invalid, "surrogate"},
		{"half before an escape", `{"prompt":"\ud83d\n"}`, Invalid, "surrogate"},
		{"no prompt", `{}`, Invalid, "prompt"},
		{"null prompt", `{"prompt":null}`, Invalid, "prompt"},
		{"number for prompt", `{"prompt":7}`, Invalid, "prompt must be a string"},
		{"list for prompt", `{"prompt":["hi"]}`, Invalid, "prompt must be a string"},
		{"prompt in capitals", `{"Prompt":"hi"}`, Invalid, "prompt is missing"},
		{"path for chat_id", `{"prompt":"x","chat_id":"../../etc"}`, Invalid, "chat_id"},
		{"empty chat_id", `{"prompt":"x","chat_id":""}`, Invalid, "chat_id"},
		{"number for chat_id", `{"prompt":"x","chat_id":7}`, Invalid, "chat_id must be a string"},
		{"long chat_id", `{"prompt":"x","chat_id":"` + strings.Repeat("c", 65) + `"}`, Invalid, "chat_id"},
		{"letters beyond ASCII", `{"prompt":"x","session":"é"}`, Invalid, "chat_id"},
		{"empty run_id", `{"prompt":"x","run_id":""}`, Invalid, "run_id"},
		{"bad run_id", `{"prompt":"x","run_id":"a b"}`, Invalid, "run_id"},
		{"word for tools", `{"prompt":"x","tools":"no"}`, Invalid, "tools"},
		{"word for a row", `{"prompt":"x","regenerate_of":"0"}`, Invalid, "regenerate_of"},
		{"half a row", `{"prompt":"x","regenerate_of":0.5}`, Invalid, "regenerate_of"},
		{"row before the first", `{"prompt":"x","regenerate_of":-1}`, Invalid, "regenerate_of"},
		{"row beyond all", `{"prompt":"x","regenerate_of":99999999999999999999}`, Invalid, "regenerate_of"},
		{"attachments that are no list", `{"prompt":"x","attachments":{}}`, Invalid, "attachments"},
		{"prompt too long", `{"prompt":"` + strings.Repeat("x", chat.MaxPromptBytes+1) + `"}`, TooLarge, "1 MiB"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w, api := newWorld(t, nil)
			rec := post("/chat", row.body).of(api)
			wantError(t, rec, row.kind)
			if !strings.Contains(rec.Body.String(), row.says) {
				t.Errorf("error = %s, want it to say %q", rec.Body, row.says)
			}
			if len(w.sent) > 0 {
				t.Errorf("sent %v", w.sent)
			}
		})
	}
	t.Run("body over 16 MiB", func(t *testing.T) {
		w, api := newWorld(t, nil)
		body := `{"prompt":"hi","x":"` + strings.Repeat("x", MaxBodyBytes) + `"}`
		wantError(t, post("/chat", body).of(api), TooLarge)
		r := post("/chat", body).request()
		r.ContentLength = -1 // as a chunked body comes
		wantError(t, serve(api, r), TooLarge)
		if len(w.sent) > 0 {
			t.Error("it was sent")
		}
	})
}

func TestSendTakesACursor(t *testing.T) {
	rows := []struct {
		name, header, query string
		want                *id.Cursor
		bad                 bool
	}{
		{name: "none"},
		{name: "header", header: "e1-7", want: &id.Cursor{Epoch: "e1", Seq: 7}},
		{name: "query", query: "?after=e1-8", want: &id.Cursor{Epoch: "e1", Seq: 8}},
		{name: "both", header: "e1-9", query: "?after=e1-8", want: &id.Cursor{Epoch: "e1", Seq: 9}},
		{name: "nonsense", header: "7", bad: true},
		{name: "nonsense in the query", query: "?after=e1--1", bad: true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w, api := newWorld(t, nil)
			a := post("/chat"+row.query, goodBody)
			a.header = header{"Last-Event-ID": row.header}
			rec := a.of(api)
			if row.bad {
				wantError(t, rec, Invalid)
				if len(w.sent) > 0 {
					t.Error("a run was started for a cursor that is none")
				}
				return
			}
			if diff := cmp.Diff(row.want, w.cursor); diff != "" {
				t.Errorf("cursor (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	for name, a := range map[string]ask{
		"by path": {method: "POST", path: "/cancel/r1"},
		"by body": post("/cancel", `{"run_id":"r1"}`),
	} {
		t.Run(name, func(t *testing.T) {
			w, api := newWorld(t, nil)
			v := decode(t, a.of(api))
			if v["ok"] != true || v["run_id"] != "r1" {
				t.Errorf("answer = %v", v)
			}
			if diff := cmp.Diff([]string{"cancel r1 by owner"}, w.calls); diff != "" {
				t.Error(diff)
			}
		})
	}
	_, api := newWorld(t, nil)
	wantError(t, ask{method: "POST", path: "/cancel/gone"}.of(api), Missing)
	wantError(t, ask{method: "POST", path: "/cancel/a%20b"}.of(api), Invalid)
	wantError(t, post("/cancel", `{}`).of(api), Invalid)
	wantError(t, ask{method: "POST", path: "/cancel"}.of(api), Invalid)
}
