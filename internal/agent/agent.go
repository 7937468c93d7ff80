// Package agent performs one run: rounds of the model until it answers, every
// piece an event in the log.
//
// Guarantee: whatever happens (answer, failure, stop, a panic of the provider's
// code), the run's segments and calls are closed and it gets exactly one
// terminal, unless the log itself refuses. Not promised: that an event is
// durable when the run goes on; only outside effects and the end wait for that.
package agent

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/llm"
)

// MaxRounds is how often one run may call the model.
const MaxRounds = 25

// Job is a run to perform. Its start is already in the log.
type Job struct {
	Conversation id.Conversation
	Run          id.Run
	Message      id.Message

	// Model answers; ModelName is the full name for the record. Request
	// is the first round's.
	Model     llm.Model
	ModelName string
	Request   llm.Request

	// Closing is called once, before the terminal is handed to the log.
	Closing func()
}

// Stop is the cause to cancel a run's context with: the terminal it is to get.
type Stop struct {
	// Terminal is an event.Cancelled or an event.Error.
	Terminal event.Event
}

// Error says that the run was stopped.
func (*Stop) Error() string { return "the run was stopped" }

// Agent performs runs. The zero value with Log set is ready. Safe for
// concurrent use.
type Agent struct {
	Log Log
	// Mint makes call ids.
	Mint id.Mint
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger takes what people don't see; nil discards it.
	Logger *slog.Logger
}

// Do performs the run and returns its terminal once that is durable. A cancelled
// context stops it: with a *Stop as its cause by that terminal, otherwise as
// interrupted. The error is the log's refusal: what was stored before it is whole,
// the run has no terminal yet, and the caller closes it from the log.
func (a *Agent) Do(ctx context.Context, job Job) (event.Event, error) {
	r := &running{
		job: job, rec: newRecorder(a.Log, job), mint: a.Mint, now: a.Now,
		runHash: newSegment(0),
	}
	if r.now == nil {
		r.now = time.Now
	}
	r.started = r.now()
	terminal := a.answer(ctx, r)
	if err := r.rec.sync(); err != nil {
		return nil, err
	}
	return r.close(terminal)
}

// answer runs the rounds. A panic in the provider's code becomes the run's
// error, so that it is still closed.
func (a *Agent) answer(ctx context.Context, r *running) (terminal event.Event) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		a.logger().Error("run panicked", "conversation", r.job.Conversation, "run", r.job.Run, "panic", p, "stack", string(debug.Stack()))
		terminal = event.Error{
			Type: event.ErrorInternal, Code: event.CodeBug, Retryable: true,
			Message: "Something went wrong inside Verbatim. What was said so far is kept; please try again.",
		}
	}()
	return r.rounds(ctx)
}

func (a *Agent) logger() *slog.Logger {
	if a.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return a.Logger
}
