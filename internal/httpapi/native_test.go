package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/id"
)

const eventsPath = "/api/v1/runs/r1/events"

// wantDetails checks that an answer is an error of a kind, in the shape of the
// native layer.
func wantDetails(t *testing.T, rec *httptest.ResponseRecorder, kind Kind) map[string]any {
	t.Helper()
	if got := rec.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type = %q (status %d, %q)", got, rec.Code, rec.Body)
	}
	var v map[string]any
	if err := json.Unmarshal(rec.Body.Bytes(), &v); err != nil {
		t.Fatalf("the answer is no JSON: %v: %q", err, rec.Body)
	}
	status := docOf(kind).Status
	want := map[string]any{
		"type": "about:blank", "title": http.StatusText(status), "status": float64(status),
		"detail": v["detail"], "code": string(kind),
	}
	if ref, there := v["ref"]; there {
		want["ref"] = ref
	}
	if diff := cmp.Diff(want, v); diff != "" || rec.Code != status {
		t.Errorf("status %d, want %d; (-want +got):\n%s", rec.Code, status, diff)
	}
	if s, _ := v["detail"].(string); len(s) < 10 {
		t.Errorf("detail = %q, want a sentence", s)
	}
	return v
}

// TestM1M2GateOfTheNativeLayer: the same refusals, told in the other form. A
// row without a kind gets in.
func TestM1M2GateOfTheNativeLayer(t *testing.T) {
	rows := []struct {
		name string
		ask  ask
		kind Kind
	}{
		{"token", ask{}, ""},
		{"its own page", ask{header: header{"Origin": "http://" + testHost, "Sec-Fetch-Site": "same-origin"}}, ""},
		{"no token", ask{noToken: true}, Unauthenticated},
		{"no token, after an event", ask{path: eventsPath + "?after=e1-5", noToken: true}, Unauthenticated},
		{"wrong token", ask{header: header{"Authorization": "Bearer nope"}}, Unauthenticated},
		{"no token on what is not there", ask{path: "/api/v1/conversations", noToken: true}, Unauthenticated},
		{"no token at the layer's root", ask{path: "/api/v1", noToken: true}, Unauthenticated},
		{"no token on another method", ask{method: "DELETE", noToken: true}, Unauthenticated},
		{"rebound host", ask{host: "evil.example:4747"}, Denied},
		{"foreign origin", ask{header: header{"Origin": "https://evil.example"}}, Denied},
		{"cross-site", ask{header: header{"Sec-Fetch-Site": "cross-site"}}, Denied},
		{"text", ask{method: "POST", body: "{}", header: header{"Content-Type": "text/plain"}}, ContentType},
		{"a very long address", ask{path: eventsPath + "?" + strings.Repeat("x", MaxURLBytes)}, Invalid},
		{"what is not there", ask{path: "/api/v1/nope"}, Missing},
		{"no run", ask{path: "/api/v1/runs//events"}, Missing},
		{"more than a run", ask{path: "/api/v1/runs/r1/x/events"}, Missing},
		{"a run's text", ask{path: "/api/v1/runs/r1/text"}, Missing},
		{"another method", ask{method: "DELETE"}, Method},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w, api := newWorld(t, nil)
			if row.ask.method == "" {
				row.ask.method = "GET"
			}
			if row.ask.path == "" {
				row.ask.path = eventsPath
			}
			rec := row.ask.of(api)
			if row.kind == "" {
				if rec.Code != http.StatusOK {
					t.Errorf("status = %d %s, want 200", rec.Code, rec.Body)
				}
				return
			}
			wantDetails(t, rec, row.kind)
			if len(w.calls) > 0 {
				t.Errorf("a refused request did %v", w.calls)
			}
		})
	}
	t.Run("a path that only begins alike", func(t *testing.T) {
		_, api := newWorld(t, nil)
		wantError(t, ask{method: "GET", path: "/api/v10"}.of(api), Missing)
	})
	t.Run("under a base path", func(t *testing.T) {
		_, api := newWorld(t, func(o *Options) { o.BasePath = "/v" })
		wantDetails(t, ask{method: "GET", path: "/v" + eventsPath, noToken: true}.of(api), Unauthenticated)
	})
	t.Run("what the headers say", func(t *testing.T) {
		_, api := newWorld(t, nil)
		rec := ask{method: "GET", path: eventsPath, noToken: true}.of(api)
		if got := rec.Header().Get("WWW-Authenticate"); !strings.HasPrefix(got, "Bearer ") {
			t.Errorf("WWW-Authenticate = %q", got)
		}
		rec = ask{method: "PUT", path: eventsPath}.of(api)
		if got := rec.Header().Get("Allow"); got != "GET, HEAD" {
			t.Errorf("Allow = %q", got)
		}
	})
}

func TestRunEvents(t *testing.T) {
	seven := &id.Cursor{Epoch: "e1", Seq: 7}
	rows := []struct {
		name, run, header, query string
		kind                     Kind
		cursor                   *id.Cursor
	}{
		{name: "all of it", run: "r1"},
		{name: "after the header's", run: "r1", header: "e1-7", query: "?after=e1-8", cursor: seven},
		{name: "after the query's", run: "r1", query: "?after=e1-7", cursor: seven},
		{name: "after nonsense", run: "r1", query: "?after=7", kind: Invalid},
		{name: "of a run that is not there", run: "r_none", kind: Missing},
		{name: "of a deleted run", run: "r_deleted", kind: Missing},
		{name: "of what can be no run", run: "a%20b", kind: Invalid},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w, api := newWorld(t, nil)
			a := ask{method: "GET", path: "/api/v1/runs/" + row.run + "/events" + row.query, header: header{"Last-Event-ID": row.header}}
			rec := a.of(api)
			if row.kind != "" {
				wantDetails(t, rec, row.kind)
				if len(w.calls) > 0 {
					t.Errorf("it did %v", w.calls)
				}
				return
			}
			if diff := cmp.Diff([]string{"native r1"}, w.calls); diff != "" || rec.Code != http.StatusOK {
				t.Errorf("status %d, calls %s", rec.Code, diff)
			}
			if diff := cmp.Diff(row.cursor, w.cursor); diff != "" {
				t.Errorf("cursor (-want +got):\n%s", diff)
			}
			for _, want := range []string{`"route":"/api/v1/runs/{id}/events"`, `"run":"r1"`, `"conversation":"c1"`} {
				if !strings.Contains(w.logs.String(), want) {
					t.Errorf("the log lacks %s:\n%s", want, &w.logs)
				}
			}
		})
	}
}

func TestNativeFaultHasARefAndNoSecret(t *testing.T) {
	for name, change := range map[string]func(*world){
		"error": func(w *world) { w.err = errors.New("dial sk-secret") },
		"panic": func(w *world) { w.fault = "sk-secret" },
	} {
		t.Run(name, func(t *testing.T) {
			w, api := newWorld(t, nil)
			change(w)
			rec := ask{method: "GET", path: eventsPath}.of(api)
			ref, _ := wantDetails(t, rec, Internal)["ref"].(string)
			if ref == "" || !strings.Contains(w.logs.String(), ref) || strings.Contains(rec.Body.String(), "sk-secret") {
				t.Errorf("ref = %q, answer = %s, log = %s", ref, rec.Body, &w.logs)
			}
		})
	}
}
