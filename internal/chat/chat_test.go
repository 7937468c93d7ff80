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
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: t.TempDir(), model: &model{first: make(chan struct{}, 100)}}
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
	w.service = chat.New(chat.Options{
		Log: w.log, Blobs: w.blobs, ContextTokens: w.budget, Now: w.now, Tools: w.tools, Approvals: w.desk,
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

func TestSendAndReopen(t *testing.T) {
	w := newWorld(t)
	if end := w.ask("c", "hello"); end != "end" {
		t.Fatalf("got %s", end)
	}
	want := "user: hello\ncomplete: re: hello\n"
	w.wantRows("c", want)
	w.crash()
	w.wantRows("c", want)
	w.ask("c", "again")
	w.wantRows("c", want+"user: again\ncomplete: re: again\n")
}

func TestRefusals(t *testing.T) {
	w := newWorld(t)
	w.ask("c", "hello")
	for name, tc := range map[string]struct {
		req  chat.SendRequest
		want chat.Code
	}{
		"blank prompt":         {request("c", "", " \n\t"), chat.Invalid},
		"bad conversation":     {request("../etc", "", "x"), chat.Invalid},
		"bad run":              {request("c", "a b", "x"), chat.Invalid},
		"prompt too long":      {request("c", "", strings.Repeat("x", chat.MaxPromptBytes+1)), chat.Invalid},
		"not UTF-8":            {request("c", "", "\xff"), chat.Invalid},
		"regenerate an answer": {chat.SendRequest{Conversation: "c", Regenerate: &chat.Target{Index: 1}}, chat.Invalid},
		"regenerate nothing":   {chat.SendRequest{Conversation: "c", Regenerate: &chat.Target{Index: 7}}, chat.Missing},
		"regenerate below 0":   {chat.SendRequest{Conversation: "c", Regenerate: &chat.Target{Index: -1}}, chat.Missing},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.service.Send(t.Context(), tc.req)
			wantCode(t, err, tc.want)
		})
	}
	w.wantRows("c", "user: hello\ncomplete: re: hello\n")
}

// G11: fifty requests with one id are one run; another body under it is refused.
func TestOneRunPerID(t *testing.T) {
	w := newWorld(t)
	var wg sync.WaitGroup
	infos := make([]turnlog.RunInfo, 50)
	for i := range infos {
		wg.Go(func() {
			info, err := w.service.Send(t.Context(), request("c", "same", "hello"))
			if err != nil {
				t.Errorf("send: %v", err)
			}
			infos[i] = info
		})
	}
	wg.Wait()
	for _, info := range infos {
		if info.First != infos[0].First || info.Run != "same" {
			t.Errorf("got %+v, want %+v", info, infos[0])
		}
	}
	w.wait(infos[0])
	if n := len(w.model.requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	if again := w.send("c", "same", "hello"); again.First != infos[0].First || again.Last == 0 {
		t.Errorf("after the end: got %+v", again)
	}
	for _, other := range []chat.SendRequest{request("c", "same", "other"), request("d", "same", "hello")} {
		_, err := w.service.Send(t.Context(), other)
		wantCode(t, err, chat.Mismatch)
	}
	w.crash()
	if again := w.send("c", "same", "hello"); again.First != infos[0].First {
		t.Errorf("after a restart: got %+v", again)
	}
	w.wantRows("c", "user: hello\ncomplete: re: hello\n")
}

// G11: a conversation has one run at a time, and whoever saw the end can send.
func TestOneRunPerConversation(t *testing.T) {
	w := newWorld(t)
	w.model.hold = make(chan struct{})
	first := w.send("c", "", "one")
	<-w.model.first
	queued := w.send("c", "", "two")
	if queued.First != 0 || queued.Queued == 0 {
		t.Errorf("the second message got %+v, want a place in the queue", queued)
	}
	other := w.send("d", "", "elsewhere")
	<-w.model.first
	close(w.model.hold)
	w.wait(first)
	w.wait(other)
	w.wait(queued)
	w.model.mu.Lock()
	w.model.hold = nil
	w.model.mu.Unlock()
	for range 30 {
		w.ask("c", "next")
	}
	if got := len(w.state("c").Turns); got != 32 {
		t.Errorf("got %d turns", got)
	}
}

// I5: an answer given again is a version of the same message.
func TestRegenerate(t *testing.T) {
	w := newWorld(t)
	w.ask("c", "one")
	w.ask("c", "two")
	w.model.reply = func(p string) []llm.Chunk { return []llm.Chunk{{Text: "better: " + p}} }
	info, err := w.service.Send(t.Context(), chat.SendRequest{Conversation: "c", Regenerate: &chat.Target{}})
	if err != nil {
		t.Fatal(err)
	}
	w.wait(info)
	w.wantRows("c", "user: one\ncomplete: better: one\nuser: two\ncomplete: re: two\n")
	turn := w.state("c").Turns[0]
	if len(turn.Versions()) != 2 || turn.Runs[0].Message != turn.Runs[1].Message || turn.Runs[1].Start.Version != 2 {
		t.Errorf("got %+v", turn)
	}
	asked := w.model.requests()
	if last := asked[len(asked)-1].Messages; len(last) != 1 || last[0].Text != "one" {
		t.Errorf("the model was told %+v", last)
	}
	// A run without visible text is kept, but is no version.
	w.model.reply = func(string) []llm.Chunk { return []llm.Chunk{{Text: " \n"}} }
	info, err = w.service.Send(t.Context(), chat.SendRequest{Conversation: "c", Regenerate: &chat.Target{}})
	if err != nil {
		t.Fatal(err)
	}
	if end := w.wait(info); end != "error" {
		t.Errorf("blank answer ended as %s", end)
	}
	w.wantRows("c", "user: one\ncomplete: better: one\nuser: two\ncomplete: re: two\n")
}

func TestCancel(t *testing.T) {
	w := newWorld(t)
	w.model.hold = make(chan struct{})
	info := w.send("c", "", "one")
	<-w.model.first
	for range 2 {
		if err := w.service.Cancel(t.Context(), info.Run, "owner", event.Via{Surface: "test"}); err != nil {
			t.Fatal(err)
		}
	}
	if end := w.wait(info); end != "cancelled" {
		t.Errorf("got %s", end)
	}
	if err := w.service.Cancel(t.Context(), info.Run, "owner", event.Via{}); err != nil {
		t.Errorf("after the end: %v", err)
	}
	if err := w.service.Cancel(t.Context(), "never", "owner", event.Via{}); !errors.Is(err, turnlog.ErrNoRun) {
		t.Errorf("unknown run: %v", err)
	}
	w.wantRows("c", "user: one\ncancelled: re: \n")
}

func TestDelete(t *testing.T) {
	w := newWorld(t)
	w.ask("c", "one")
	w.model.hold = make(chan struct{})
	info := w.send("c", "", "two")
	<-w.model.first
	if err := w.service.Delete(t.Context(), "c", event.Via{Surface: "test"}); err != nil {
		t.Fatal(err)
	}
	if end := w.wait(info); end != "cancelled" {
		t.Errorf("its run ended as %s", end)
	}
	w.wantRows("c", "")
	wantCode(t, w.service.Delete(t.Context(), "c", event.Via{}), chat.Missing)
	wantCode(t, w.service.Rename(t.Context(), "c", "x"), chat.Missing)
	w.model.mu.Lock()
	w.model.hold = nil
	w.model.mu.Unlock()
	w.ask("c", "anew")
	w.wantRows("c", "user: anew\ncomplete: re: anew\n")
	asked := w.model.requests()
	if last := asked[len(asked)-1].Messages; len(last) != 1 {
		t.Errorf("deleted text reached the model: %+v", last)
	}
	w.ask("d", "other")
	if n, err := w.service.DeleteAll(t.Context(), event.Via{}); n != 2 || err != nil {
		t.Errorf("delete all: %d, %v", n, err)
	}
	if list, err := w.log.Conversations(t.Context(), turnlog.Query{Limit: 10}); len(list) != 0 || err != nil {
		t.Errorf("left: %v, %v", list, err)
	}
}

func TestRename(t *testing.T) {
	w := newWorld(t)
	w.ask("c", "hello")
	if err := w.service.Rename(t.Context(), "c", "Disk"); err != nil {
		t.Fatal(err)
	}
	if err := w.service.SetProject(t.Context(), "c", "Ops"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, w.service.Rename(t.Context(), "c", " "), chat.Invalid)
	w.crash()
	list, err := w.log.Conversations(t.Context(), turnlog.Query{Limit: 10})
	if err != nil || len(list) != 1 || list[0].Title != "Disk" || list[0].Project != "Ops" || list[0].Rows != 2 {
		t.Errorf("got %+v, %v", list, err)
	}
}

func TestHistory(t *testing.T) {
	w := newWorld(t)
	told := func() string {
		asked := w.model.requests()
		var b strings.Builder
		for _, m := range asked[len(asked)-1].Messages {
			b.WriteString(string(m.Role[0]) + ":" + m.Text + "|")
		}
		return b.String()
	}
	w.ask("c", "one")
	w.ask("c", "two")
	if got, want := told(), "u:one|a:re: one|u:two|"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	w.model.reply = func(string) []llm.Chunk { return []llm.Chunk{{Text: strings.Repeat("x", 4000)}} }
	w.ask("c", "long")
	w.budget = 600
	w.crash()
	w.model.reply = nil
	w.ask("c", "after")
	if got, want := told(), "u:after|"; got != want {
		t.Errorf("over the budget: got %s, want %s", got, want)
	}
	turns := w.state("c").Turns
	if got := turns[3].Runs[0].Start.OmittedTurns; got != 3 {
		t.Errorf("omitted turns: got %d, want 3", got)
	}
}

func TestNoModel(t *testing.T) {
	w := newWorld(t)
	w.service = chat.New(chat.Options{Log: w.log, Choose: func(context.Context, chat.Want) (chat.Choice, error) {
		return chat.Choice{}, errors.New("no key for openai")
	}})
	if end := w.ask("c", "hello"); end != "error" {
		t.Errorf("got %s", end)
	}
	run := w.state("c").Turns[0].Runs[0]
	if run.Err.Code != event.CodeConfig || !strings.Contains(run.Err.Message, "no key for openai") {
		t.Errorf("got %+v", run.Err)
	}
}
