package chat_test

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"verbatim/internal/agent"
	"verbatim/internal/approval"
	"verbatim/internal/blob"
	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/llm"
	"verbatim/internal/store"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model answers "re: <prompt>" word by word. While hold is set, it waits for
// it after the first word; asked tells what it was sent.
type model struct {
	mu    sync.Mutex
	asked []llm.Request
	hold  chan struct{}
	reply func(prompt string) []llm.Chunk
	first chan struct{} // gets a value when the first word is out and hold is set
	fail  error         // ends the answer after hold
}

func (m *model) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	m.mu.Lock()
	m.asked = append(m.asked, req)
	hold, reply, fail := m.hold, m.reply, m.fail
	m.mu.Unlock()
	prompt := req.Messages[len(req.Messages)-1].Text
	chunks := []llm.Chunk{{Text: "re: "}, {Text: prompt}}
	if reply != nil {
		chunks = reply(prompt)
	}
	return func(yield func(llm.Chunk, error) bool) {
		for i, c := range chunks {
			if !yield(c, nil) {
				return
			}
			if i == 0 && hold != nil {
				m.first <- struct{}{}
				select {
				case <-hold:
				case <-ctx.Done():
					yield(llm.Chunk{}, ctx.Err())
					return
				}
				if fail != nil {
					yield(llm.Chunk{}, fail)
					return
				}
			}
		}
		yield(llm.Chunk{Finish: &llm.Finish{Reason: event.FinishStop}}, nil)
	}
}

func (m *model) requests() []llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

// world is a service over a real log in a directory, which can be opened again.
type world struct {
	t       *testing.T
	dir     string
	model   *model
	budget  int
	db      *store.DB
	log     *turnlog.Log
	blobs   *blob.Store
	service *chat.Service
	now     func() time.Time
	tools   agent.Tools
	desk    *approval.Desk
	over    func(*turnlog.Log) chat.Log // what the service gets for its log, nil for the log itself
}

func newWorld(t *testing.T) *world { return newWorldOver(t, nil) }

func newWorldOver(t *testing.T, over func(*turnlog.Log) chat.Log) *world {
	w := &world{t: t, dir: t.TempDir(), model: &model{first: make(chan struct{}, 100)}, over: over}
	w.open()
	t.Cleanup(w.close)
	return w
}

func (w *world) open() {
	w.t.Helper()
	db, err := store.Open(w.dir, store.Options{BallastBytes: -1})
	if err != nil {
		w.t.Fatalf("open: %v", err)
	}
	w.db, w.log = db, turnlog.New(db, turnlog.Options{Now: w.now})
	if w.blobs, err = blob.Open(filepath.Join(w.dir, "blobs")); err != nil {
		w.t.Fatalf("open blobs: %v", err)
	}
	w.desk = approval.New(approval.Options{
		Store: w.log, Rules: db, Now: w.now,
		Policy: func(context.Context) (approval.Mode, time.Duration) { return approval.ModeAsk, 0 },
	})
	log := chat.Log(w.log)
	if w.over != nil {
		log = w.over(w.log)
	}
	w.service = chat.New(chat.Options{
		Log: log, Blobs: w.blobs, ContextTokens: w.budget, Now: w.now, Tools: w.tools, Approvals: w.desk,
		Choose: func(context.Context, chat.Want) (chat.Choice, error) {
			return chat.Choice{Model: w.model, Name: "test/m", Request: llm.Request{Model: "m", System: "Be brief."}}, nil
		},
	})
}

func (w *world) close() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.service.Stop(ctx); err != nil {
		w.t.Errorf("stop: %v", err)
	}
	if err := w.log.Close(); err != nil {
		w.t.Errorf("close: %v", err)
	}
}

// crash ends the log under the service, as a killed process would, and opens
// the directory again.
func (w *world) crash() {
	w.t.Helper()
	if err := w.log.Close(); err != nil {
		w.t.Errorf("close: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = w.service.Stop(ctx)
	w.open()
}

func (w *world) send(c, run, prompt string) turnlog.RunInfo {
	w.t.Helper()
	info, err := w.service.Send(w.t.Context(), request(c, run, prompt))
	if err != nil {
		w.t.Fatalf("send %q: %v", prompt, err)
	}
	return info
}

func request(c, run, prompt string) chat.SendRequest {
	return chat.SendRequest{Conversation: id.Conversation(c), Run: id.Run(run), Prompt: prompt, Via: event.Via{Surface: "test"}}
}

// ask sends and waits for the terminal.
func (w *world) ask(c, prompt string) event.Kind {
	w.t.Helper()
	return w.wait(w.send(c, "", prompt))
}

// wait follows a run as any reader does, and returns its terminal's kind.
func (w *world) wait(info turnlog.RunInfo) event.Kind {
	w.t.Helper()
	watch := w.log.Watch(info.Conversation)
	defer watch.Close()
	for at := max(info.First, info.Queued); ; {
		records, err := w.log.After(w.t.Context(), info.Conversation, at, turnlog.Limit{})
		if err != nil {
			w.t.Fatalf("read: %v", err)
		}
		for _, r := range records {
			at = r.Seq
			if spec, _ := event.Lookup(r.Kind); r.Run == info.Run && spec.Terminal {
				return r.Kind
			}
			if e, err := r.Event(); err == nil {
				if q, ok := e.(event.Queue); ok && q.Run == info.Run && q.Op == event.QueueRemove {
					return r.Kind
				}
			}
		}
		if len(records) == 0 {
			<-watch.C
		}
	}
}

// until waits for a state of a conversation.
func (w *world) until(c string, there func(*transcript.Conversation) bool) {
	w.t.Helper()
	watch := w.log.Watch(id.Conversation(c))
	defer watch.Close()
	for !there(w.state(c)) {
		<-watch.C
	}
}

// state folds a conversation from its log, whose invariants are checked.
func (w *world) state(c string) *transcript.Conversation {
	w.t.Helper()
	var all []event.Record
	for {
		records, err := w.log.After(w.t.Context(), id.Conversation(c), int64(len(all)), turnlog.Limit{})
		if err != nil {
			w.t.Fatalf("read: %v", err)
		}
		if len(records) == 0 {
			break
		}
		all = append(all, records...)
	}
	for _, broken := range transcript.Check(all) {
		w.t.Errorf("%s: broken invariant: %s", c, broken)
	}
	state, err := transcript.Fold(all)
	if err != nil {
		w.t.Fatalf("fold: %v", err)
	}
	return state
}

// rows writes a conversation's rows, a line each.
func (w *world) rows(c string) string {
	w.t.Helper()
	var b strings.Builder
	for _, row := range w.state(c).Rows() {
		if row.Role == transcript.RoleUser {
			b.WriteString("user: " + row.Turn.User.Text + "\n")
			continue
		}
		run := row.Turn.Active()
		b.WriteString(string(run.Status) + ": " + run.Content() + "\n")
	}
	return b.String()
}

func (w *world) wantRows(c, want string) {
	w.t.Helper()
	if got := w.rows(c); got != want {
		w.t.Errorf("rows of %s: got\n%swant\n%s", c, got, want)
	}
}

func wantCode(t *testing.T, err error, want chat.Code) {
	t.Helper()
	var refused *chat.Error
	if !errors.As(err, &refused) || refused.Code != want {
		t.Errorf("got %v, want code %s", err, want)
	}
}
