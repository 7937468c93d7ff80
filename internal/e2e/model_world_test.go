package e2e

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"verbatim/internal/chat"
	"verbatim/internal/id"
	"verbatim/internal/llm"
	"verbatim/internal/store"
	"verbatim/internal/turnlog"
)

// engine is the program without its doors: store, log and chat in this process,
// asked by the test and answered by a model that the test is too. It can crash.
type engine struct {
	reopen func() (turnlog.Store, error)
	store  *weakStore
	log    *turnlog.Log
	chat   *chat.Service

	mu      sync.Mutex
	answers map[string]*answer // by prompt: what the model is saying now
	changed chan struct{}      // the model was asked, or has been left
}

// onDisk opens the store that the program uses.
func onDisk(dir string) func() (turnlog.Store, error) {
	return func() (turnlog.Store, error) { return store.Open(dir, store.Options{BallastBytes: -1}) }
}

// inMemory opens a store that is fast.
func inMemory() func() (turnlog.Store, error) {
	disk := newMemDisk()
	return func() (turnlog.Store, error) { return disk.open(), nil }
}

// openEngine starts an engine on what open opens, as a process would.
func openEngine(open func() (turnlog.Store, error)) (*engine, error) {
	db, err := open()
	if err != nil {
		return nil, err
	}
	e := &engine{reopen: open, answers: map[string]*answer{}, changed: make(chan struct{}, 1)}
	e.store = &weakStore{Store: db, died: e.signal}
	e.log = turnlog.New(e.store, turnlog.Options{})
	e.chat = chat.New(chat.Options{
		Log: e.log,
		Choose: func(context.Context) (chat.Choice, error) {
			return chat.Choice{Model: e, Name: "test/model", Request: llm.Request{Model: "model"}}, nil
		},
	})
	return e, nil
}

// recover does what a process does before it takes its first request.
func (e *engine) recover() error { return e.chat.Recover(context.Background()) }

// crash ends the engine as kill -9 does: nothing more is written, nothing is
// closed in an orderly way.
func (e *engine) crash() error {
	e.store.dead.Store(true)
	return e.stop()
}

// stop ends the engine in order, runs that are under way as interrupted.
func (e *engine) stop() error {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	return errors.Join(e.chat.Stop(now), e.log.Close())
}

// weakStore is a store whose process may die and whose disk may fail.
type weakStore struct {
	turnlog.Store

	died func() // called when the process has died of diesAfter
	dead atomic.Bool
	// diesAfter: the process dies when the next commit is on disk and before
	// anyone hears of it.
	diesAfter atomic.Bool

	mu    sync.Mutex
	fail  error // of the next commits
	times int   // how many of them fail
}

// failNext makes the next commits fail; 0 times takes it back.
func (s *weakStore) failNext(err error, times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail, s.times = err, times
}

func (s *weakStore) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.times == 0 {
		return nil
	}
	s.times--
	return s.fail
}

func (s *weakStore) Commit(ctx context.Context, groups []turnlog.Group) []error {
	if s.dead.Load() {
		return all(groups, turnlog.ErrFenced)
	}
	if err := s.failure(); err != nil {
		return all(groups, err)
	}
	errs := s.Store.Commit(ctx, groups)
	if s.diesAfter.Load() {
		s.dead.Store(true)
		s.died()
		return all(groups, turnlog.ErrFenced)
	}
	return errs
}

func (s *weakStore) Upkeep(ctx context.Context) error {
	if s.dead.Load() {
		return nil
	}
	return s.Store.Upkeep(ctx)
}

func all(groups []turnlog.Group, err error) []error {
	errs := make([]error, len(groups))
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// answer is one round of the model under way. The test says what comes next.
type answer struct {
	next chan piece
	gone chan struct{} // closed when nobody listens any more
}

// piece is a chunk, or the error that ends the answer.
type piece struct {
	chunk llm.Chunk
	err   error
}

// Stream is the model: it says what the test gives it.
func (e *engine) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		prompt := lastPrompt(req)
		a := &answer{next: make(chan piece), gone: make(chan struct{})}
		e.mu.Lock()
		e.answers[prompt] = a
		e.mu.Unlock()
		e.signal()
		defer func() {
			e.mu.Lock()
			if e.answers[prompt] == a {
				delete(e.answers, prompt)
			}
			e.mu.Unlock()
			close(a.gone)
			e.signal()
		}()
		a.play(ctx, yield)
	}
}

func (a *answer) play(ctx context.Context, yield func(llm.Chunk, error) bool) {
	for {
		select {
		case p := <-a.next:
			if !yield(p.chunk, p.err) || p.err != nil || p.chunk.Finish != nil {
				return
			}
		case <-ctx.Done():
			yield(llm.Chunk{}, ctx.Err())
			return
		}
	}
}

func lastPrompt(req llm.Request) string {
	for i := len(req.Messages) - 1; i >= 0; i-- {
		if req.Messages[i].Role == llm.RoleUser {
			return req.Messages[i].Text
		}
	}
	return ""
}

func (e *engine) signal() {
	select {
	case e.changed <- struct{}{}:
	default:
	}
}

// answering returns what the model says to a prompt, nil when it says nothing.
func (e *engine) answering(prompt string) *answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.answers[prompt]
}

// give hands the next piece to an answer, and reports whether anyone took it.
func (a *answer) give(p piece) bool {
	select {
	case a.next <- p:
		return true
	case <-a.gone:
		return false
	}
}

var errStuck = errors.New("stuck")

// settle waits until a run has ended, or its model is asked for the round after
// old (nil for any).
func (e *engine) settle(run id.Run, c id.Conversation, prompt string, old *answer) error {
	w := e.log.Watch(c)
	defer w.Close()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		if a := e.answering(prompt); a != nil && a != old {
			return nil
		}
		info, err := e.log.Run(context.Background(), run)
		if errors.Is(err, turnlog.ErrClosed) || e.store.dead.Load() {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look up run %s: %w", run, err)
		}
		if info.Last > 0 {
			return nil
		}
		select {
		case <-w.C:
		case <-e.changed:
		case <-limit.C:
			return fmt.Errorf("run %s neither ends nor asks its model: %w", run, errStuck)
		}
	}
}
