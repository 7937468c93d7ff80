package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/chat"
	"verbatim/internal/library"
)

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
		{"title", ask{method: "PATCH", path: "/chats/c1", body: `{"title":" A b "}`}, "", []string{"change c1 map[Title: A b ]"}},
		{"project", ask{method: "PATCH", path: "/chats/c1", body: `{"project":""}`}, "", []string{"change c1 map[Project:]"}},
		{"both", ask{method: "PATCH", path: "/chats/c1", body: `{"title":"A","project":"B"}`}, "", []string{"change c1 map[Project:B Title:A]"}},
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
	if open != 7 {
		t.Errorf("%d routes are open without a key, want health, healthz, readyz, launch, the page and its assets, and calls of surfaces", open)
	}
}
