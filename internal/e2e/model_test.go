package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// TestModel plays random commands (send, regenerate, cancel, delete, rename,
// everything a model can say), faults of the disk, crashes and restarts,
// with readers that come and go. After each step the invariants of the log
// hold, and each reader has what the log has. It is the program without its
// doors, over its own store, and over one in memory for many more schedules.
func TestModel(t *testing.T) {
	t.Run("store", func(t *testing.T) {
		playSchedules(t, pick(40, 2_000), 20, func() func() (turnlog.Store, error) { return onDisk(fastDir(t)) })
	})
	t.Run("memory", func(t *testing.T) { playSchedules(t, pick(400, 100_000), 1, inMemory) })
}

// playSchedules plays schedules, some on each store.
func playSchedules(t *testing.T, schedules, perStore int, newStore func() func() (turnlog.Store, error)) {
	t.Helper()
	const steps = 40
	random := newRandom(t)
	for n := 0; n < schedules; {
		e, err := openEngine(newStore())
		if err != nil {
			t.Fatal(err)
		}
		for range min(perStore, schedules-n) {
			s := newSchedule(e, rand.New(rand.NewPCG(random.Uint64(), 0)), n)
			if err := s.play(steps); err != nil {
				t.Fatalf("schedule %d: %v\nsteps:\n%s", n, err, strings.Join(s.trace, "\n"))
			}
			e = s.engine
			n++
		}
		if err := e.stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// fastDir returns a directory in memory where the system has one: what is
// tested here is order, not the disk.
func fastDir(t *testing.T) string {
	t.Helper()
	if dir, err := os.MkdirTemp("/dev/shm", "verbatim-model-"); err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		return dir
	}
	return t.TempDir()
}

// schedule is one series of random steps over a few conversations.
type schedule struct {
	engine *engine
	random *rand.Rand
	number int
	trace  []string

	chats    []id.Conversation
	prompts  int
	asked    []*request // every command that was taken, oldest first
	readers  []*follower
	observed map[id.Conversation][]event.Record // the longest that anyone read
}

// request is a message, or an answer to be given again, that was taken.
type request struct {
	send   chat.SendRequest
	prompt string // what the model is asked; of the message that is answered
	said   string // all text that the model's connection took
	whole  bool   // nothing came between the model and the log
	ended  bool   // a reader has seen its terminal
}

func newSchedule(e *engine, random *rand.Rand, number int) *schedule {
	s := &schedule{engine: e, random: random, number: number, observed: map[id.Conversation][]event.Record{}}
	for i := range 1 + random.IntN(3) {
		s.chats = append(s.chats, id.Conversation(fmt.Sprintf("c%d-%d", number, i)))
	}
	return s
}

func (s *schedule) note(format string, args ...any) {
	s.trace = append(s.trace, fmt.Sprintf(format, args...))
}

// play makes the steps, then ends everything and checks what is left.
func (s *schedule) play(steps int) error {
	for range steps {
		if err := s.step(); err != nil {
			return err
		}
		if err := s.check(); err != nil {
			return err
		}
	}
	s.note("stop")
	if err := s.restart(s.engine.stop); err != nil {
		return err
	}
	return s.checkAtRest()
}

// restart ends the engine one way or the other and opens it again.
func (s *schedule) restart(end func() error) error {
	for _, q := range s.asked {
		q.whole = q.whole && q.ended
	}
	s.engine.store.failNext(nil, 0)
	if err := end(); err != nil {
		return fmt.Errorf("end: %w", err)
	}
	e, err := openEngine(s.engine.reopen)
	if err != nil {
		return fmt.Errorf("open again: %w", err)
	}
	s.engine = e
	left, err := s.leftOver()
	if err != nil {
		return err
	}
	if err := e.recover(); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	return s.checkRecovery(left)
}
