package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"verbatim/internal/approval"
	"verbatim/internal/archive"
	"verbatim/internal/blob"
	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/library"
	"verbatim/internal/llm"
	"verbatim/internal/sse"
	"verbatim/internal/store"
	"verbatim/internal/tool"
	"verbatim/internal/turnlog"
)

// house is the API with everything behind it as it is in the product, but the
// model, on a socket.
type house struct {
	t         *testing.T
	workspace string
	model     *model
	service   *chat.Service
	log       *turnlog.Log
	streams   *sse.Server
	tools     *tool.Set
	server    *httptest.Server
	client    *http.Client
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, workspace: t.TempDir(), model: &model{plays: map[string]func(round int) []step{}}, client: &http.Client{Transport: &http.Transport{}}}
	dir := t.TempDir()
	db, err := store.Open(dir, store.Options{BallastBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	h.log = turnlog.New(db, turnlog.Options{})
	blobs, err := blob.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	if h.tools, err = tool.Open(tool.Config{Workspace: h.workspace}); err != nil {
		t.Fatal(err)
	}
	desk := approval.New(approval.Options{Store: h.log, Rules: db, Policy: func(context.Context) (approval.Mode, time.Duration) {
		return approval.ModeAsk, 0
	}})
	shelf := library.New(h.log)
	h.streams = sse.New(sse.Options{Log: h.log, Place: func(ctx context.Context, c id.Conversation, r id.Run) sse.Place {
		p, err := shelf.Place(ctx, c, r)
		if err != nil {
			t.Error(err)
		}
		return sse.Place(p)
	}})
	h.service = chat.New(chat.Options{
		Log: h.log, Blobs: blobs, Tools: h.tools, Approvals: desk,
		Choose: func(context.Context, chat.Want) (chat.Choice, error) {
			return chat.Choice{Model: h.model, Name: "test/m", Request: llm.Request{Model: "m"}}, nil
		},
		Hidden: h.streams.Forget,
	})
	if err := h.service.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, api := newWorld(t, func(o *Options) {
		o.Commands, o.Approvals, o.Library, o.Search, o.Projects = h.service, desk, shelf, db, db
		o.Runs, o.Streams, o.Epoch, o.Now = h.log, h.streams, h.log.Epoch(), time.Now
		o.Blobs, o.References, o.Answers = blobs, db, keptAnswers{db}
		o.Archive = archive.New(archive.Options{Log: h.log, Blobs: blobs})
	})
	h.server = httptest.NewServer(api)
	t.Cleanup(h.close)
	return h
}

func (h *house) close() {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range []error{h.service.Stop(over), h.streams.Stop(context.Background())} {
		if err != nil {
			h.t.Errorf("stop: %v", err)
		}
	}
	h.client.CloseIdleConnections()
	h.server.Close()
	for _, err := range []error{h.tools.Close(), h.log.Close()} {
		if err != nil {
			h.t.Errorf("close: %v", err)
		}
	}
}

// model answers with what the test plays for a prompt, else with "re: " and the
// prompt.
type model struct {
	mu    sync.Mutex
	plays map[string]func(round int) []step
	asked []llm.Request
}

// step is the next thing that the model does: it waits, or says something.
type step struct {
	llm.Chunk
	wait <-chan struct{}
	// untilGone waits until nobody wants the answer any more, then says
	// something all the same.
	untilGone bool
}

func say(text string) step { return step{Chunk: llm.Chunk{Text: text}} }

func callTool(name, args string) step {
	return step{Chunk: llm.Chunk{Tool: &llm.ToolFragment{ID: "t1", Name: name, Args: args}}}
}

func (m *model) play(prompt string, f func(round int) []step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.plays[prompt] = f
}

// last returns the newest request.
func (m *model) last() llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[len(m.asked)-1]
}

func (m *model) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.asked)
}

func (m *model) steps(req llm.Request) []step {
	prompt, round := "", 0
	for _, msg := range req.Messages {
		switch msg.Role {
		case llm.RoleUser:
			prompt, round = msg.Text, 0
		case llm.RoleAssistant:
			round++
		case llm.RoleTool:
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, req)
	if f := m.plays[prompt]; f != nil {
		return f(round)
	}
	return []step{say("re: " + prompt)}
}

// Stream plays on when it waits for a gate, whoever has gone: what comes late must
// do no harm.
func (m *model) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	steps := m.steps(req)
	return func(yield func(llm.Chunk, error) bool) {
		for _, s := range steps {
			switch {
			case s.untilGone:
				<-ctx.Done()
				if yield(llm.Chunk{Text: " late"}, nil) {
					yield(llm.Chunk{}, ctx.Err())
				}
				return
			case s.wait != nil:
				<-s.wait
			case !yield(s.Chunk, nil):
				return
			}
		}
		yield(llm.Chunk{Finish: &llm.Finish{Reason: event.FinishStop}}, nil)
	}
}

// call sends a request and decodes the answer into out, if that is not nil. It
// returns the status.
func (h *house) call(method, path, body string, out any) int {
	h.t.Helper()
	res := h.send(method, path, body, "")
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	if out == nil {
		return res.StatusCode
	}
	if err := json.Unmarshal(b, out); err != nil {
		h.t.Fatalf("%s %s: %v in %d %q", method, path, err, res.StatusCode, b)
	}
	return res.StatusCode
}

func (h *house) send(method, path, body, seq string) *http.Response {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.server.URL+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if seq != "" {
		req.Header.Set("If-Match", seq)
	}
	res, err := h.client.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	return res
}

// follower reads a stream event by event.
type follower struct {
	t   *testing.T
	res *http.Response
	in  *bufio.Scanner
	got []frame
}

type frame struct {
	kind string
	data map[string]any
}

// follow sends a message; its stream must be read to the end or closed.
func (h *house) follow(body string) *follower {
	h.t.Helper()
	res := h.send("POST", "/chat", body, "")
	if res.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(res.Body)
		h.t.Fatalf("POST /chat %s: %d %s", body, res.StatusCode, b)
	}
	return &follower{t: h.t, res: res, in: bufio.NewScanner(res.Body)}
}

// next returns the next event; its kind is empty at the end.
func (f *follower) next() frame {
	var e frame
	for f.in.Scan() {
		line := f.in.Text()
		if kind, ok := strings.CutPrefix(line, "event: "); ok {
			e.kind = kind
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(data), &e.data); err != nil {
				f.t.Fatalf("%v in %q", err, data)
			}
		}
		if line == "" && e.kind != "" {
			f.got = append(f.got, e)
			return e
		}
	}
	return frame{}
}

// until reads to the next event of a kind.
func (f *follower) until(kind string) frame {
	f.t.Helper()
	for {
		e := f.next()
		if e.kind == kind {
			return e
		}
		if e.kind == "" {
			f.t.Fatalf("the stream ended without %s: %s", kind, f.kinds())
		}
	}
}

// rest reads to the end and returns the last event.
func (f *follower) rest() frame {
	for f.next().kind != "" {
		continue
	}
	f.close()
	if len(f.got) == 0 {
		f.t.Fatal("the stream had no event")
	}
	return f.got[len(f.got)-1]
}

func (f *follower) close() { _ = f.res.Body.Close() }

func (f *follower) kinds() string {
	kinds := make([]string, len(f.got))
	for i, e := range f.got {
		kinds[i] = e.kind
	}
	return strings.Join(kinds, " ")
}

// whole sends a message and reads its stream, which must end well.
func (h *house) whole(body string) {
	h.t.Helper()
	f := h.follow(body)
	if last := f.rest(); last.kind != "end" {
		h.t.Fatalf("POST /chat %s: %s %v", body, f.kinds(), last.data)
	}
}

type shownRow struct {
	Role, Content, Status string
	Seq                   json.Number
	Versions              []string
	Active                int
	Parts                 []struct {
		Type, Name, Output string
		OK                 *bool
	}
}

// said returns the text so far.
func (f *follower) said() string {
	var b strings.Builder
	for _, e := range f.got {
		if text, ok := e.data["text"].(string); ok && e.kind == "delta" {
			b.WriteString(text)
		}
	}
	return b.String()
}

// rows returns the rows of a chat, none if it is not there.
func (h *house) rows(chat string) []shownRow {
	h.t.Helper()
	var c struct{ Messages []shownRow }
	if status := h.call("GET", "/chats/"+chat, "", &c); status != http.StatusOK && status != http.StatusNotFound {
		h.t.Fatalf("GET /chats/%s: %d", chat, status)
	}
	return c.Messages
}

// texts returns what the rows of a chat say, a line each.
func (h *house) texts(chat string) string {
	h.t.Helper()
	var b strings.Builder
	for _, row := range h.rows(chat) {
		b.WriteString(row.Role + " " + row.Content + "\n")
	}
	return b.String()
}

func (h *house) wantTexts(chat, want string) {
	h.t.Helper()
	if got := h.texts(chat); got != want {
		h.t.Errorf("rows of %s:\n%swant:\n%s", chat, got, want)
	}
}
