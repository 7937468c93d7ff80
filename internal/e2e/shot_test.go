package e2e

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// phase is how far a run had come in the log when its process was killed.
type phase string

const (
	beforeStart    phase = "before start"
	startOnly      phase = "after start"
	midReasoning   phase = "mid-reasoning"
	midDelta       phase = "mid-delta"
	betweenRounds  phase = "between rounds"
	beforeTerminal phase = "before the terminal"
	afterEnd       phase = "after the end"
	// inCheckpoint is beside the others: the database was being written.
	inCheckpoint phase = "in a checkpoint"
)

var phases = []phase{beforeStart, startOnly, midReasoning, midDelta, betweenRounds, beforeTerminal, afterEnd, inCheckpoint}

// phaseOf tells the phase from what is stored.
func phaseOf(records []event.Record, run id.Run) phase {
	at := beforeStart
	for _, r := range records {
		if r.Run != run {
			continue
		}
		e, err := r.Event()
		if err != nil {
			continue
		}
		switch e := e.(type) {
		case event.Start:
			at = startOnly
		case event.Reasoning:
			at = midReasoning
		case event.Delta:
			at = midDelta
		case event.SegmentEnd:
			at = map[event.Phase]phase{
				event.PhaseReasoning: midReasoning, event.PhaseCommentary: betweenRounds, event.PhaseAnswer: beforeTerminal,
			}[e.Phase]
		case event.ToolDrafting, event.ToolCall, event.ToolResult:
			at = betweenRounds
		case event.Usage:
			at = beforeTerminal
		case event.End, event.Error, event.Cancelled:
			at = afterEnd
		}
	}
	return at
}

// shot is one run that is killed: what its model says, what its client saw.
type shot struct {
	t      *testing.T
	p      *product
	random *rand.Rand
	aim    phase
	chat   id.Conversation
	run    id.Run
	prompt string

	thoughts, beats, answer []string // as the model writes them
	// flows says that the model does not wait at the place aimed at.
	flows bool
	// twice says that a run that was retried is killed again.
	twice   bool
	reached chan struct{} // the model has come to the place
	gate    chan struct{} // what the model waits for before its end

	got     seen
	broke   error         // why the client's stream ended
	changed chan struct{} // the client saw more
	thought atomic.Int64  // bytes that the client saw
	said    atomic.Int64
	ended   atomic.Bool // it saw the terminal
	gone    chan struct{}

	before []event.Record // what was stored at the kill
	hit    phase
	moving bool // a checkpoint was under way

	index walIndex // of the database, as the process found it
}

func newShot(t *testing.T, p *product, random *rand.Rand, aim phase, n int) *shot {
	return &shot{
		t: t, p: p, random: random, aim: aim,
		chat: id.Conversation(name("chat-", n)), run: id.Run(name("run-", n)), prompt: name("shot ", n),
		thoughts: pieces(random, 6), beats: pieces(random, 6), answer: pieces(random, 8),
		flows: random.IntN(2) == 0, twice: random.IntN(2) == 0,
		reached: make(chan struct{}, 8), gate: make(chan struct{}),
		changed: make(chan struct{}, 1), gone: make(chan struct{}),
	}
}

// pieces makes texts with a bit of everything; each begins with a visible
// character.
func pieces(random *rand.Rand, n int) []string {
	bits := []string{"word", " ", "\n", "\n\n", "你好", "🌍", "e\u0301", "\t", "&amp;", `"\`, "\u202e", "0", "  ", "\r\n"}
	out := make([]string, n)
	for i := range out {
		out[i] = "·"
		for range 1 + random.IntN(12) {
			out[i] += bits[random.IntN(len(bits))]
		}
	}
	return out
}

// pourBytes is more than the write-ahead log holds before it is moved.
const pourBytes = 64 << 20

// answerTo is what the model plays for one request of this run. Only the first
// time it is asked does it stop at the place aimed at.
func (k *shot) answerTo(a ask) []step {
	first := a.Nth == 0
	if a.Round == 0 {
		return k.firstRound(first, k.twice && a.Nth == 1)
	}
	var steps []step
	if first && k.aim == betweenRounds {
		steps = append(steps, k.here()...)
	}
	for i, s := range k.answer {
		if first && k.aim == midDelta && i == len(k.answer)/2 {
			steps = append(steps, k.here()...)
		}
		steps = append(steps, say(s))
	}
	if first && k.aim == beforeTerminal {
		steps = append(steps, tell(k.reached), hold(k.gate))
	}
	return append(steps, finish("stop"))
}

func (k *shot) firstRound(first, again bool) []step {
	var steps []step
	if k.aim == startOnly && (first || again) {
		return []step{tell(k.reached), never()}
	}
	for i, s := range k.thoughts {
		steps = append(steps, think(s))
		if first && k.aim == midReasoning && i == len(k.thoughts)/2 {
			steps = append(steps, k.here()...)
		}
	}
	if first && k.aim == inCheckpoint {
		big := say(strings.Repeat("All work and no play. ", 1400))
		steps = append(steps, tell(k.reached))
		for range pourBytes / (22 * 1400) {
			steps = append(steps, big)
		}
	}
	for _, s := range k.beats {
		steps = append(steps, say(s))
	}
	return append(steps, call("c1", "no_such_tool", `{"a": 1}`), finish("tool_calls"))
}

// here is the place aimed at.
func (k *shot) here() []step {
	if k.flows {
		return []step{tell(k.reached)}
	}
	return []step{tell(k.reached), never()}
}

func (k *shot) whole() string {
	return strings.Join(k.beats, "") + strings.Join(k.answer, "")
}

func (k *shot) body() prompt {
	return prompt{Prompt: k.prompt, Chat: string(k.chat), Run: string(k.run)}
}

// fire sends the message, kills the process at the place aimed at, and waits
// until the client has read all that reached it.
func (k *shot) fire() {
	k.t.Helper()
	k.index = openIndex(k.t, k.p.dir).since(k.t)
	defer k.index.Close()
	go k.watch(k.p.door())
	k.wait()
	k.p.kill()
	receive(k.t, "the end of the client", k.gone)
	k.moving = k.index.moving(k.t)
}

// watch is the client.
func (k *shot) watch(d *door) {
	defer close(k.gone)
	s, err := d.chat(k.body(), "")
	if err != nil {
		k.broke = err
		return
	}
	defer s.Close()
	for {
		f, err := s.next()
		if err == nil {
			err = k.got.take(f)
		}
		if err != nil {
			k.broke = err
			return
		}
		k.count(f)
	}
}

func (k *shot) count(f frame) {
	switch f.Name {
	case "reasoning":
		k.thought.Add(int64(len(f.Data.Text)))
	case "delta":
		k.said.Add(int64(len(f.Data.Text)))
	}
	k.ended.Store(f.terminal())
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// sees waits until the client has seen something.
func (k *shot) sees(what string, holds func() bool) {
	k.t.Helper()
	for !holds() {
		select {
		case <-k.changed:
		case <-k.gone:
			if holds() {
				return
			}
			k.t.Fatalf("the client's stream ended before it saw %s: %v", what, k.broke)
		case <-time.After(patience):
			k.t.Fatalf("gave up waiting until the client sees %s", what)
		}
	}
}

// wait returns at the instant to kill.
func (k *shot) wait() {
	k.t.Helper()
	limit := 3 * time.Millisecond
	switch k.aim {
	case beforeStart:
		moment(k.random, 2*time.Millisecond)
		return
	case afterEnd:
		k.sees("the end", k.ended.Load)
	case beforeTerminal:
		k.waitForLastCommit()
		return
	case inCheckpoint:
		receive(k.t, "the model", k.reached)
		spin(k.t, "a checkpoint begins", func() bool { return k.index.moving(k.t) })
		return
	default:
		receive(k.t, "the model", k.reached)
	}
	switch {
	case k.aim == midReasoning && !k.flows:
		k.sees("reasoning", func() bool { return k.thought.Load() > 0 })
	case k.aim == midDelta && !k.flows:
		beats := int64(len(strings.Join(k.beats, "")))
		k.sees("the answer begin", func() bool { return k.said.Load() > beats })
	case k.flows:
		limit = time.Millisecond
	}
	if k.random.IntN(2) == 0 {
		// At once: what the client has seen must be stored already.
		limit = 0
	}
	moment(k.random, limit)
}

// waitForLastCommit returns right after the commit that ends the last segment;
// that of the terminal is on its way.
func (k *shot) waitForLastCommit() {
	k.t.Helper()
	receive(k.t, "the model", k.reached)
	k.sees("the whole text", func() bool { return k.said.Load() == int64(len(k.whole())) })
	was := k.index.commits(k.t)
	close(k.gate)
	spin(k.t, "the next commit", func() bool { return k.index.commits(k.t) != was })
}

// brokeCleanly reports whether the client's stream ended as that of a killed
// process does: not with a wrong event.
func (k *shot) brokeCleanly() bool {
	var closed interface{ Timeout() bool } // every net error has it
	return k.broke == io.EOF || errors.Is(k.broke, io.ErrUnexpectedEOF) || errors.As(k.broke, &closed)
}
