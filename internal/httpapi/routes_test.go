package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/chat"
	"verbatim/internal/id"
	"verbatim/internal/library"
	"verbatim/internal/sse"
	"verbatim/internal/turnlog"
)

func post(path, body string) ask { return ask{method: "POST", path: path, body: body} }

func TestSend(t *testing.T) {
	zero := 0
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
		{"again", `{"regenerate_of":0}`, chat.SendRequest{Conversation: "default", RegenerateOf: &zero}},
		{"again with the prompt", `{"prompt":"hi","regenerate_of":0}`, chat.SendRequest{Conversation: "default", Prompt: "hi", RegenerateOf: &zero}},
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
		{"attachments", `{"prompt":"x","attachments":[{"name":"a.txt","text":"x"}]}`, Invalid, "not supported by this version"},
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

func TestChats(t *testing.T) {
	w, api := newWorld(t, nil)
	if got := (ask{method: "GET", path: "/chats"}).of(api).Body.String(); got != `{"chats":[]}`+"\n" {
		t.Errorf("no chats = %s", got)
	}
	w.lines = []library.Line{{ID: "c1", Title: "T", Updated: 5, Count: 2, Project: "P"}}
	if got := (ask{method: "GET", path: "/chats"}).of(api).Body.String(); got != `{"chats":[{"id":"c1","title":"T","updated":5,"count":2,"project":"P"}]}`+"\n" {
		t.Errorf("chats = %s", got)
	}
	wantError(t, ask{method: "GET", path: "/chats/c2"}.of(api), Missing)
	wantError(t, ask{method: "GET", path: "/chats/%C3%A9"}.of(api), Invalid)
	wantError(t, ask{method: "GET", path: "/chats/c1/x"}.of(api), Missing)
	w.chat = library.Chat{ID: "c1", Messages: []library.Row{}}
	if v := decode(t, ask{method: "GET", path: "/chats/c1"}.of(api)); v["id"] != "c1" {
		t.Errorf("chat = %v", v)
	}
}

func TestChangesToChats(t *testing.T) {
	rows := []struct {
		name string
		ask  ask
		kind Kind
		want []string
	}{
		{"delete", ask{method: "DELETE", path: "/chats/c1"}, "", []string{"delete c1"}},
		{"title", ask{method: "PATCH", path: "/chats/c1", body: `{"title":" A b "}`}, "", []string{"rename c1  A b "}},
		{"project", ask{method: "PATCH", path: "/chats/c1", body: `{"project":""}`}, "", []string{"project c1 "}},
		{"both", ask{method: "PATCH", path: "/chats/c1", body: `{"title":"A","project":"B"}`}, "", []string{"rename c1 A", "project c1 B"}},
		{"nothing", ask{method: "PATCH", path: "/chats/c1", body: `{}`}, Invalid, nil},
		{"empty title", ask{method: "PATCH", path: "/chats/c1", body: `{"title":""}`}, Invalid, nil},
		{"blank title", ask{method: "PATCH", path: "/chats/c1", body: `{"title":" "}`}, Invalid, nil},
		{"title of two lines", ask{method: "PATCH", path: "/chats/c1", body: `{"title":"a\nb"}`}, Invalid, nil},
		{"long title", ask{method: "PATCH", path: "/chats/c1", body: `{"title":"` + strings.Repeat("é", 201) + `"}`}, Invalid, nil},
		{"good title, bad project", ask{method: "PATCH", path: "/chats/c1", body: `{"title":"A","project":7}`}, Invalid, nil},
		{"good title, blank project", ask{method: "PATCH", path: "/chats/c1", body: `{"title":"A","project":" "}`}, Invalid, nil},
		{"delete all", ask{method: "DELETE", path: "/chats", body: `{"confirm":true}`}, "", []string{"delete all"}},
		{"delete all, not sure", ask{method: "DELETE", path: "/chats", body: `{"confirm":false}`}, Invalid, nil},
		{"delete all, a word", ask{method: "DELETE", path: "/chats", body: `{"confirm":"true"}`}, Invalid, nil},
		{"delete all, no body", ask{method: "DELETE", path: "/chats"}, Invalid, nil},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w, api := newWorld(t, nil)
			rec := row.ask.of(api)
			if row.kind != "" {
				wantError(t, rec, row.kind)
			} else if v := decode(t, rec); v["ok"] != true || rec.Code != http.StatusOK {
				t.Errorf("answer = %d %v", rec.Code, v)
			}
			if diff := cmp.Diff(row.want, w.calls); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	w, api := newWorld(t, nil)
	v := decode(t, ask{method: "GET", path: "/settings"}.of(api))
	if v["model"] != "openai/fake" {
		t.Errorf("settings = %v", v)
	}
	v = decode(t, post("/settings", `{"temperature":0.2,"model":null}`).of(api))
	if v["model"] != "openai/fake" {
		t.Errorf("answer = %v, want the settings", v)
	}
	want := map[string]json.RawMessage{"temperature": json.RawMessage("0.2"), "model": json.RawMessage("null")}
	if diff := cmp.Diff(want, w.patch); diff != "" {
		t.Error(diff)
	}
	w.err = &chat.Error{Code: chat.Invalid, Message: "The setting temperature must be a number."}
	wantError(t, post("/settings", `{"temperature":"hot"}`).of(api), Invalid)
}

func TestHealth(t *testing.T) {
	room := true
	_, api := newWorld(t, func(o *Options) { o.HasRoom = func() bool { return room } })
	want := map[string]any{"ok": true, "version": 2.0, "product": "verbatim", "product_version": "1.2.3", "model": "openai/fake", "epoch": "e1"}
	if diff := cmp.Diff(want, decode(t, ask{method: "GET", path: "/health"}.of(api))); diff != "" {
		t.Error(diff)
	}
	ready := func() *httptest.ResponseRecorder { return ask{method: "GET", path: "/readyz", noToken: true}.of(api) }
	if rec := ready(); rec.Code != http.StatusOK {
		t.Errorf("ready = %d", rec.Code)
	}
	room = false
	wantError(t, ready(), Unavailable)
	room = true
	api.Drain()
	wantError(t, ready(), Unavailable)
	if rec := (ask{method: "GET", path: "/healthz", noToken: true}).of(api); rec.Code != http.StatusOK {
		t.Errorf("alive = %d", rec.Code)
	}
}

func TestPathsAndMethods(t *testing.T) {
	_, api := newWorld(t, nil)
	for _, p := range []string{"/no/such/route", "/chat/", "//chats", "/chats/", "/CHATS", "/assets/", "/assets/nope.js", "/assets/../index.html", "/assets/index.html", "/favicon.ico"} {
		t.Run("missing "+p, func(t *testing.T) { wantError(t, ask{method: "GET", path: p}.of(api), Missing) })
	}
	for _, row := range []struct{ method, path, allow string }{
		{"GET", "/chat", "POST"},
		{"PUT", "/chats", "DELETE, GET, HEAD"},
		{"POST", "/chats/c1", "DELETE, GET, HEAD, PATCH"},
		{"GET", "/cancel/r1", "POST"},
		{"POST", "/", "GET, HEAD"},
		{"DELETE", "/health", "GET, HEAD"},
		{"OPTIONS", "/chat", "POST"},
		{"BREW", "/chat", "POST"},
	} {
		t.Run(row.method+" "+row.path, func(t *testing.T) {
			rec := ask{method: row.method, path: row.path}.of(api)
			wantError(t, rec, Method)
			if got := rec.Header().Get("Allow"); got != row.allow {
				t.Errorf("Allow = %q, want %q", got, row.allow)
			}
		})
	}
}

func TestErrorsOfWhatIsBehind(t *testing.T) {
	rows := []struct {
		name string
		err  error
		kind Kind
	}{
		{"invalid", &chat.Error{Code: chat.Invalid, Message: "That makes no sense."}, Invalid},
		{"missing", &chat.Error{Code: chat.Missing, Message: "That is not there."}, Missing},
		{"conflict", &chat.Error{Code: chat.Conflict, Message: "That is busy now."}, Conflict},
		{"mismatch", &chat.Error{Code: chat.Mismatch, Message: "That is another."}, Mismatch},
		{"full", &chat.Error{Code: chat.Full, Message: "There is no room."}, Full},
		{"stopping", &chat.Error{Code: chat.Stopping, Message: "It shuts down."}, Unavailable},
		{"wrapped", fmt.Errorf("send: %w", &chat.Error{Code: chat.Conflict, Message: "That is busy now."}), Conflict},
		{"no run", turnlog.ErrNoRun, Missing},
		{"full log", fmt.Errorf("append: %w", turnlog.ErrFull), Full},
		{"fenced", turnlog.ErrFenced, Unavailable},
		{"closed", turnlog.ErrClosed, Unavailable},
		{"streams stopped", sse.ErrStopped, Unavailable},
		{"a secret fault", errors.New("dial sk-secret"), Internal},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w, api := newWorld(t, nil)
			w.err = row.err
			rec := post("/chat", goodBody).of(api)
			wantError(t, rec, row.kind)
			if strings.Contains(rec.Body.String(), "sk-secret") {
				t.Error("the answer tells internals")
			}
			if row.kind == Internal {
				ref, _ := decode(t, rec)["ref"].(string)
				if ref == "" || !strings.Contains(w.logs.String(), ref) || !strings.Contains(w.logs.String(), "sk-secret") {
					t.Errorf("ref = %q, log = %s", ref, &w.logs)
				}
			}
		})
	}
}

func TestErrorTableIsWhole(t *testing.T) {
	seen := map[Kind]bool{}
	var statuses []int
	for _, d := range ErrorTable() {
		if seen[d.Kind] || d.Sentence == "" || !strings.HasSuffix(d.Sentence, ".") || d.Status < 400 {
			t.Errorf("row %v is not whole, or there twice", d)
		}
		seen[d.Kind] = true
		statuses = append(statuses, d.Status)
	}
	want := []int{400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 500, 503, 507}
	if diff := cmp.Diff(want, statuses); diff != "" || !slices.IsSorted(statuses) {
		t.Error(diff)
	}
	for _, code := range []chat.Code{chat.Invalid, chat.Missing, chat.Conflict, chat.Mismatch, chat.Full, chat.Stopping} {
		if kindOf(code) == Internal {
			t.Errorf("%s has no kind", code)
		}
	}
}

func TestPanicIsAnAnswerAndALogLine(t *testing.T) {
	w, api := newWorld(t, nil)
	w.fault = "kaboom"
	rec := post("/chat", goodBody).of(api)
	wantError(t, rec, Internal)
	ref, _ := decode(t, rec)["ref"].(string)
	log := w.logs.String()
	if ref == "" || !strings.Contains(log, ref) || !strings.Contains(log, "kaboom") || !strings.Contains(log, "routes_test.go") && !strings.Contains(log, "kit_test.go") {
		t.Errorf("ref %q; log %s", ref, log)
	}
	if strings.Contains(rec.Body.String(), "kaboom") {
		t.Error("the answer tells internals")
	}
}

func TestHalfAnswerIsBrokenOff(t *testing.T) {
	w, api := newWorld(t, nil)
	w.half = true
	defer func() {
		if got := recover(); got != http.ErrAbortHandler {
			t.Errorf("panic = %v, want the connection broken off", got)
		}
		if !strings.Contains(w.logs.String(), "a stream broke") {
			t.Error("nothing in the log")
		}
	}()
	post("/chat", goodBody).of(api)
}

func TestHeadersOnEveryAnswer(t *testing.T) {
	_, api := newWorld(t, nil)
	for name, a := range map[string]ask{
		"page": {method: "GET", path: "/"}, "list": {method: "GET", path: "/chats"}, "stream": post("/chat", goodBody),
		"refused": {method: "GET", path: "/chats", noToken: true}, "missing": {method: "GET", path: "/nope"}, "metrics": {method: "GET", path: "/metrics"},
		"launch": {method: "GET", path: "/launch"},
	} {
		t.Run(name, func(t *testing.T) {
			h := a.of(api).Header()
			for k, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
				"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
			} {
				if h.Get(k) != want {
					t.Errorf("%s = %q, want %q", k, h.Get(k), want)
				}
			}
			csp := h.Get("Content-Security-Policy")
			for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
				if !strings.Contains(csp, want) {
					t.Errorf("policy %q lacks %q", csp, want)
				}
			}
			if strings.Contains(csp, "unsafe") {
				t.Errorf("policy %q is loose", csp)
			}
			if name != "page" && name != "stream" && h.Get("Cache-Control") != "no-store" {
				t.Errorf("Cache-Control = %q, want no-store", h.Get("Cache-Control"))
			}
		})
	}
}

func TestLogTellsNoSecretAndNoText(t *testing.T) {
	w, api := newWorld(t, nil)
	path := api.LaunchPath()
	post("/chat?after=e1-5&x=private-query", `{"prompt":"a private question","chat_id":"c1","run_id":"r1"}`).of(api)
	open(api, path, "")
	open(api, path, "")
	ask{method: "GET", path: "/chats", header: header{"Authorization": "Bearer wrong-secret"}}.of(api)
	log := w.logs.String()
	_, code, _ := strings.Cut(path, "=")
	for _, secret := range []string{testToken, "private", code, "wrong-secret", api.gate.key.cookie} {
		if strings.Contains(log, secret) {
			t.Errorf("the log tells %q", secret)
		}
	}
	if lines := strings.Count(log, "\n"); lines != 4 {
		t.Errorf("%d lines for 4 requests:\n%s", lines, log)
	}
	for _, want := range []string{`"msg":"request"`, `"method":"POST"`, `"route":"/chat"`, `"status":200`, `"conversation":"c1"`, `"run":"r1"`, `"ms":`, `"bytes":`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s:\n%s", want, log)
		}
	}
}

func TestMetrics(t *testing.T) {
	_, api := newWorld(t, func(o *Options) {
		o.Figures = func() Figures {
			return Figures{Runs: map[string]int64{"end": 4, "rate_limit": 1}, Running: 2, Events: 50, Commits: 7, CommitSeconds: 0.5, Followers: 3, FollowerBytes: 900}
		}
	})
	ask{method: "GET", path: "/chats/c-private"}.of(api)
	ask{method: "SPY", path: "/chats/c-private"}.of(api)
	got := ask{method: "GET", path: "/metrics"}.of(api).Body.String()
	for _, want := range []string{
		`verbatim_runs_total{outcome="end"} 4`, `verbatim_runs_total{outcome="rate_limit"} 1`, "verbatim_runs_running 2",
		"verbatim_events_appended_total 50", "verbatim_commits_total 7", "verbatim_commit_seconds_total 0.5",
		"verbatim_followers 3", "verbatim_follower_bytes_total 900", "go_goroutines",
		`verbatim_http_requests_total{method="GET",route="/chats/{id}",status="404"} 1`,
		`verbatim_http_requests_total{method="other",route="none",status="405"} 1`,
	} {
		if !strings.Contains(got, want+"\n") && !strings.Contains(got, want+" ") {
			t.Errorf("metrics lack %s", want)
		}
	}
	if strings.Contains(got, "private") {
		t.Error("metrics tell ids")
	}
}

func TestPageFiles(t *testing.T) {
	_, api := newWorld(t, nil)
	rec := open(api, "/", "")
	if got := rec.Header().Get("Content-Type"); got != "text/html; charset=utf-8" {
		t.Errorf("type = %q", got)
	}
	for name, want := range map[string]string{"app.js": "text/javascript; charset=utf-8", "wire.js": "text/javascript; charset=utf-8", "view.js": "text/javascript; charset=utf-8", "app.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml"} {
		rec := open(api, "/assets/"+name, "")
		if rec.Header().Get("Content-Type") != want || rec.Header().Get("Cache-Control") != "no-cache" || rec.Body.Len() == 0 {
			t.Errorf("%s = %d %v", name, rec.Code, rec.Header())
		}
		again := ask{method: "GET", path: "/assets/" + name, noToken: true, header: header{"If-None-Match": rec.Header().Get("ETag")}}.of(api)
		if again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s again = %d with %d bytes, want 304", name, again.Code, again.Body.Len())
		}
	}
	js := string(api.assets["app.js"].body) + string(api.assets["wire.js"].body) + string(api.assets["view.js"].body)
	for _, sink := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", ".trim("} {
		if strings.Contains(js, sink) {
			t.Errorf("app.js uses %s", sink)
		}
	}
	page := rec.Body.String()
	for _, inline := range []string{"<style", " style=", " onclick=", "javascript:", "http://", "https://"} {
		if strings.Contains(page, inline) {
			t.Errorf("index.html holds %s, which its policy forbids", inline)
		}
	}
	if strings.Count(page, "<script") != 1 || !strings.Contains(page, `<script src="assets/app.js" type="module"></script>`) {
		t.Error("index.html has a script of its own")
	}
}

func TestRouteTableIsWhole(t *testing.T) {
	seen := map[string]bool{}
	open := 0
	for _, r := range Routes() {
		name := r.Method + " " + r.Path
		if seen[name] || r.Doc == "" || r.Status == 0 || r.handle == nil {
			t.Errorf("%s is there twice, or not whole", name)
		}
		seen[name] = true
		if r.Open() {
			open++
		}
	}
	if open != 6 {
		t.Errorf("%d routes are open without a key, want health, healthz, readyz, launch, the page and its assets", open)
	}
}
