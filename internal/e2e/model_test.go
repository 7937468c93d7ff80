package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
)

// TestModel plays random commands (send, regenerate, cancel, queue, decide,
// fork, edit and send, switch versions, delete, undo, rename, everything a model
// and its tools can do), faults of the disk, crashes, restarts and the passing
// of time, with readers that come and go. After each step the invariants of the
// log hold, each reader has what the log has, the indexes say what the fold
// says, and no tool ran that nobody allowed. It is the program without its
// doors, over its own store, and over one in memory for many more schedules.
func TestModel(t *testing.T) {
	t.Run("store", func(t *testing.T) {
		playSchedules(t, pick(20, 1_000), 10, func() (place, error) {
			p, err := onDisk(fastDir(t))
			p.rules = noRules{}
			return p, err
		})
	})
	t.Run("memory", func(t *testing.T) { playSchedules(t, pick(200, 50_000), 1, inMemory) })
}

// playSchedules plays schedules, some in each place. Time is that of a bubble: it
// stands while anything moves. VERBATIM_SCHEDULE, with the seed of a failure,
// plays that schedule alone, and those before it in its place.
func playSchedules(t *testing.T, schedules, perPlace int, newPlace func() (place, error)) {
	t.Helper()
	random, only := newRandom(t), onlySchedule(t)
	for n := 0; n < schedules && !t.Failed(); n += perPlace {
		if only >= 0 && n/perPlace != only/perPlace {
			for range min(perPlace, schedules-n) {
				random.Uint64() // the seed of a schedule
			}
			continue
		}
		p, err := newPlace()
		if err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			playIn(t, p, random, n, min(perPlace, schedules-n))
		})
	}
}

// onlySchedule returns the number of the one schedule to play, -1 for all.
func onlySchedule(t *testing.T) int {
	t.Helper()
	s := os.Getenv("VERBATIM_SCHEDULE")
	if s == "" {
		return -1
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		t.Fatalf("VERBATIM_SCHEDULE: %q is no number of a schedule", s)
	}
	return n
}

// playIn plays schedules in one place, one after another.
func playIn(t *testing.T, p place, random *rand.Rand, first, count int) {
	const steps = 60
	e, err := openEngine(p)
	if err != nil {
		t.Fatal(err)
	}
	err = e.recover()
	for n := first; n < first+count && err == nil; n++ {
		s := newSchedule(e, rand.New(rand.NewPCG(random.Uint64(), 0)), n)
		if err = s.play(steps); err != nil {
			err = fmt.Errorf("schedule %d: %w\nsteps:\n%s", n, err, strings.Join(s.trace, "\n"))
		}
		e = s.engine
	}
	// Nothing may be left in the bubble, whatever went wrong.
	if err := errors.Join(err, e.stop()); err != nil {
		t.Fatal(err)
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
	forks    map[id.Conversation]bool
	prompts  int
	calls    int           // of tools, so far
	asked    []*request    // every command that was taken, oldest first
	resolved []id.Approval // requests that somebody decided or that ended
	readers  []*follower
	observed map[id.Conversation][]event.Record // the longest that anyone read
}

// request is a message, or an answer to be given again, that was taken.
type request struct {
	send   chat.SendRequest
	prompt string // what the model is asked; of the message that is answered
	said   string // all text that the model's connection took
	whole  bool   // nothing came between the model and the log
	ended  bool   // its terminal was seen in the log
}

func newSchedule(e *engine, random *rand.Rand, number int) *schedule {
	s := &schedule{
		engine: e, random: random, number: number,
		observed: map[id.Conversation][]event.Record{}, forks: map[id.Conversation]bool{},
	}
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
		if err := s.settle(); err != nil {
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
	e, err := openEngine(s.engine.place)
	if err != nil {
		return fmt.Errorf("open again: %w", err)
	}
	e.tools.ran = s.engine.tools.ran
	s.engine = e
	left, err := s.leftOver()
	if err != nil {
		return err
	}
	if err := e.recover(); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	if err := s.settle(); err != nil {
		return err
	}
	return s.checkRecovery(left)
}

// settle waits until nothing moves any more. Then each run is waited for by
// somebody: its model, a person, a tool; and a queue waits for a run or for a
// person.
func (s *schedule) settle() error {
	synctest.Wait()
	stuck, err := s.stuck()
	if stuck == "" || err != nil {
		return err
	}
	// A run that the disk did not take is closed again and again.
	time.Sleep(20 * time.Second)
	synctest.Wait()
	if stuck, err = s.stuck(); stuck != "" {
		return fmt.Errorf("stuck: %s", stuck)
	}
	return err
}

// stuck says what moves no more though nobody is waited for.
func (s *schedule) stuck() (string, error) {
	if s.engine.store.dead.Load() {
		return "", nil
	}
	waiting := map[id.Run]bool{}
	for _, p := range s.engine.desk.Pending() {
		waiting[p.Run] = true
	}
	for _, c := range s.chats {
		state, err := s.state(c)
		if err != nil {
			return "", err
		}
		run := state.Open()
		switch {
		case run == nil && len(state.Queue) > 0 && !state.Held:
			return fmt.Sprintf("%d messages of %s", len(state.Queue), c), nil
		case run != nil && !waiting[run.ID] && !s.listening(run.ID) && !callOpen(run):
			return fmt.Sprintf("run %s of %s", run.ID, c), nil
		}
	}
	return "", nil
}

// listening reports whether the model is being heard for a run.
func (s *schedule) listening(run id.Run) bool {
	for _, q := range s.asked {
		if q.send.Run == run {
			return s.engine.answering(q.prompt) != nil
		}
	}
	return false
}

// callOpen reports whether a run has a call that runs.
func callOpen(run *transcript.Run) bool {
	for _, p := range run.Parts {
		if p.Tool != nil && p.Tool.Called != nil && p.Tool.Result == nil {
			return true
		}
	}
	return false
}
