package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// TestLiveModel is TestModel on the real program, over HTTP: random commands,
// failing models, tools that are asked for, queues, kill -9 and orderly
// restarts, readers that come and go. At
// each kill and at the end, what every reader got is what is stored.
func TestLiveModel(t *testing.T) {
	for range pick(2, 60) {
		l := newLive(t)
		for range 60 {
			l.step()
			if t.Failed() {
				break
			}
		}
		l.finish()
		if t.Failed() {
			t.Fatalf("steps:\n%s", strings.Join(l.trace, "\n"))
		}
	}
}

// live is the program under random commands.
type live struct {
	t       *testing.T
	random  *rand.Rand
	p       *product
	trace   []string
	chats   []id.Conversation
	readers []*liveReader

	mu   sync.Mutex
	runs []*liveRun
}

// liveRun is a request that was sent, and what its model does.
type liveRun struct {
	body  prompt
	steps []step
	gate  chan struct{}
	open  bool // the gate is
	taken bool
}

// liveReader reads a run, on one connection after another.
type liveReader struct {
	run    *liveRun
	got    seen
	stream *stream
	gone   chan error
	// lost says that the run's message was deleted: there is nothing more to
	// read.
	lost bool
}

func newLive(t *testing.T) *live {
	l := &live{t: t, random: newRandom(t), chats: []id.Conversation{"a", "b", "c"}}
	l.p = startProduct(t, newUpstream(t, l.answer))
	return l
}

func (l *live) note(format string, args ...any) {
	l.trace = append(l.trace, fmt.Sprintf(format, args...))
}

// answer finds the run that the model is asked for: the last one of the prompt,
// since an answer that is given again has the same.
func (l *live) answer(a ask) []step {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, run := range slices.Backward(l.runs) {
		if run.body.Prompt == a.Prompt && a.Round == 0 {
			return run.steps
		}
	}
	return []step{say("As I said."), finish("stop")}
}

// newRun makes a request, for a message or for another answer, and a random
// model for it.
func (l *live) newRun(again bool) *liveRun {
	n := len(l.runs)
	run := &liveRun{
		body: prompt{Prompt: name("message ", n), Chat: string(l.chats[l.random.IntN(len(l.chats))]), Run: name("run-", n)},
		gate: make(chan struct{}),
	}
	if again {
		row := l.random.IntN(4)
		run.body.RegenerateOf = &row
		run.body.Prompt = l.question(run.body.Chat, row)
	}
	for _, text := range pieces(l.random, 1+l.random.IntN(3)) {
		run.steps = append(run.steps, think(text))
	}
	for _, text := range pieces(l.random, 1+l.random.IntN(6)) {
		run.steps = append(run.steps, say(text))
	}
	at := l.random.IntN(len(run.steps) + 1)
	run.steps = slices.Insert(run.steps, at, hold(run.gate))
	endings := [][]step{
		{finish("stop")}, {finish("stop")}, {finish("length")}, {drop()}, {},
		{call("c1", "no_such_tool", `{"a":1}`), finish("tool_calls")},
		{call("c1", "run_command", `{"command":"echo one; sleep 0.01; echo two"}`), finish("tool_calls")},
		{call("c1", "write_file", `{"path":"`+name("file-", n)+`","content":"x"}`), finish("tool_calls")},
		{call("c1", "current_time", ``), finish("tool_calls")},
	}
	run.steps = append(run.steps, endings[l.random.IntN(len(endings))]...)
	l.mu.Lock()
	l.runs = append(l.runs, run)
	l.mu.Unlock()
	return run
}

func (l *live) step() {
	l.t.Helper()
	c := l.chats[l.random.IntN(len(l.chats))]
	switch n := l.random.IntN(100); {
	case n < 26:
		l.send(l.newRun(false))
	case n < 32:
		l.send(l.newRun(true))
	case n < 50:
		l.openGate()
	case n < 56:
		l.cancel()
	case n < 65:
		l.decide()
	case n < 67:
		l.command("DELETE", "/chats/"+string(c), nil)
	case n < 69:
		l.command("PATCH", "/chats/"+string(c), map[string]string{"title": name("Title ", n)})
	case n < 81:
		l.commandOnRows(c, n)
	case n < 88:
		l.come()
	case n < 94:
		l.leave()
	case n < 98:
		l.note("kill")
		l.p.kill()
		l.compare(copyDatabase(l.t, l.p.dir))
		l.p.start()
	default:
		l.note("stop")
		l.openAll()
		l.expect(l.p.stop(), 0)
		l.compare(l.p.dir)
		l.p.start()
	}
}

// commandOnRows is a command about what is there, or not.
func (l *live) commandOnRows(c id.Conversation, n int) {
	l.t.Helper()
	row := name("/", l.random.IntN(8))
	switch n % 6 {
	case 0:
		l.command("POST", "/fork/"+string(c)+row, nil)
	case 1:
		l.command("DELETE", "/messages/"+string(c)+row, nil)
	case 2:
		l.command("POST", "/version/"+string(c)+row+name("/", l.random.IntN(3)), nil)
	case 3, 4:
		l.command("POST", "/api/v1/conversations/"+string(c)+"/restore", nil)
	case 5:
		l.command("POST", "/api/v1/conversations/"+string(c)+"/queue/resume", nil)
	}
}

// command sends a command that may be about nothing.
func (l *live) command(method, path string, body any) {
	l.t.Helper()
	code := l.p.door().call(l.t, method, path, body, nil)
	l.note("%s %s: %d", method, path, code)
	l.expect(code, http.StatusOK, http.StatusCreated, http.StatusNotFound)
}

// decide answers a request for approval, if one waits.
func (l *live) decide() {
	l.t.Helper()
	var waiting struct {
		Approvals []struct {
			ID string `json:"approval_id"`
		}
	}
	l.expect(l.p.door().call(l.t, "GET", "/api/v1/approvals", nil, &waiting), http.StatusOK)
	if len(waiting.Approvals) == 0 {
		return
	}
	choice := []string{"allow", "allow", "deny"}[l.random.IntN(3)]
	l.command("POST", "/approve/"+waiting.Approvals[0].ID, map[string]string{"choice": choice})
}

func (l *live) expect(got int, want ...int) {
	l.t.Helper()
	if !slices.Contains(want, got) {
		l.t.Errorf("status %d, want one of %v", got, want)
	}
}

// send sends a request and keeps its reader.
func (l *live) send(run *liveRun) {
	l.t.Helper()
	again := run.body.RegenerateOf != nil
	l.note("send %+v, row %v", run.body, again)
	s, err := l.p.door().chat(run.body, "")
	if err != nil {
		l.t.Fatal(err)
	}
	if s.Status != http.StatusOK {
		s.Close()
		allowed := []int{http.StatusTooManyRequests}
		if again {
			allowed = append(allowed, http.StatusNotFound, http.StatusBadRequest)
		}
		l.expect(s.Status, allowed...)
		l.note("  refused: %d", s.Status)
		return
	}
	run.taken = true
	r := &liveReader{run: run}
	r.read(s)
	l.readers = append(l.readers, r)
}

// question returns the text of a row, which is what its model is asked.
func (l *live) question(chat string, row int) string {
	var c conversation
	if l.p.door().call(l.t, "GET", "/chats/"+chat, nil, &c) != http.StatusOK || row >= len(c.Messages) {
		return ""
	}
	return c.Messages[row].Content
}

func (r *liveReader) read(s *stream) {
	r.stream, r.gone = s, make(chan error, 1)
	go func() { r.gone <- r.got.readAll(s) }()
}

func (l *live) anyRun() *liveRun {
	var taken []*liveRun
	for _, run := range l.runs {
		if run.taken {
			taken = append(taken, run)
		}
	}
	if len(taken) == 0 {
		return nil
	}
	// Old runs have ended long ago.
	return taken[len(taken)-1-l.random.IntN(min(5, len(taken)))]
}

func (l *live) openGate() {
	if run := l.anyRun(); run != nil && !run.open {
		l.note("%s goes on", run.body.Run)
		run.open = true
		close(run.gate)
	}
}

func (l *live) openAll() {
	for _, run := range l.runs {
		if !run.open {
			run.open = true
			close(run.gate)
		}
	}
}

func (l *live) cancel() {
	l.t.Helper()
	run := l.anyRun()
	if run == nil {
		return
	}
	l.note("cancel %s", run.body.Run)
	l.expect(l.p.door().call(l.t, "POST", "/cancel", map[string]string{"run_id": run.body.Run}, nil), http.StatusOK)
}

// come lets a reader begin, or go on where it left.
func (l *live) come() {
	l.t.Helper()
	var away []*liveReader
	for _, r := range l.readers {
		if r.stream == nil && r.got.terminal == nil && !r.lost {
			away = append(away, r)
		}
	}
	run := l.anyRun()
	switch {
	case run == nil:
		return
	case len(away) == 0 || l.random.IntN(3) == 0:
		away = []*liveReader{{run: run}}
		l.readers = append(l.readers, away[0])
	}
	r := away[l.random.IntN(len(away))]
	l.note("a reader of %s comes at %q", r.run.body.Run, r.got.lastID())
	l.attach(r)
}

func (l *live) attach(r *liveReader) {
	l.t.Helper()
	s, err := l.p.door().chat(r.run.body, r.got.lastID())
	if err != nil {
		l.t.Fatal(err)
	}
	if s.Status == http.StatusNotFound {
		s.Close()
		l.note("  its message was deleted")
		r.lost = true
		return
	}
	l.expect(s.Status, http.StatusOK)
	r.read(s)
}

// leave lets a reader go without a word.
func (l *live) leave() {
	l.t.Helper()
	if len(l.readers) == 0 {
		return
	}
	r := l.readers[l.random.IntN(len(l.readers))]
	if r.stream != nil {
		l.note("a reader of %s leaves", r.run.body.Run)
		r.stream.Close()
		l.gone(r)
	}
}

// gone waits until a reader has nothing more to read. A connection may break;
// an event that is wrong may not come.
func (l *live) gone(r *liveReader) {
	l.t.Helper()
	err := receive(l.t, "the end of a reader's stream", r.gone)
	r.stream.Close()
	r.stream = nil
	if errors.Is(err, errWire) {
		l.t.Errorf("reader of %s: %v", r.run.body.Run, err)
	}
}

// compare ends the readers of a process that is gone, and compares what each
// got with what is stored.
func (l *live) compare(dir string) {
	l.t.Helper()
	for _, r := range l.readers {
		if r.stream != nil {
			l.gone(r)
		}
	}
	stored := readStored(l.t, dir, l.chats...)
	for c, records := range stored {
		checkRecords(l.t, c, records)
	}
	for _, r := range l.readers {
		seenIsStored(l.t, &r.got, stored[id.Conversation(r.run.body.Chat)])
	}
	for _, run := range l.runs {
		if records := stored[id.Conversation(run.body.Chat)]; run.taken && !tells(records, id.Run(run.body.Run)) {
			l.t.Errorf("run %s was taken and is not stored", run.body.Run)
		}
	}
}

// tells reports whether a conversation knows of a run, waiting or begun. Where
// something was erased it may have been that.
func tells(records []event.Record, run id.Run) bool {
	return slices.ContainsFunc(records, func(r event.Record) bool {
		q, ok := mustEvent(r).(event.Queue)
		return r.Run == run || ok && q.Run == run || r.Kind == (event.Erased{}).Kind()
	})
}

// finish lets every run end and every reader read all of it.
func (l *live) finish() {
	l.t.Helper()
	l.note("finish")
	l.openAll()
	for _, r := range l.readers {
		if r.stream == nil && r.got.terminal == nil && !r.lost {
			l.attach(r)
		}
	}
	until(l.t, "nothing runs and nothing waits", l.atRest)
	for _, r := range l.readers {
		if r.stream != nil {
			l.gone(r)
		}
		if r.got.terminal == nil && !r.lost {
			l.t.Errorf("a reader of %s has no terminal after %d events", r.run.body.Run, len(r.got.frames))
		}
	}
	l.expect(l.p.stop(), 0)
	l.compare(l.p.dir)
	l.wholeTexts()
}

// atRest lets on what waits for a person, and reports whether nothing does.
func (l *live) atRest() bool {
	l.decide()
	rest := true
	for _, c := range l.chats {
		var queue struct{ Waiting []struct{} }
		l.expect(l.p.door().call(l.t, "GET", "/api/v1/conversations/"+string(c)+"/queue", nil, &queue), http.StatusOK, http.StatusNotFound)
		if len(queue.Waiting) > 0 {
			rest = false
			l.command("POST", "/api/v1/conversations/"+string(c)+"/queue/resume", nil)
		}
		var now struct{ Running *string }
		l.expect(l.p.door().call(l.t, "GET", "/chats/"+string(c), nil, &now), http.StatusOK, http.StatusNotFound)
		rest = rest && now.Running == nil
	}
	return rest
}

// wholeTexts compares the text of each reader with that of its run in the log.
func (l *live) wholeTexts() {
	l.t.Helper()
	for c, records := range readStored(l.t, l.p.dir, l.chats...) {
		text, erased := map[string]string{}, map[string]bool{}
		for _, r := range records {
			if r.Kind == (event.Erased{}).Kind() {
				erased[string(r.Run)] = true
			}
			if r.Kind == (event.Delta{}).Kind() {
				e, err := r.Event()
				if err != nil {
					l.t.Fatal(err)
				}
				text[string(r.Run)] += e.(event.Delta).Text
			}
		}
		for _, r := range l.readers {
			if r.lost || erased[r.run.body.Run] {
				continue
			}
			if r.run.body.Chat == string(c) && r.got.text != text[r.run.body.Run] {
				l.t.Errorf("a reader of %s has %q, the log %q", r.run.body.Run, r.got.text, text[r.run.body.Run])
			}
		}
	}
}
