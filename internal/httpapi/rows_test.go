package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/chat"
)

func on(method, path string) ask { return ask{method: method, path: path} }

func moved(a ask, seq string) ask {
	a.header = header{"If-Match": seq}
	return a
}

func TestRows(t *testing.T) {
	const unconditional, atSeven = "row 2 seq 0", "row 2 seq 7"
	rows := []struct {
		name   string
		ask    ask
		answer string
		want   string
	}{
		{"fork", on("POST", "/fork/c1/2"), `{"ok":true,"id":"c_copy"}`, "fork c1 " + unconditional},
		{"fork if", moved(on("POST", "/fork/c1/2"), "7"), `{"ok":true,"id":"c_copy"}`, "fork c1 " + atSeven},
		{"delete", on("DELETE", "/messages/c1/2"), `{"ok":true,"remaining":4}`, "delete c1 " + unconditional},
		{"delete if", moved(on("DELETE", "/messages/c1/2"), `"7"`), `{"ok":true,"remaining":4}`, "delete c1 " + atSeven},
		{"delete by POST", on("POST", "/messages/c1/2"), `{"ok":true,"remaining":4}`, "delete c1 " + unconditional},
		{"delete by POST if", moved(on("POST", "/messages/c1/2"), "7"), `{"ok":true,"remaining":4}`, "delete c1 " + atSeven},
		{"version", on("POST", "/version/c1/2/1"), `{"ok":true,"active":1,"count":3,"content":"the content of r1"}`, "version c1 " + unconditional + " 1"},
		{"version if", moved(on("POST", "/version/c1/2/1"), "7"), `{"ok":true,"active":1,"count":3,"content":"the content of r1"}`, "version c1 " + atSeven + " 1"},
		{"zeros before a number", on("POST", "/version/c1/002/01"), `{"ok":true,"active":1,"count":3,"content":"the content of r1"}`, "version c1 " + unconditional + " 1"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w, api := newWorld(t, nil)
			rec := row.ask.of(api)
			if got := rec.Body.String(); rec.Code != http.StatusOK || got != row.answer+"\n" {
				t.Errorf("answer = %d %s, want %s", rec.Code, got, row.answer)
			}
			if diff := cmp.Diff([]string{row.want}, w.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// rowRoutes are the routes that name a row.
func rowRoutes() []ask {
	return []ask{on("POST", "/fork/c1/2"), on("DELETE", "/messages/c1/2"), on("POST", "/messages/c1/2"), on("POST", "/version/c1/2/1")}
}

func TestRowsThatAreNotMeant(t *testing.T) {
	t.Run("addresses", func(t *testing.T) {
		rows := []struct {
			path string
			kind Kind
		}{
			{"/fork/c1/x", Invalid}, {"/fork/c1/-1", Invalid}, {"/fork/c1/1.0", Invalid}, {"/fork/c1/%2B1", Invalid}, {"/fork/c1/%D9%A1", Invalid},
			{"/fork/%C3%A9/1", Invalid}, {"/fork/c1/", Missing}, {"/fork/c1", Missing}, {"/fork/c1/1/2", Missing}, {"/fork//1", Missing},
			{"/fork/c1/99999999999999999999", Missing},
			{"/version/c1/0/x", Invalid}, {"/version/c1/0/99999999999999999999", Missing}, {"/version/c1/0", Missing},
		}
		for _, row := range rows {
			w, api := newWorld(t, nil)
			rec := on("POST", row.path).of(api)
			if rec.Code != docOf(row.kind).Status || len(w.calls) > 0 {
				t.Errorf("%s = %d %s, calls %v, want %s", row.path, rec.Code, rec.Body, w.calls, row.kind)
			}
		}
	})
	for _, a := range rowRoutes() {
		t.Run(a.method+" "+a.path, func(t *testing.T) {
			for _, seq := range []string{"x", "", "0", "-7", "+7", "7.0", `"7`, `7"`, `W/"7"`, "*", "7, 8", "99999999999999999999"} {
				w, api := newWorld(t, nil)
				rec := moved(a, seq).of(api)
				wantError(t, rec, Invalid)
				if len(w.calls) > 0 {
					t.Errorf("If-Match %q: %v", seq, w.calls)
				}
			}
			w, api := newWorld(t, nil)
			r := a.request()
			r.Header["If-Match"] = []string{"7", "7"}
			wantError(t, serve(api, r), Invalid)
			if len(w.calls) > 0 {
				t.Errorf("two conditions: %v", w.calls)
			}
			for code, kind := range map[chat.Code]Kind{chat.Conflict: Conflict, chat.Missing: Missing, chat.Full: Full} {
				w.err = &chat.Error{Code: code, Message: "It is not so any more; look again."}
				wantError(t, moved(a, "7").of(api), kind)
			}
			a.noToken = true
			wantError(t, a.of(api), Unauthenticated)
		})
	}
}

func TestAnswerAgainIf(t *testing.T) {
	w, api := newWorld(t, nil)
	if rec := moved(post("/chat", `{"regenerate_of":2}`), "7").of(api); rec.Code != http.StatusOK {
		t.Fatalf("answer = %d %s", rec.Code, rec.Body)
	}
	if diff := cmp.Diff(&chat.Target{Index: 2, Seq: 7}, w.sent[0].Regenerate); diff != "" {
		t.Error(diff)
	}
	w.sent = nil
	wantError(t, moved(post("/chat", `{"regenerate_of":2}`), "seven").of(api), Invalid)
	wantError(t, moved(post("/chat", goodBody), "7").of(api), Invalid)
	if len(w.sent) > 0 {
		t.Errorf("sent %v", w.sent)
	}
}

func TestTooManyWait(t *testing.T) {
	w, api := newWorld(t, nil)
	w.err = &chat.Error{Code: chat.TooMany, Message: "20 messages wait in this conversation already."}
	rec := post("/chat", goodBody).of(api)
	wantError(t, rec, Limited)
	if rec.Header().Get("Retry-After") == "" {
		t.Error("it does not say when to come again")
	}
}

func body(t *testing.T, rec *httptest.ResponseRecorder, v any) {
	t.Helper()
	if rec.Code != http.StatusOK {
		t.Fatalf("answer = %d %s", rec.Code, rec.Body)
	}
	if err := json.Unmarshal(rec.Body.Bytes(), v); err != nil {
		t.Fatalf("%v: %s", err, rec.Body)
	}
}
