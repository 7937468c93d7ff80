package httpapi

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"verbatim/internal/chat"
)

// held runs a test against an API that has not started.
func held(t *testing.T, test func(t *testing.T, w *world, api *API)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w, api := newWorld(t, func(o *Options) { o.Held = true })
		test(t, w, api)
	})
}

// begin sends a request and returns what becomes of it, nil while it waits.
func begin(api *API, r *http.Request) (answer func() *httptest.ResponseRecorder) {
	rec, done := httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(done)
		api.ServeHTTP(rec, r)
	}()
	return func() *httptest.ResponseRecorder {
		synctest.Wait()
		select {
		case <-done:
			return rec
		default:
			return nil
		}
	}
}

func TestRequestsWaitForTheStart(t *testing.T) {
	held(t, func(t *testing.T, w *world, api *API) {
		send := begin(api, ask{method: "POST", path: "/chat", body: `{"prompt":"x"}`}.request())
		list := begin(api, ask{method: "GET", path: "/chats"}.request())
		if send() != nil || list() != nil || len(w.sent) > 0 {
			t.Fatal("they did not wait")
		}
		api.Open()
		if got := send(); got == nil || got.Code != http.StatusOK || len(w.sent) != 1 {
			t.Errorf("sent %v, answer %v", w.sent, got)
		}
		if got := list(); got == nil || got.Code != http.StatusOK {
			t.Errorf("answer %v", got)
		}
		if got := (ask{method: "GET", path: "/chats"}).of(api); got.Code != http.StatusOK {
			t.Errorf("a later one: %d", got.Code)
		}
		api.Fail()
		if got := (ask{method: "GET", path: "/readyz"}).of(api); got.Code != http.StatusOK {
			t.Errorf("ready: %d", got.Code)
		}
	})
}

func TestFailedStartIsTold(t *testing.T) {
	held(t, func(t *testing.T, w *world, api *API) {
		send := begin(api, ask{method: "POST", path: "/chat", body: `{"prompt":"x"}`}.request())
		if send() != nil {
			t.Fatal("it did not wait")
		}
		api.Fail()
		api.Open()
		if got := send(); got == nil {
			t.Fatal("it still waits")
		}
		wantError(t, send(), Unavailable)
		wantError(t, ask{method: "GET", path: "/chats"}.of(api), Unavailable)
		wantError(t, ask{method: "GET", path: "/readyz"}.of(api), Unavailable)
		if len(w.sent) > 0 {
			t.Error("it was sent")
		}
	})
}

func TestWhoLeavesWaitsNoLonger(t *testing.T) {
	held(t, func(t *testing.T, w *world, api *API) {
		ctx, leave := context.WithCancel(t.Context())
		list := begin(api, ask{method: "GET", path: "/chats"}.request().WithContext(ctx))
		if list() != nil {
			t.Fatal("it did not wait")
		}
		leave()
		if list() == nil {
			t.Error("it still waits")
		}
	})
}

// What has nothing to do with what is stored answers at once, and so does the
// gate.
func TestWhatAnswersBeforeTheStart(t *testing.T) {
	held(t, func(t *testing.T, w *world, api *API) {
		for path, want := range map[string]int{
			"/health": 200, "/healthz": 200, "/readyz": 503, "/": 200, "/assets/app.js": 200, "/metrics": 200, "/nope": 404,
		} {
			got := begin(api, ask{method: "GET", path: path}.request())()
			if got == nil || got.Code != want {
				t.Errorf("%s: %v, want %d", path, got, want)
			}
		}
		if got := begin(api, ask{method: "GET", path: "/chats", noToken: true}.request())(); got == nil || got.Code != http.StatusUnauthorized {
			t.Errorf("without a token: %v", got)
		}
		if got := begin(api, ask{method: "GET", path: "/readyz"}.request())(); !bytes.Contains(got.Body.Bytes(), []byte("starting")) {
			t.Errorf("readyz: %s", got.Body)
		}
	})
}

// An error of a command is still the command's when it had to wait.
func TestCommandsOwnRefusalAfterTheWait(t *testing.T) {
	held(t, func(t *testing.T, w *world, api *API) {
		w.err = &chat.Error{Code: chat.Conflict, Message: "Something is in the way."}
		send := begin(api, ask{method: "POST", path: "/chat", body: `{"prompt":"x"}`}.request())
		api.Open()
		wantError(t, send(), Conflict)
	})
}
