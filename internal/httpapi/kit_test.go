package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"verbatim/internal/approval"
	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/library"
	"verbatim/internal/search"
	"verbatim/internal/turnlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testToken = "the-secret-token"

// world is everything behind the door, and remembers what came through it.
type world struct {
	mu    sync.Mutex
	calls []string
	sent  []chat.SendRequest
	via   []event.Via

	cursor *id.Cursor
	err    error                                          // what every command answers
	fault  any                                            // what a command panics with
	half   bool                                           // a stream breaks in the middle
	use    func(http.ResponseWriter, *http.Request) error // what a stream does instead
	chat   library.Chat
	lines  []library.Line
	patch  map[string]json.RawMessage

	native
	queue    chat.Queue
	pending  []approval.Pending
	rules    []approval.Rule
	asked    []search.Request
	found    [][]search.Hit // the pages of a search
	projects map[string]string

	logs bytes.Buffer
	now  time.Time
}

func (w *world) call(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, name)
	if w.fault != nil {
		panic(w.fault)
	}
	return w.err
}

func (w *world) Send(_ context.Context, req chat.SendRequest) (turnlog.RunInfo, error) {
	w.mu.Lock()
	w.sent = append(w.sent, req)
	w.mu.Unlock()
	run := req.Run
	if run == "" {
		run = "r_minted"
	}
	return turnlog.RunInfo{Run: run, Conversation: req.Conversation, Message: "m_1", First: 2}, w.call("send")
}

func (w *world) Cancel(_ context.Context, run id.Run, by string, via event.Via) error {
	w.via = append(w.via, via)
	if run == "gone" {
		return turnlog.ErrNoRun
	}
	return w.call("cancel " + string(run) + " by " + by)
}

func (w *world) Change(_ context.Context, c id.Conversation, p chat.Patch) error {
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	var set map[string]any
	if err := json.Unmarshal(b, &set); err != nil {
		return err
	}
	maps.DeleteFunc(set, func(_ string, v any) bool { return v == nil })
	return w.call(fmt.Sprintf("change %s %v", c, set))
}

func (w *world) Restore(_ context.Context, c id.Conversation) error {
	return w.call("restore " + string(c))
}

// rowText tells all of a target.
func rowText(t chat.Target) string {
	if t.Message != "" {
		return fmt.Sprintf("message %s seq %d", t.Message, t.Seq)
	}
	return fmt.Sprintf("row %d seq %d", t.Index, t.Seq)
}

func (w *world) DeleteMessage(_ context.Context, c id.Conversation, t chat.Target, _ event.Via) (int, error) {
	return 4, w.call(fmt.Sprintf("delete %s %s", c, rowText(t)))
}

func (w *world) RestoreMessage(_ context.Context, c id.Conversation, m id.Message) error {
	return w.call(fmt.Sprintf("restore %s %s", c, m))
}

func (w *world) SetVersion(_ context.Context, c id.Conversation, t chat.Target, n int) (chat.Version, error) {
	return chat.Version{Run: "r1", Active: n, Count: 3}, w.call(fmt.Sprintf("version %s %s %d", c, rowText(t), n))
}

func (w *world) Fork(_ context.Context, c id.Conversation, t chat.Target) (id.Conversation, error) {
	return "c_copy", w.call(fmt.Sprintf("fork %s %s", c, rowText(t)))
}

func (w *world) EditAndSend(_ context.Context, c id.Conversation, t chat.Target, req chat.SendRequest) (turnlog.RunInfo, error) {
	w.mu.Lock()
	w.sent = append(w.sent, req)
	w.mu.Unlock()
	return turnlog.RunInfo{Run: "r_minted", Conversation: "c_copy", Message: "m_1", First: 2}, w.call(fmt.Sprintf("edit %s %s", c, rowText(t)))
}

func (w *world) Queue(context.Context, id.Conversation) (chat.Queue, error) { return w.queue, w.err }

func (w *world) EditQueued(_ context.Context, c id.Conversation, r id.Run, text string, _ event.Via) error {
	return w.call(fmt.Sprintf("edit queued %s %s %s", c, r, text))
}

func (w *world) RemoveQueued(_ context.Context, c id.Conversation, r id.Run, _ event.Via) error {
	return w.call(fmt.Sprintf("remove queued %s %s", c, r))
}

func (w *world) Resume(_ context.Context, c id.Conversation, _ event.Via) error {
	return w.call("resume " + string(c))
}

func (w *world) Decide(_ context.Context, a id.Approval, d approval.Decision) error {
	w.decision = d
	return w.call(fmt.Sprintf("decide %s %s by %s at %s", a, d.Choice, d.By, d.Via.Surface))
}

func (w *world) Pending() []approval.Pending { return w.pending }

func (w *world) Rules(context.Context) ([]approval.Rule, error) { return w.rules, w.err }

func (w *world) Revoke(_ context.Context, id string) error { return w.call("revoke " + id) }

// Search answers with the pages in turn, each with the place to go on from.
func (w *world) Search(_ context.Context, q search.Request) (search.Page, error) {
	w.asked = append(w.asked, q)
	if int(q.Before) >= len(w.found) {
		return search.Page{}, w.err
	}
	page := search.Page{Hits: w.found[q.Before]}
	if int(q.Before)+1 < len(w.found) {
		page.Next = q.Before + 1
	}
	return page, w.err
}

func (w *world) Projects(context.Context) (map[string]string, error) { return w.projects, w.err }

func (w *world) SetProject(_ context.Context, name, instructions string) error {
	return w.call(fmt.Sprintf("project %q %q", name, instructions))
}

// Positions knows that m_1 is the second row of every conversation.
func (w *world) Positions(context.Context, id.Conversation) (map[id.Message]int, error) {
	return map[id.Message]int{"u_1": 0, "m_1": 1}, w.err
}

func (w *world) Content(_ context.Context, _ id.Conversation, r id.Run) (string, error) {
	return "the content of " + string(r), w.err
}

func (w *world) Delete(_ context.Context, c id.Conversation, _ event.Via) error {
	return w.call("delete " + string(c))
}

func (w *world) DeleteAll(context.Context, event.Via) (int, error) { return 3, w.call("delete all") }

func (w *world) List(context.Context) ([]library.Line, error) { return w.lines, w.err }

func (w *world) Chat(_ context.Context, c id.Conversation) (library.Chat, error) {
	if c != "c1" {
		return library.Chat{}, library.ErrMissing
	}
	return w.chat, w.err
}

// Run knows r1, which is of c1, and r_deleted, which nobody may see.
func (w *world) Run(_ context.Context, r id.Run) (turnlog.RunInfo, error) {
	if r != "r1" && r != "r_deleted" {
		return turnlog.RunInfo{}, turnlog.ErrNoRun
	}
	return turnlog.RunInfo{Run: r, Conversation: "c1", Message: "m_1", First: 2}, w.err
}

func (w *world) Place(_ context.Context, _ id.Conversation, r id.Run) (library.Place, error) {
	if r == "r_deleted" {
		return library.Place{Versions: 1}, nil
	}
	return library.Place{UserIndex: new(0), AssistantIndex: new(1), Versions: 1}, nil
}

func (w *world) Get(context.Context) (map[string]any, error) {
	return map[string]any{"model": "openai/fake", "api_key_set": true}, w.err
}

func (w *world) Set(_ context.Context, patch map[string]json.RawMessage) error {
	w.patch = patch
	return w.call("set")
}

func (w *world) ServeRun(rw http.ResponseWriter, r *http.Request, _ turnlog.RunInfo, cursor *id.Cursor) error {
	w.cursor = cursor
	if err := w.call("serve"); err != nil {
		return err
	}
	if w.use != nil {
		return w.use(rw, r)
	}
	rw.Header().Set("Content-Type", "text/event-stream")
	rw.WriteHeader(http.StatusOK)
	_, err := io.WriteString(rw, "event: start\n\n")
	if w.half {
		panic("a stream broke")
	}
	return err
}

func (w *world) ServeNative(rw http.ResponseWriter, r *http.Request, run turnlog.RunInfo, cursor *id.Cursor) error {
	w.cursor = cursor
	if err := w.call("native " + string(run.Run)); err != nil {
		return err
	}
	if w.use != nil {
		return w.use(rw, r)
	}
	rw.Header().Set("Content-Type", "text/event-stream")
	_, err := io.WriteString(rw, "event: start\n\n")
	return err
}

// newWorld builds an API over a world; change may set further options.
func newWorld(t *testing.T, change func(*Options)) (*world, *API) {
	t.Helper()
	w := &world{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	o := Options{
		Commands: w, Approvals: w, Settings: w, Library: w, Search: w, Projects: w, Runs: w, Streams: w, Token: testToken,
		Blobs: &w.files, References: &w.files, Models: w, Archive: w, Answers: &w.answers,
		Version: "1.2.3", Epoch: "e1", Now: func() time.Time { return w.now },
		Model:  func(context.Context) string { return "openai/fake" },
		Logger: slog.New(slog.NewJSONHandler(&w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&o)
	}
	api, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return w, api
}

const testHost = "127.0.0.1:4747"

// ask is a request in the making: by a program that holds the token.
type ask struct {
	method, path, body string
	host               string // testHost if empty
	header             map[string]string
	noToken            bool
	remote             string
	https              bool
}

func (a ask) request() *http.Request {
	var body io.Reader
	if a.body != "" {
		body = strings.NewReader(a.body)
	}
	scheme := "http"
	if a.https {
		scheme = "https"
	}
	r := httptest.NewRequest(a.method, scheme+"://"+testHost+a.path, body)
	r.RequestURI = a.path
	r.Host = testHost
	if a.host != "" {
		r.Host = strings.TrimSpace(a.host)
	}
	if a.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if !a.noToken {
		r.Header.Set("Authorization", "Bearer "+testToken)
	}
	for k, v := range a.header {
		if v == "-" {
			r.Header.Del(k)
			continue
		}
		r.Header.Set(k, v)
	}
	if a.remote != "" {
		r.RemoteAddr = a.remote
	}
	return r
}

func (a ask) of(api http.Handler) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	api.ServeHTTP(rec, a.request())
	return rec
}

// decode reads an answer that must be JSON.
func decode(t *testing.T, rec *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var v map[string]any
	if got := rec.Header().Get("Content-Type"); got != "application/json; charset=utf-8" {
		t.Errorf("content type = %q, want JSON (status %d, %q)", got, rec.Code, rec.Body)
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &v); err != nil {
		t.Fatalf("the answer is no JSON: %v: %q", err, rec.Body)
	}
	return v
}

// wantError checks that an answer is an error of a kind, in the shape of the
// compatible layer.
func wantError(t *testing.T, rec *httptest.ResponseRecorder, kind Kind) {
	t.Helper()
	v := decode(t, rec)
	if rec.Code != docOf(kind).Status || v["ok"] != false || v["code"] != string(kind) {
		t.Errorf("answer = %d %v, want %d %s", rec.Code, v, docOf(kind).Status, kind)
	}
	if s, _ := v["error"].(string); len(s) < 10 {
		t.Errorf("error = %q, want a sentence", s)
	}
}

func serve(api http.Handler, r *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	api.ServeHTTP(rec, r)
	return rec
}
