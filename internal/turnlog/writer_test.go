package turnlog_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/store"
	"verbatim/internal/turnlog"
)

// gate is a store whose commits wait, so that a test decides what comes
// together in a batch and how it ends.
type gate struct {
	turnlog.Store
	begun chan struct{} // a commit is waiting
	pass  chan error    // of every group in it

	mu       sync.Mutex
	sizes    []int // groups in each commit
	madeRoom int
}

func (g *gate) Commit(ctx context.Context, groups []turnlog.Group) []error {
	g.begun <- struct{}{}
	err := <-g.pass
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sizes = append(g.sizes, len(groups))
	if err != nil {
		return slices.Repeat([]error{err}, len(groups))
	}
	return g.Store.Commit(ctx, groups)
}

func (g *gate) MakeRoom() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.madeRoom++
	return true
}

// free lets all commits from now on pass.
func (g *gate) free() {
	go func() {
		for range g.begun {
		}
	}()
	close(g.pass)
}

func openGate(t *testing.T) (*turnlog.Log, *gate) {
	t.Helper()
	db, err := store.Open(t.TempDir(), store.Options{BallastBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{Store: db, begun: make(chan struct{}), pass: make(chan error)}
	l := turnlog.New(g, turnlog.Options{})
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		close(g.begun)
	})
	return l, g
}

// outcome collects what callbacks are told, in the order they come.
type outcome struct {
	wg   sync.WaitGroup
	mu   sync.Mutex
	errs map[string]error
	seqs map[string]int64
	told []string
}

func newOutcome() *outcome { return &outcome{errs: map[string]error{}, seqs: map[string]int64{}} }

func (o *outcome) post(l *turnlog.Log, name string, c id.Conversation, drafts ...turnlog.Draft) {
	o.wg.Add(1)
	l.Post(c, drafts, func(records []event.Record, err error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		defer o.wg.Done()
		o.errs[name] = err
		o.told = append(o.told, name)
		if err == nil {
			o.seqs[name] = records[0].Seq
		}
	})
}

func (o *outcome) check(t *testing.T, name string, seq int64, err error) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if got := o.errs[name]; (err == nil) != (got == nil) || err != nil && !errors.Is(got, err) {
		t.Errorf("%s: got %v, want %v", name, got, err)
	}
	if o.seqs[name] != seq {
		t.Errorf("%s: seq %d, want %d", name, o.seqs[name], seq)
	}
}

// What comes while a commit runs is one batch, and units of it that are bad
// fail alone: not with their conversation, not with another's.
func TestABatchIsWhatCameMeanwhile(t *testing.T) {
	l, g := openGate(t)
	o := newOutcome()
	o.post(l, "first", "c", question("q1", "hi"), start("r1", "a1"))
	<-g.begun
	o.post(l, "good before", "c", question("q2", "hi"))
	o.post(l, "bad", "c", question("q3", "hi"), start("r1", "a1"))
	o.post(l, "other", "d", question("q4", "hi"))
	o.post(l, "good after", "c", question("q5", "hi"))
	g.free()
	o.wg.Wait()
	o.check(t, "first", 1, nil)
	o.check(t, "good before", 3, nil)
	o.check(t, "good after", 4, nil)
	o.check(t, "other", 1, nil)
	if err := o.errs["bad"]; err == nil || !strings.Contains(err.Error(), "taken") {
		t.Errorf("bad: %v, want that the run id is taken", err)
	}
	if want := []int{1, 2, 1, 1, 1}; !slices.Equal(g.sizes, want) {
		t.Errorf("groups in the commits: %v, want %v", g.sizes, want)
	}
	if want := []string{"first", "good before", "bad", "other", "good after"}; !slices.Equal(o.told, want) {
		t.Errorf("told in the order %v, want %v", o.told, want)
	}
	got, err := l.After(t.Context(), "c", 0, turnlog.Limit{})
	if err != nil || len(got) != 4 {
		t.Errorf("%d records in c, %v; want 4", len(got), err)
	}
}

// A full disk: the unit fails, room is made once, what was posted behind it for
// the same run fails too, and the run can be closed by whoever has heard.
func TestAFullDiskLeavesNoHole(t *testing.T) {
	l, g := openGate(t)
	o := newOutcome()
	o.post(l, "start", "c", question("q1", "hi"), start("r1", "m2"))
	<-g.begun
	g.pass <- nil
	o.wg.Wait()
	o.post(l, "piece", "c", delta(0, "a"))
	<-g.begun
	o.post(l, "next piece", "c", delta(1, "b"))
	o.post(l, "other", "d", question("q9", "hi"))
	g.pass <- turnlog.ErrFull
	g.free()
	o.wg.Wait()
	o.check(t, "piece", 0, turnlog.ErrFull)
	o.check(t, "next piece", 0, turnlog.ErrFull)
	o.check(t, "other", 1, nil)
	if g.madeRoom != 1 {
		t.Errorf("room was made %d times, want once", g.madeRoom)
	}
	closing, err := l.Append(t.Context(), "c", turnlog.Draft{Run: "r1", Message: "m2", Event: event.Error{Type: event.ErrorInternal, Code: event.CodeDiskFull}})
	if err != nil || closing[0].Seq != 3 {
		t.Errorf("closing: %v, %v; want seq 3", closing, err)
	}
}

// An Append that was called before a failure was reported can't know of it and
// fails too; posts fail until the next Append, which goes through.
func TestAnAppendBehindAFailureFailsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, g := openGate(t)
		o := newOutcome()
		o.post(l, "start", "c", question("q1", "hi"), start("r1", "m2"))
		<-g.begun
		o.post(l, "bad piece", "c", delta(0, "\xff"))
		o.post(l, "behind", "c", delta(1, "b"))
		appended := make(chan error, 1)
		go func() {
			_, err := l.Append(t.Context(), "c", delta(2, "c"))
			appended <- err
		}()
		synctest.Wait() // it is in the queue
		g.free()
		o.wg.Wait()
		o.check(t, "bad piece", 0, turnlog.ErrInvalid)
		o.check(t, "behind", 0, turnlog.ErrInvalid)
		if err := <-appended; !errors.Is(err, turnlog.ErrInvalid) {
			t.Errorf("the append behind it: %v, want ErrInvalid", err)
		}
		o.post(l, "later", "c", delta(2, "c"))
		o.wg.Wait()
		o.check(t, "later", 0, turnlog.ErrInvalid)
		if records := mustAppend(t, l, "c", delta(0, "d")); records[0].Seq != 3 {
			t.Errorf("seq %d after the failures, want 3", records[0].Seq)
		}
		o.post(l, "on", "c", delta(1, "e"))
		o.wg.Wait()
		o.check(t, "on", 4, nil)
	})
}

func TestAFencedLogSaysSo(t *testing.T) {
	l, g := openGate(t)
	o := newOutcome()
	for _, err := range []error{nil, turnlog.ErrFenced, turnlog.ErrFenced} {
		o.post(l, "question", "c", question("q1", "hi"))
		<-g.begun
		g.pass <- err
		o.wg.Wait()
		if got := o.errs["question"]; !errors.Is(got, err) {
			t.Errorf("got %v, want %v", got, err)
		}
	}
	if got, err := l.After(t.Context(), "c", 0, turnlog.Limit{}); err != nil || len(got) != 1 {
		t.Errorf("%d records, %v; want the one that was written", len(got), err)
	}
}
