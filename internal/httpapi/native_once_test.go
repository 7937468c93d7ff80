package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/chat"
	"verbatim/internal/id"
)

// keyed is a request under an idempotency key.
func keyed(key, path, body string) ask {
	return ask{method: "POST", path: v1 + path, body: body, header: header{KeyHeader: key}}
}

func TestTheSameRequestIsDoneOnce(t *testing.T) {
	w, api := newWorld(t, nil)
	first := keyed("k1", "/conversations/c1/fork", `{"message_id":"m_1"}`).of(api)
	second := keyed("k1", "/conversations/c1/fork", `{"message_id":"m_1"}`).of(api)
	if diff := cmp.Diff([]string{"fork c1 message m_1 seq 0"}, w.calls); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
	if first.Code != 201 || second.Code != 201 || first.Body.String() != second.Body.String() || second.Header().Get("Content-Type") != first.Header().Get("Content-Type") {
		t.Errorf("answers: %d %q, then %d %q", first.Code, first.Body, second.Code, second.Body)
	}
	if first.Header().Get(ReplayedHeader) != "" || second.Header().Get(ReplayedHeader) != "true" {
		t.Errorf("replayed: %q, then %q", first.Header().Get(ReplayedHeader), second.Header().Get(ReplayedHeader))
	}
	kept := w.answers.of["k1"]
	if kept.Conversation != "c1" || !kept.At.Equal(w.now) || kept.Status != 201 {
		t.Errorf("kept = %+v", kept)
	}
	if !strings.Contains(w.logs.String(), `"status":201`) {
		t.Errorf("log = %s", &w.logs)
	}
}

func TestAKeyIsOfOneRequest(t *testing.T) {
	w, api := newWorld(t, nil)
	keyed("k1", "/conversations/c1/restore", "").of(api)
	for name, a := range map[string]ask{
		"another path":  keyed("k1", "/conversations/c2/restore", ""),
		"another query": keyed("k1", "/conversations/c1/restore?x=1", ""),
		"another route": keyed("k1", "/conversations/c1/fork", `{"message_id":"m_1"}`),
		"another body":  keyed("k1", "/conversations/c1/restore", "{}"),
	} {
		t.Run(name, func(t *testing.T) { wantDetails(t, a.of(api), Mismatch) })
	}
	if diff := cmp.Diff([]string{"restore c1"}, w.calls); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
}

func TestWhatFailedCanBeTriedAgain(t *testing.T) {
	for name, fault := range map[string]func(*world){
		"refused": func(w *world) { w.err = &chat.Error{Code: chat.TooMany, Message: "The queue is full."} },
		"failed":  func(w *world) { w.err = errors.New("disk on fire") },
		"panics":  func(w *world) { w.fault = "oh" },
	} {
		t.Run(name, func(t *testing.T) {
			w, api := newWorld(t, nil)
			fault(w)
			rec := keyed("k1", "/conversations/c1/restore", "").of(api)
			if rec.Code < 400 || rec.Header().Get("Content-Type") != problemType {
				t.Fatalf("status = %d %s", rec.Code, rec.Body)
			}
			w.err, w.fault = nil, nil
			rec = keyed("k1", "/conversations/c1/restore", "").of(api)
			if rec.Code != 200 || rec.Header().Get(ReplayedHeader) != "" || len(w.calls) != 2 {
				t.Errorf("again: %d %s, calls %v", rec.Code, rec.Body, w.calls)
			}
		})
	}
	t.Run("what was done and can't be kept is told", func(t *testing.T) {
		w, api := newWorld(t, nil)
		w.answers.err = errors.New("disk on fire")
		rec := keyed("k1", "/conversations/c1/restore", "").of(api)
		if rec.Code != 200 || !strings.Contains(w.logs.String(), "disk on fire") {
			t.Errorf("%d %s, log %s", rec.Code, rec.Body, &w.logs)
		}
	})
}

func TestKeys(t *testing.T) {
	w, api := newWorld(t, nil)
	for name, key := range map[string]string{
		"blank": " ", "a space": "a b", "beyond ASCII": "é", "too long": strings.Repeat("k", MaxKeyBytes+1), "a control": "a\x01",
	} {
		t.Run(name, func(t *testing.T) {
			wantDetails(t, keyed(key, "/conversations/c1/restore", "").of(api), Invalid)
		})
	}
	r := keyed("k1", "/conversations/c1/restore", "").request()
	r.Header.Add(KeyHeader, "k2")
	wantDetails(t, serve(api, r), Invalid)
	if len(w.calls) > 0 {
		t.Errorf("done: %v", w.calls)
	}
	for range 2 {
		if rec := keyed(strings.Repeat("~", MaxKeyBytes), "/conversations/c1/restore", "").of(api); rec.Code != 200 {
			t.Errorf("longest key: %d", rec.Code)
		}
	}
	if len(w.calls) != 1 {
		t.Errorf("done: %v", w.calls)
	}
}

func TestKeysCountOnNativePostsOnly(t *testing.T) {
	w, api := newWorld(t, nil)
	for range 2 {
		ask{method: "DELETE", path: v1 + "/conversations/c1", header: header{KeyHeader: "k1"}}.of(api)
		ask{method: "POST", path: "/approve/a1", body: `{"choice":"allow"}`, header: header{KeyHeader: "k2"}}.of(api)
		ask{method: "POST", path: "/chat", body: goodBody, header: header{KeyHeader: "k3"}}.of(api)
	}
	if len(w.answers.of) > 0 || len(w.sent) != 2 {
		t.Errorf("kept %v, sent %d", w.answers.of, len(w.sent))
	}
}

func TestARequestUnderWayIsToldSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, api := newWorld(t, nil)
		slow := &slowCommands{Commands: w}
		api.opt.Commands = slow
		first := make(chan *httptest.ResponseRecorder)
		go func() { first <- keyed("k1", "/conversations/c1/restore", "").of(api) }()
		synctest.Wait()
		wantDetails(t, keyed("k1", "/conversations/c1/restore", "").of(api), Conflict)
		if rec := keyed("k2", "/conversations/c1/resume", "").of(api); rec.Code != 404 {
			t.Errorf("another key: %d", rec.Code)
		}
		if rec := <-first; rec.Code != 200 {
			t.Errorf("first: %d", rec.Code)
		}
		if rec := keyed("k1", "/conversations/c1/restore", "").of(api); rec.Header().Get(ReplayedHeader) != "true" {
			t.Errorf("afterwards: %d %v", rec.Code, rec.Header())
		}
	})
}

// slowCommands take a minute to restore.
type slowCommands struct{ Commands }

func (s *slowCommands) Restore(ctx context.Context, c id.Conversation) error {
	time.Sleep(time.Minute)
	return s.Commands.Restore(ctx, c)
}

// TestG11RunsUnderAKeyHaveOneID: when the process ends between the run and the
// keeping of its answer, the same request finds the run.
func TestG11RunsUnderAKeyHaveOneID(t *testing.T) {
	w, api := newWorld(t, nil)
	w.answers.err = errors.New("the process ends")
	for _, key := range []string{"k1", "k1", "k2"} {
		keyed(key, "/runs", `{"prompt":"x"}`).of(api)
	}
	a, b, c := w.sent[0], w.sent[1], w.sent[2]
	if a.Run != b.Run || a.Conversation != b.Conversation || a.Run == c.Run || a.Conversation == c.Conversation {
		t.Errorf("runs %s %s %s, conversations %s %s %s", a.Run, b.Run, c.Run, a.Conversation, b.Conversation, c.Conversation)
	}
	if !id.Valid(string(a.Run)) || !id.Valid(string(a.Conversation)) {
		t.Errorf("ids %q %q", a.Run, a.Conversation)
	}
}

func TestFilesUnderAKey(t *testing.T) {
	w, api := newWorld(t, nil)
	send := func(boundary, data string) *httptest.ResponseRecorder {
		body, kind := form(t, boundary, formFile("a.txt", data))
		a := sendFile("", kind, body)
		a.header[KeyHeader] = "k1"
		return a.of(api)
	}
	first, second := send("aaa", "one"), send("bbbb", "one")
	if first.Code != 201 || second.Header().Get(ReplayedHeader) != "true" || len(w.files.of) != 1 {
		t.Errorf("%d %s, then %d %s", first.Code, first.Body, second.Code, second.Body)
	}
	wantDetails(t, send("aaa", "two"), Mismatch)
	a := importOf("a file")
	a.header[KeyHeader] = "k2"
	a.of(api)
	if rec := a.of(api); rec.Header().Get(ReplayedHeader) != "true" || w.body != "a file" || len(w.calls) != 1 {
		t.Errorf("import: %d %v, calls %v", rec.Code, rec.Header(), w.calls)
	}
	a.body = "another file"
	wantDetails(t, a.of(api), Mismatch)
}

// TestABrokenBodyIsNotKept: what did not arrive whole is not what the key is for.
func TestABrokenBodyIsNotKept(t *testing.T) {
	w, api := newWorld(t, nil)
	r := keyed("k1", "/conversations/c1/fork", `{"message_id":"m_1"}`).request()
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"message_id"`), brokenBody{}))
	wantDetails(t, serve(api, r), Invalid)
	if rec := keyed("k1", "/conversations/c1/fork", `{"message_id":"m_1"}`).of(api); rec.Code != 201 || len(w.calls) != 1 {
		t.Errorf("again: %d, calls %v", rec.Code, w.calls)
	}
}

type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
