package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"verbatim/internal/id"
	"verbatim/internal/transcript"
)

// TestKillAtWork (G6, G7, G12, I3) kills the program by -9 while a command runs,
// a request for approval waits, messages are queued, and forks, deletions,
// imports and switches of versions are being made, all at once, each in a chat of its own.
// After the restart each is as it must be.
func TestKillAtWork(t *testing.T) {
	random := newRandom(t)
	hits := map[phase]int{}
	total := pick(5, 100)
	for n := 0; n < total; {
		h := newHall(t, random)
		for range min(10, total-n) {
			h.killOnce(n, hits)
			n++
			if t.Failed() {
				t.Fatalf("kill %d", n-1)
			}
		}
		h.finish()
	}
	t.Logf("%d kills\n%s", total, tableOf(workPhases, hits))
	for _, at := range workPhases {
		if hits[at] == 0 {
			t.Errorf("no kill hit the phase %q", at)
		}
	}
}

// The phases of what is not a run alone.
const (
	toolRunning     phase = "command running"
	approvalPending phase = "approval pending"
	decisionAtKill  phase = "decision at the kill"
	inQueue         phase = "messages queued"
	stopAtKill      phase = "stop at the kill"
	forkUnderWay    phase = "fork under way"
	versionSwitch   phase = "version switch under way"
	undoTime        phase = "deleted, can be undone"
	deleteUnderWay  phase = "deletion under way"
	importUnderWay  phase = "import under way"
)

var workPhases = []phase{
	toolRunning, approvalPending, decisionAtKill, inQueue, stopAtKill, forkUnderWay, versionSwitch, undoTime, deleteUnderWay,
	importUnderWay,
}

// scene is one chat in which something is under way when the program is killed.
type scene interface {
	// chat is where it happens, number counts the kills, answer is what its
	// model says; nil for a question that is not the scene's.
	chat() id.Conversation
	number() int
	answer(a ask) []step
	// begin returns when it is under way.
	begin(d *door)
	// strike comes with the kill: what a client does at that very instant.
	strike(d *door)
	// left looks at what the killed process left, and names the phases that
	// were hit.
	left(state *transcript.Conversation) []phase
	// after checks the program that was started again.
	after(d *door)
	// rest checks what is stored in the end.
	rest(state *transcript.Conversation)
}

// hall is a program in which scenes are played.
type hall struct {
	t         *testing.T
	random    *rand.Rand
	p         *product
	u         *upstream
	workspace string

	mu     sync.Mutex
	scenes []scene
}

func newHall(t *testing.T, random *rand.Rand) *hall {
	h := &hall{t: t, random: random, workspace: t.TempDir()}
	h.u = newUpstream(t, h.answer)
	h.p = startProduct(t, h.u, "--workspace", h.workspace)
	return h
}

func (h *hall) answer(a ask) []step {
	h.mu.Lock()
	scenes := h.scenes
	h.mu.Unlock()
	for _, s := range scenes {
		if steps := s.answer(a); steps != nil {
			return steps
		}
	}
	return []step{say("As I said."), finish("stop")}
}

// killOnce plays one scene of each kind and kills the program.
func (h *hall) killOnce(n int, hits map[phase]int) {
	h.t.Helper()
	base := sceneBase{hall: h, n: n, raced: h.random.IntN(2) == 0}
	scenes := []scene{
		&toolScene{sceneBase: base}, &approvalScene{sceneBase: base.flip(n)}, &queueScene{sceneBase: base.flip(n + 1)},
		&forkScene{sceneBase: base}, &versionScene{sceneBase: base}, &deleteScene{sceneBase: base.flip(n)},
		&importScene{sceneBase: base},
	}
	h.mu.Lock()
	h.scenes = append(h.scenes, scenes...)
	h.mu.Unlock()
	d := h.p.door()
	h.each(scenes, func(s scene) { s.begin(d) })
	if h.t.Failed() {
		return
	}
	var strikes sync.WaitGroup
	for _, s := range scenes {
		strikes.Go(func() { s.strike(d) })
	}
	moment(h.random, 10*time.Millisecond)
	h.p.kill()
	strikes.Wait()
	found := h.stored(copyDatabase(h.t, h.p.dir), scenes)
	for _, s := range scenes {
		for _, at := range s.left(found[s.chat()]) {
			hits[at]++
		}
	}
	h.p.start()
	d = h.p.door()
	h.each(scenes, func(s scene) { s.after(d) })
}

// each does something in all scenes at once: they are chats of their own.
func (h *hall) each(scenes []scene, do func(scene)) {
	var all sync.WaitGroup
	for _, s := range scenes {
		all.Go(func() { do(s) })
	}
	all.Wait()
}

// stored folds the chats of scenes in a data directory that no process uses.
func (h *hall) stored(dir string, scenes []scene) map[id.Conversation]*transcript.Conversation {
	h.t.Helper()
	var chats []id.Conversation
	for _, s := range scenes {
		chats = append(chats, s.chat())
	}
	out := map[id.Conversation]*transcript.Conversation{}
	for c, records := range readStored(h.t, dir, chats...) {
		state, err := folded(c, records)
		if err != nil {
			h.t.Error(err)
		}
		out[c] = state
	}
	return out
}

func (h *hall) finish() {
	h.t.Helper()
	if code := h.p.stop(); code != 0 {
		h.t.Errorf("exit code %d, want 0", code)
	}
	var chats []id.Conversation
	for _, s := range h.scenes {
		chats = append(chats, s.chat())
	}
	for c, records := range readStored(h.t, h.p.dir, chats...) {
		checkRecords(h.t, c, records)
	}
	found := h.stored(h.p.dir, h.scenes)
	// Those that undo something come before those that let its time pass,
	// which is everybody's.
	for parity := range 2 {
		for _, s := range h.scenes {
			if s.number()%2 == parity {
				s.rest(found[s.chat()])
			}
		}
	}
}

// sceneBase is what scenes share.
type sceneBase struct {
	*hall
	n int
	// raced says that a client acts at the instant of the kill.
	raced bool
}

func (b sceneBase) flip(n int) sceneBase {
	b.raced = n%2 == 0
	return b
}

func (b sceneBase) named(what string) string { return fmt.Sprintf("%s-%d", what, b.n) }

func (b sceneBase) number() int { return b.n }

func (b sceneBase) strike(*door) {}

func (b sceneBase) rest(*transcript.Conversation) {}

// ask sends a message and reads until an event.
func (b sceneBase) ask(d *door, p prompt, until func(frame) bool) *seen {
	got := &seen{}
	s, err := d.chat(p, "")
	if err != nil {
		b.t.Errorf("%s: %v", p.Prompt, err)
		return got
	}
	defer s.Close()
	if s.Status != http.StatusOK {
		b.t.Errorf("%s: status %d", p.Prompt, s.Status)
		return got
	}
	if err := got.readUntil(s, until); err != nil {
		b.t.Errorf("%s: %v", p.Prompt, err)
	}
	return got
}

// toEnd sends a message, or attaches to its run, and reads to the end.
func (b sceneBase) toEnd(d *door, p prompt) *seen { return b.ask(d, p, frame.terminal) }

// status is call for a program that may be killed meanwhile: 0 when no answer
// came.
func status(d *door, method, path, body string) int {
	res, err := d.request(method, path, []byte(body), http.Header{})
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	return res.StatusCode
}

// lastTool returns the last tool part of a chat.
func lastTool(state *transcript.Conversation) *transcript.Tool {
	if state == nil {
		return nil
	}
	var last *transcript.Tool
	for _, turn := range state.Turns {
		for _, run := range turn.Runs {
			for _, p := range run.Parts {
				if p.Tool != nil {
					last = p.Tool
				}
			}
		}
	}
	return last
}

// told returns what the model was told of tools when it was asked a question.
func (u *upstream) told(question string) string {
	var b strings.Builder
	for _, a := range u.asked() {
		if a.Prompt != question {
			continue
		}
		for _, m := range a.Messages {
			if m.Role == "tool" {
				b.WriteString(m.text() + "\n")
			}
		}
	}
	return b.String()
}

// undo opens the data directory of a program that has stopped as a later start
// would, with a clock that goes wrong by so much.
func (b sceneBase) undo(by time.Duration, do func(*engine)) {
	b.t.Helper()
	at, err := onDisk(b.p.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	e, err := openEngineAt(at, func() time.Time { return time.Now().Add(by) })
	if err != nil {
		b.t.Fatal(err)
	}
	do(e)
	if err := e.stop(); err != nil {
		b.t.Errorf("stop: %v", err)
	}
}
