package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"verbatim/internal/approval"
	"verbatim/internal/event"
	"verbatim/internal/llm"
	"verbatim/internal/tool"
	"verbatim/internal/transcript"
)

// task is a call of the round on its way to its result.
type task struct {
	call   *call
	spec   tool.Spec
	action tool.Action
	// refused is why it can't run at all, nil when it can.
	refused error
	// before are the tasks of the round that act and come before this one.
	before []*task
	done   chan struct{} // closed when it has its result, or never will

	output string
	told   *event.ApprovalResolved // what a person added to the decision
	err    error                   // of the log
}

// runCalls announces a round's calls, runs them, and returns what the next
// round is told: the assistant's words and calls, then each result.
//
// Calls that only read run side by side. Those that act run one at a time, in
// the order in which the model made them; but one that a person allowed runs
// then, whatever else still waits for its decision. All questions of a round are
// asked at once.
func (r *running) runCalls(ctx context.Context, res *round) ([]llm.Message, error) {
	said := llm.Message{Role: llm.RoleAssistant, Text: string(res.text)}
	for _, c := range res.calls {
		if err := r.announce(c); err != nil {
			return nil, err
		}
		said.Calls = append(said.Calls, c.said())
	}
	if err := r.rec.sync(); err != nil {
		return nil, err
	}
	tasks := r.prepare(res.calls)
	r.perform(ctx, tasks)
	out := []llm.Message{said}
	for i, t := range tasks {
		if t.err != nil {
			return nil, t.err
		}
		out = append(out, llm.Message{Role: llm.RoleTool, Text: ResultText(t.output, t.told), Result: &said.Calls[i]})
	}
	r.open = nil
	return out, ctx.Err()
}

// prepare finds each call's tool and reads its arguments. Nothing happens yet.
func (r *running) prepare(calls []*call) []*task {
	var tasks, acting []*task
	for _, c := range calls {
		t := &task{call: c, done: make(chan struct{})}
		t.spec, t.action, t.refused = r.ready(c)
		if t.refused == nil && !t.spec.ReadOnly {
			t.before = acting
			acting = append(acting[:len(acting):len(acting)], t)
		}
		tasks = append(tasks, t)
	}
	return tasks
}

func (r *running) ready(c *call) (tool.Spec, tool.Action, error) {
	if r.job.Tools == nil {
		return tool.Spec{}, tool.Action{}, errors.New("tools are turned off for this message")
	}
	found, ok := r.job.Tools.Lookup(c.name)
	if !ok {
		return tool.Spec{}, tool.Action{}, fmt.Errorf("there is no tool named %q", c.name)
	}
	args, _ := event.NewArgs(c.written())
	if string(args) == "null" {
		return found.Spec(), tool.Action{}, errors.New("the arguments are not a JSON object; write the call again")
	}
	action, err := found.Prepare(args)
	return found.Spec(), action, err
}

// perform runs the tasks and returns when each has its result in the log, or
// the log has refused one.
func (r *running) perform(ctx context.Context, tasks []*task) {
	acting := make(chan struct{}, 1) // held by the one call that acts
	var all sync.WaitGroup
	for _, t := range tasks {
		all.Go(func() {
			defer close(t.done)
			t.err = r.settle(ctx, t, acting)
		})
	}
	all.Wait()
	for _, t := range tasks {
		t.call.ended = t.err == nil
	}
}

// settle brings one call to its result. A panic in a tool fails its call alone.
func (r *running) settle(ctx context.Context, t *task, acting chan struct{}) error {
	if t.refused != nil {
		return r.result(t, false, sentence(t.refused.Error()), taken{})
	}
	verdict, err := r.ask(ctx, t)
	if err != nil {
		return err
	}
	if !verdict.Allowed {
		return r.result(t, false, r.notRun(ctx, verdict), taken{})
	}
	if verdict.Args != nil {
		found, _ := r.job.Tools.Lookup(t.call.name)
		if t.action, err = found.Prepare(verdict.Args); err != nil {
			return r.result(t, false, sentence(err.Error()), taken{})
		}
	}
	if !t.spec.ReadOnly {
		if !turn(ctx, t, verdict, acting) {
			return r.result(t, false, transcript.StopNote(causeOf(ctx), false), taken{})
		}
		defer func() { <-acting }()
	}
	if ctx.Err() != nil {
		return r.result(t, false, transcript.StopNote(causeOf(ctx), false), taken{})
	}
	return r.act(ctx, t)
}

// turn waits until an acting call may run; false when the run is stopped first.
func turn(ctx context.Context, t *task, v approval.Verdict, acting chan struct{}) bool {
	if v.Decision == "" {
		for _, b := range t.before {
			select {
			case <-b.done:
			case <-ctx.Done():
				return false
			}
		}
	}
	select {
	case acting <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// ask finds out whether the call may run, if need be from a person.
func (r *running) ask(ctx context.Context, t *task) (approval.Verdict, error) {
	c := t.call
	args, _ := event.NewArgs(c.written())
	v, err := r.approvals.Ask(ctx, approval.Call{
		Conversation: r.job.Conversation, Run: r.job.Run, Message: r.job.Message, Call: c.id,
		Name: c.name, Args: args, Risk: t.spec.Risk, Reason: t.action.Reason, Command: t.action.Command,
		Check: func(args json.RawMessage) error {
			found, _ := r.job.Tools.Lookup(c.name)
			_, err := found.Prepare(args)
			return err
		},
	}, func(e event.Event) error {
		if err := r.rec.record(e, 0); err != nil {
			return err
		}
		return r.rec.sync()
	})
	if v.Args != nil || v.Note != "" {
		t.told = &event.ApprovalResolved{Decision: v.Decision, Args: v.Args, Note: v.Note}
	}
	return v, err
}

// notRun is the result of a call that was not allowed.
func (r *running) notRun(ctx context.Context, v approval.Verdict) string {
	switch v.Decision {
	case event.DecisionExpired:
		return "Nobody answered the request for approval in time, so this call did not run."
	case event.DecisionCancelled:
		return transcript.StopNote(causeOf(ctx), false)
	case event.DecisionAllow, event.DecisionAlways, event.DecisionDeny:
	}
	return "The person denied this call; it did not run."
}

func causeOf(ctx context.Context) transcript.Cause {
	var stop *Stop
	if errors.As(context.Cause(ctx), &stop) {
		if _, ok := stop.Terminal.(event.Cancelled); ok {
			return transcript.CauseCancelled
		}
		return transcript.CauseInterrupted
	}
	if ctx.Err() != nil {
		return transcript.CauseInterrupted
	}
	return transcript.CauseFailed
}

// taken is what a call that ran took and left.
type taken struct {
	seconds   float64
	truncated bool
	bytes     int64
	blob      string
}

// act runs the call's action and records its result.
func (r *running) act(ctx context.Context, t *task) error {
	keeper := tool.NewOutput(tool.OutputConfig{
		Spool: r.spool,
		Progress: func(note string) {
			// A note that the log refuses is found by the next record.
			_ = r.rec.record(event.ToolProgress{Call: t.call.id, Note: note}, len(note))
		},
	})
	began := r.now()
	t.call.ran = true
	failure := r.guarded(ctx, t, keeper)
	shown, truncated, size, blob, err := keeper.Result()
	if err != nil {
		r.log.Error("keep tool output", "conversation", r.job.Conversation, "run", r.job.Run, "tool", t.spec.Name, "err", err)
	}
	if failure != nil {
		why := sentence(failure.Error())
		if ctx.Err() != nil {
			why = transcript.StopNote(causeOf(ctx), true)
		}
		shown = joined(shown, why)
	}
	return r.result(t, failure == nil, shown, taken{r.now().Sub(began).Seconds(), truncated, size, blob})
}

// guarded runs the action; a panic in it is its failure.
func (r *running) guarded(ctx context.Context, t *task, out tool.Output) (failure error) {
	defer func() {
		if p := recover(); p != nil {
			r.panicked(p)
			failure = errors.New("the tool failed inside Verbatim; it may have done a part of its work")
		}
	}()
	return t.action.Run(ctx, out)
}

func joined(shown, why string) string {
	if shown == "" || shown[len(shown)-1] == '\n' {
		return shown + why
	}
	return shown + "\n" + why
}

// result records a call's result and keeps it for the next round.
func (r *running) result(t *task, ok bool, output string, took taken) error {
	t.output = output
	if ok {
		r.succeeded.Add(1)
	}
	size := took.bytes
	if size < int64(len(output)) && !took.truncated {
		size = int64(len(output))
	}
	return r.rec.record(event.ToolResult{
		Call: t.call.id, Name: t.call.name, OK: ok, Output: output,
		Seconds: max(0, took.seconds), Truncated: took.truncated, OutputBytes: size, Blob: took.blob,
	}, len(output))
}

// ResultText is a call's result as the model is told of it: the output, and
// what the person who decided about the call changed or wants it to know.
func ResultText(output string, resolved *event.ApprovalResolved) string {
	if resolved == nil {
		return output
	}
	if resolved.Args != nil {
		output = joined(output, "The person who allowed this call changed its arguments to "+string(resolved.Args)+".")
	}
	if resolved.Note != "" {
		output = joined(output, "Note from the person who decided: "+resolved.Note)
	}
	return output
}
