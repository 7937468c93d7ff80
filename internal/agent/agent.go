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

	"verbatim/internal/approval"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/llm"
	"verbatim/internal/tool"
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
	// Tools are what the model may call; nil for none.
	Tools Tools

	// Closing is called once, before the terminal is handed to the log.
	Closing func()
}

// Tools are what a model may call in a run; *tool.Set is one.
type Tools interface {
	Specs() []tool.Spec
	Lookup(name string) (tool.Tool, bool)
}

// Approvals says which calls may run; *approval.Desk does.
type Approvals interface {
	// Ask returns once it is known whether the call may run. record stores an
	// event of the run and returns when it is durable. The error is record's,
	// or that of another place where the decision had to be kept.
	Ask(ctx context.Context, call approval.Call, record func(event.Event) error) (approval.Verdict, error)
}

// Stop is the cause to cancel a run's context with: the terminal it is to get.
type Stop struct {
	// Terminal is an event.Cancelled or an event.Error.
	Terminal event.Event
}

// Error says that the run was stopped.
func (*Stop) Error() string { return "the run was stopped" }

// By returns who stopped the run, as it is recorded with a request for approval
// that the stop cancels.
func (s *Stop) By() (string, event.Via) {
	if c, ok := s.Terminal.(event.Cancelled); ok {
		return c.By, c.Via
	}
	return "system", event.Via{Surface: "system"}
}

// Agent performs runs. Log is required, Approvals as soon as a job has tools.
// Safe for concurrent use.
type Agent struct {
	Log       Log
	Approvals Approvals
	// Spool keeps the whole of an output that is too long to be shown; nil
	// keeps what is shown.
	Spool func() (tool.Spool, error)
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
		runHash: newSegment(0), approvals: a.Approvals, spool: a.Spool, log: a.logger(),
	}
	if r.now == nil {
		r.now = time.Now
	}
	if job.Tools != nil {
		for _, s := range job.Tools.Specs() {
			r.job.Request.Tools = append(r.job.Request.Tools, llm.Tool{Name: s.Name, Description: s.Description, Parameters: s.Parameters})
		}
	}
	r.started = r.now()
	terminal := a.answer(ctx, r)
	if err := r.rec.sync(); err != nil {
		return nil, err
	}
	return r.close(ctx, terminal)
}

// answer runs the rounds. A panic in the provider's code becomes the run's
// error, so that it is still closed.
func (a *Agent) answer(ctx context.Context, r *running) (terminal event.Event) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		r.panicked(p)
		terminal = event.Error{
			Type: event.ErrorInternal, Code: event.CodeBug, Retryable: true,
			Message: "Something went wrong inside Verbatim. What was said so far is kept; please try again.",
		}
	}()
	return r.rounds(ctx)
}

// panicked logs a panic that the run survives.
func (r *running) panicked(p any) {
	r.log.Error("run panicked", "conversation", r.job.Conversation, "run", r.job.Run, "panic", p, "stack", string(debug.Stack()))
}

func (a *Agent) logger() *slog.Logger {
	if a.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return a.Logger
}
