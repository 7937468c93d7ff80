package llm

import (
	"context"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"time"
)

// Policy bounds the retries of a round. The zero value is the default.
type Policy struct {
	// Tries is how often a request is made in all; 0 means 3.
	Tries int
	// Total is how long after the first request another may begin; 0 means
	// 30 s. It does not cut a request short.
	Total time.Duration
	// First is the mean wait before the second request, doubled before each
	// further one; 0 means 500 ms. A wait that the provider asks for takes
	// its place.
	First time.Duration
	// Random returns a number in [0, 1) that spreads the waits by half in
	// both directions; nil means the standard source. It must be safe for
	// concurrent use.
	Random func() float64
}

func (p Policy) withDefaults() Policy {
	if p.Tries <= 0 {
		p.Tries = 3
	}
	if p.Total <= 0 {
		p.Total = 30 * time.Second
	}
	if p.First <= 0 {
		p.First = 500 * time.Millisecond
	}
	if p.Random == nil {
		p.Random = rand.Float64
	}
	return p
}

// Retry returns a model that asks model again when it failed before its first
// chunk with a *Failure that is Retryable. A round that has said anything is
// never repeated. When the next try would begin later than Total allows, the
// failure is passed on at once. Everything else passes through as it is. The
// result is an io.Closer that closes model if that is one.
func Retry(model Model, policy Policy) Model {
	return &retrying{model: model, policy: policy.withDefaults()}
}

type retrying struct {
	model  Model
	policy Policy
}

// Close closes the model behind, if it can be closed.
func (r *retrying) Close() error {
	if c, ok := r.model.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func (r *retrying) Stream(ctx context.Context, req Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		begun := time.Now()
		for try := 1; ; try++ {
			failure := r.once(ctx, req, yield)
			if failure == nil {
				return
			}
			wait := r.wait(failure, try)
			if try >= r.policy.Tries || time.Since(begun)+wait > r.policy.Total {
				yield(Chunk{}, failure)
				return
			}
			if err := sleep(ctx, wait); err != nil {
				yield(Chunk{}, err)
				return
			}
		}
	}
}

// once makes one request. It returns a failure that may be retried, and has
// passed on everything else.
func (r *retrying) once(ctx context.Context, req Request, yield func(Chunk, error) bool) *Failure {
	spoken := false
	for chunk, err := range r.model.Stream(ctx, req) {
		var failure *Failure
		if !spoken && errors.As(err, &failure) && failure.Retryable {
			return failure
		}
		spoken = true
		if !yield(chunk, err) {
			return nil
		}
	}
	return nil
}

func (r *retrying) wait(f *Failure, try int) time.Duration {
	if f.RetryAfter > 0 {
		return f.RetryAfter
	}
	mean := r.policy.First << min(try-1, 16)
	return time.Duration(float64(mean) * (0.5 + r.policy.Random()))
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
