package e2e

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"verbatim/internal/approval"
	"verbatim/internal/blob"
	"verbatim/internal/chat"
	"verbatim/internal/id"
	"verbatim/internal/llm"
	"verbatim/internal/store"
	"verbatim/internal/turnlog"
)

// engine is the program without its doors: store, log, tools, approvals and chat
// in this process, asked by the test and answered by a model that the test is
// too. It can crash.
type engine struct {
	place place
	now   func() time.Time
	store *weakStore
	log   *turnlog.Log
	desk  *approval.Desk
	tools *actors
	chat  *chat.Service

	mu      sync.Mutex
	answers map[string]*answer // by prompt: what the model is saying now
}

// place is where engines keep things, one after another.
type place struct {
	open  func() (turnlog.Store, error)
	blobs chat.Blobs
	rules approval.RuleStore // nil for those of the store
}

// onDisk is the place that the program uses.
func onDisk(dir string) (place, error) {
	blobs, err := blob.Open(filepath.Join(dir, "blobs"))
	open := func() (turnlog.Store, error) { return store.Open(dir, store.Options{BallastBytes: -1}) }
	return place{open: open, blobs: blobs}, err
}

// inMemory is a place that is fast.
func inMemory() (place, error) {
	disk := newMemDisk()
	return place{open: func() (turnlog.Store, error) { return disk.open(), nil }, rules: noRules{}}, nil
}

// noRules is where no rule is kept: a person is asked each time.
type noRules struct{}

func (noRules) Rules(context.Context) ([]approval.Rule, error) { return nil, nil }
func (noRules) AddRule(context.Context, approval.Rule) error   { return nil }
func (noRules) RemoveRule(context.Context, string) error       { return approval.ErrNoRule }

// openEngine starts an engine in a place, as a process would.
func openEngine(p place) (*engine, error) { return openEngineAt(p, nil) }

// openEngineAt is openEngine for a process with another clock.
func openEngineAt(p place, now func() time.Time) (*engine, error) {
	db, err := p.open()
	if err != nil {
		return nil, err
	}
	e := &engine{place: p, now: now, answers: map[string]*answer{}, tools: newActors()}
	e.store = &weakStore{Store: db}
	e.log = turnlog.New(e.store, turnlog.Options{Now: now})
	rules := p.rules
	if rules == nil {
		rules = db.(approval.RuleStore)
	}
	e.desk = approval.New(approval.Options{
		Store: e.log, Rules: rules, Now: now,
		Policy: func(context.Context) (approval.Mode, time.Duration) { return approval.ModeSmart, 0 },
	})
	e.chat = chat.New(chat.Options{
		Log: e.log, Blobs: p.blobs, Tools: e.tools, Approvals: e.desk, Now: now,
		Choose: func(context.Context, chat.Want) (chat.Choice, error) {
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
		return all(groups, turnlog.ErrFenced)
	}
	return errs
}

func (s *weakStore) Erase(ctx context.Context, c id.Conversation, e turnlog.Erasure) ([]string, error) {
	if s.dead.Load() {
		return nil, turnlog.ErrFenced
	}
	if err := s.failure(); err != nil {
		return nil, err
	}
	return s.Store.Erase(ctx, c, e)
}

func (s *weakStore) Import(ctx context.Context, g turnlog.Group) error {
	if s.dead.Load() {
		return turnlog.ErrFenced
	}
	if err := s.failure(); err != nil {
		return err
	}
	return s.Store.Import(ctx, g)
}

func (s *weakStore) Upkeep(ctx context.Context) (more bool, err error) {
	if s.dead.Load() {
		return false, nil
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

// last reports whether nothing follows the piece in its round.
func (p piece) last() bool { return p.err != nil || p.chunk.Finish != nil }

// Stream is the model: it says what the test gives it.
func (e *engine) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		prompt := lastPrompt(req)
		a := &answer{next: make(chan piece), gone: make(chan struct{})}
		e.mu.Lock()
		e.answers[prompt] = a
		e.mu.Unlock()
		defer func() {
			e.mu.Lock()
			if e.answers[prompt] == a {
				delete(e.answers, prompt)
			}
			e.mu.Unlock()
			close(a.gone)
		}()
		a.play(ctx, yield)
	}
}

func (a *answer) play(ctx context.Context, yield func(llm.Chunk, error) bool) {
	for {
		select {
		case p := <-a.next:
			if !yield(p.chunk, p.err) || p.last() {
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
