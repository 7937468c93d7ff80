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
// failing models, kill -9 and orderly restarts, readers that come and go. At
// each kill and at the end, what every reader got is what is stored.
func TestLiveModel(t *testing.T) {
	for range pick(4, 60) {
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
	}
	run.steps = append(run.steps, endings[l.random.IntN(len(endings))]...)
	l.mu.Lock()
	l.runs = append(l.runs, run)
	l.mu.Unlock()
	return run
}

func (l *live) step() {
	l.t.Helper()
	switch n := l.random.IntN(100); {
	case n < 30:
		l.send(l.newRun(false))
	case n < 38:
		l.send(l.newRun(true))
	case n < 60:
		l.openGate()
	case n < 68:
		l.cancel()
	case n < 71:
		c := l.chats[l.random.IntN(len(l.chats))]
		l.note("delete %s", c)
		l.expect(l.p.door().call(l.t, "DELETE", "/chats/"+string(c), nil, nil), http.StatusOK, http.StatusNotFound)
	case n < 74:
		c := l.chats[l.random.IntN(len(l.chats))]
		l.note("rename %s", c)
		l.expect(l.p.door().call(l.t, "PATCH", "/chats/"+string(c), map[string]string{"title": name("Title ", n)}, nil), http.StatusOK, http.StatusNotFound)
	case n < 82:
		l.come()
	case n < 90:
		l.leave()
	case n < 97:
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
		allowed := []int{http.StatusConflict}
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
		if r.stream == nil && r.got.terminal == nil {
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
	r.read(l.p.door().mustChat(l.t, r.run.body, r.got.lastID()))
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
		if run.taken && !slices.ContainsFunc(stored[id.Conversation(run.body.Chat)], func(r event.Record) bool { return r.Run == id.Run(run.body.Run) }) {
			l.t.Errorf("run %s was taken and is not stored", run.body.Run)
		}
	}
}

// finish lets every run end and every reader read all of it.
func (l *live) finish() {
	l.t.Helper()
	l.note("finish")
	l.openAll()
	for _, r := range l.readers {
		if r.stream == nil && r.got.terminal == nil {
			l.attach(r)
		}
	}
	for _, r := range l.readers {
		if r.stream != nil {
			l.gone(r)
		}
		if r.got.terminal == nil {
			l.t.Errorf("a reader of %s has no terminal after %d events", r.run.body.Run, len(r.got.frames))
		}
	}
	l.expect(l.p.stop(), 0)
	l.compare(l.p.dir)
	l.wholeTexts()
}

// wholeTexts compares the text of each reader with that of its run in the log.
func (l *live) wholeTexts() {
	l.t.Helper()
	for c, records := range readStored(l.t, l.p.dir, l.chats...) {
		text := map[string]string{}
		for _, r := range records {
			if r.Kind == (event.Delta{}).Kind() {
				e, err := r.Event()
				if err != nil {
					l.t.Fatal(err)
				}
				text[string(r.Run)] += e.(event.Delta).Text
			}
		}
		for _, r := range l.readers {
			if r.run.body.Chat == string(c) && r.got.text != text[r.run.body.Run] {
				l.t.Errorf("a reader of %s has %q, the log %q", r.run.body.Run, r.got.text, text[r.run.body.Run])
			}
		}
	}
}
