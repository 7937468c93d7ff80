package llm

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
)

// said is one item of a stream.
type said struct {
	chunk Chunk
	err   error
}

// fake answers the n-th request with the n-th list, the last for all further
// ones, each after a time.
type fake struct {
	answers [][]said
	takes   time.Duration
	asked   int
	closed  bool
}

func (f *fake) Stream(context.Context, Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		list := f.answers[min(f.asked, len(f.answers)-1)]
		f.asked++
		time.Sleep(f.takes)
		for _, s := range list {
			if !yield(s.chunk, s.err) {
				return
			}
		}
	}
}

func (f *fake) Close() error {
	f.closed = true
	return nil
}

func TestRetry(t *testing.T) {
	busy := &Failure{Kind: event.ErrorRateLimit, Retryable: true, Message: "busy"}
	wait := &Failure{Kind: event.ErrorRateLimit, Retryable: true, RetryAfter: 9 * time.Second, Message: "wait"}
	long := &Failure{Kind: event.ErrorRateLimit, Retryable: true, RetryAfter: 31 * time.Second, Message: "long"}
	final := &Failure{Kind: event.ErrorAuth, Message: "no"}
	other := errors.New("other")
	text, finish := said{chunk: Chunk{Text: "a"}}, said{chunk: Chunk{Finish: &Finish{Reason: event.FinishStop}}}
	good := []said{text, finish}
	tests := []struct {
		name    string
		answers [][]said
		takes   time.Duration
		want    []said
		asked   int
		after   time.Duration
	}{
		{"nothing to retry", [][]said{good}, 0, good, 1, 0},
		{"twice busy", [][]said{{{err: busy}}, {{err: busy}}, good}, 0, good, 3, 1500 * time.Millisecond},
		{"always busy", [][]said{{{err: busy}}}, 0, []said{{err: busy}}, 3, 1500 * time.Millisecond},
		{"the provider names the wait", [][]said{{{err: wait}}, good}, 0, good, 2, 9 * time.Second},
		{"the waits together are too long", [][]said{{{err: wait}}}, 7 * time.Second, []said{{err: wait}}, 2, 23 * time.Second},
		{"the wait is too long", [][]said{{{err: long}}, good}, 0, []said{{err: long}}, 1, 0},
		{"the first try took too long", [][]said{{{err: busy}}, good}, 31 * time.Second, []said{{err: busy}}, 1, 31 * time.Second},
		{"final", [][]said{{{err: final}}, good}, 0, []said{{err: final}}, 1, 0},
		{"no failure", [][]said{{{err: other}}, good}, 0, []said{{err: other}}, 1, 0},
		{"after a text", [][]said{{text, {err: busy}}, good}, 0, []said{text, {err: busy}}, 1, 0},
		{"after usage", [][]said{{{chunk: Chunk{Usage: &Usage{}}}, {err: busy}}, good}, 0, []said{{chunk: Chunk{Usage: &Usage{}}}, {err: busy}}, 1, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{answers: test.answers, takes: test.takes}
				m := Retry(f, Policy{Random: func() float64 { return 0.5 }})
				begun := time.Now()
				var got []said
				for c, err := range m.Stream(t.Context(), Request{}) {
					got = append(got, said{c, err})
				}
				same := cmp.Comparer(func(a, b error) bool { return a == b })
				if diff := cmp.Diff(got, test.want, cmp.AllowUnexported(said{}), same); diff != "" {
					t.Errorf("stream (-got +want):\n%s", diff)
				}
				if f.asked != test.asked || time.Since(begun) != test.after {
					t.Errorf("asked %d times in %v, want %d in %v", f.asked, time.Since(begun), test.asked, test.after)
				}
			})
		})
	}
}

func TestRetrySpreadsTheWaits(t *testing.T) {
	for random, want := range map[float64]time.Duration{0: 250 * time.Millisecond, 0.999: 749500 * time.Microsecond} {
		r := retrying{policy: Policy{Random: func() float64 { return random }}.withDefaults()}
		if got := r.wait(&Failure{}, 1); got != want {
			t.Errorf("random %v: got %v, want %v", random, got, want)
		}
	}
}

func TestRetryEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		f := &fake{answers: [][]said{{{err: &Failure{Retryable: true, RetryAfter: 20 * time.Second}}}}}
		var last error
		for _, err := range Retry(f, Policy{}).Stream(ctx, Request{}) {
			last = err
		}
		if !errors.Is(last, context.DeadlineExceeded) || f.asked != 1 {
			t.Errorf("got %v after %d requests, want the context's error after 1", last, f.asked)
		}
	})
}

func TestRetryEndsWithTheLoop(t *testing.T) {
	f := &fake{answers: [][]said{{{chunk: Chunk{Text: "a"}}, {chunk: Chunk{Text: "b"}}}}}
	m := Retry(f, Policy{})
	for range m.Stream(t.Context(), Request{}) {
		break
	}
	if closer, ok := m.(interface{ Close() error }); !ok || closer.Close() != nil || !f.closed {
		t.Error("the model behind was not closed")
	}
}
