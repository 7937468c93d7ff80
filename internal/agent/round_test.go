package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/agent"
	"verbatim/internal/approval"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/tool"
	"verbatim/internal/transcript"
)

// bench is a set of tools that do what a test says. A name that begins with
// "read" is one that only reads.
type workbench struct {
	mu  sync.Mutex
	ran []string
	do  func(ctx context.Context, name string, args json.RawMessage, out tool.Output) error
}

var tools = []string{"read", "write"}

func (b *workbench) Specs() []tool.Spec {
	var specs []tool.Spec
	for _, name := range tools {
		specs = append(specs, bound{b, name}.Spec())
	}
	return specs
}

func (b *workbench) Lookup(name string) (tool.Tool, bool) {
	return bound{b, name}, slices.Contains(tools, name)
}

func (b *workbench) note(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ran = append(b.ran, what)
}

type bound struct {
	*workbench
	name string
}

func (b bound) Spec() tool.Spec {
	return tool.Spec{Name: b.name, Description: "does " + b.name, Parameters: json.RawMessage(`{"type":"object"}`), Risk: event.RiskMedium, ReadOnly: b.name == "read"}
}

func (b bound) Prepare(args json.RawMessage) (tool.Action, error) {
	if !strings.HasPrefix(string(args), "{") {
		return tool.Action{}, errors.New("the arguments must be an object")
	}
	return tool.Action{Reason: "does it", Run: func(ctx context.Context, out tool.Output) error {
		b.note("begin " + string(args))
		defer b.note("end " + string(args))
		if b.do != nil {
			return b.do(ctx, b.name, args, out)
		}
		_, err := io.WriteString(out, "did "+string(args))
		return err
	}}, nil
}

// clerk decides by the arguments of a call, and records what it does as the
// product's desk would.
type clerk func(ctx context.Context, call approval.Call) approval.Verdict

func (c clerk) Ask(ctx context.Context, call approval.Call, record func(event.Event) error) (approval.Verdict, error) {
	if c == nil {
		return approval.Verdict{Allowed: true}, nil
	}
	a := id.Approval("a_" + string(call.Call))
	if err := record(event.ApprovalRequest{Approval: a, Call: call.Call, Name: call.Name, Args: call.Args, Risk: call.Risk, Reason: call.Reason}); err != nil {
		return approval.Verdict{}, err
	}
	v := c(ctx, call)
	return v, record(event.ApprovalResolved{Approval: a, Decision: v.Decision, By: "owner", Args: v.Args, Note: v.Note})
}

// calls is a round that calls tools, name and arguments by turns.
func calls(pairs ...string) []any {
	var out []any
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, fragment(i/2, "same-id", pairs[i], pairs[i+1]))
	}
	return append(out, finish(event.FinishStop))
}

var answer = []any{text("done"), finish(event.FinishStop)}

// work performs a run with tools and returns it with the terminal.
func work(t *testing.T, ctx context.Context, b *workbench, c clerk, m *model) (*transcript.Run, event.Event) {
	t.Helper()
	log := newLog(t)
	a := &agent.Agent{Log: log, Approvals: c}
	j := job(m)
	j.Tools = b
	terminal, err := a.Do(ctx, j)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return fold(t, log.records), terminal
}

// results writes what became of each call, one a line.
func results(run *transcript.Run) string {
	var lines []string
	for _, p := range run.Parts {
		if p.Tool != nil && p.Tool.Result != nil {
			lines = append(lines, fmt.Sprintf("%d %s %v: %s", p.Tool.Index, p.Tool.Name, p.Tool.Result.OK, p.Tool.Result.Output))
		}
	}
	return strings.Join(lines, "\n")
}

func TestCallsAreRun(t *testing.T) {
	b, m := &workbench{}, &model{rounds: [][]any{calls("read", `{"a":1}`, "write", `{"b":2}`), answer}}
	run, terminal := work(t, t.Context(), b, nil, m)
	if want := "1 read true: did {\"a\":1}\n2 write true: did {\"b\":2}"; results(run) != want {
		t.Errorf("results:\n%s\nwant:\n%s", results(run), want)
	}
	if describe(terminal) != describe(event.End{Finish: event.FinishStop, Chars: 4}) {
		t.Errorf("terminal %s", describe(terminal))
	}
	if len(m.asked[0].Tools) != 2 || m.asked[0].Tools[0].Name != "read" {
		t.Errorf("tools offered: %+v", m.asked[0].Tools)
	}
	told := m.asked[1].Messages
	if len(told) != 3 || len(told[0].Calls) != 2 || told[1].Result.ID != told[0].Calls[0].ID || told[2].Text != `did {"b":2}` {
		t.Errorf("the next round was told %+v", told)
	}
	if told[0].Calls[0].ID == told[0].Calls[1].ID {
		t.Error("G5: two calls share an id")
	}
}

func TestCallsThatCannotRun(t *testing.T) {
	for name, row := range map[string]struct{ tool, args, want string }{
		"no such tool":       {"fly", `{}`, `1 fly false: There is no tool named "fly".`},
		"broken arguments":   {"read", `{"a": `, "1 read false: The arguments are not a JSON object; write the call again."},
		"arguments an array": {"read", `[1]`, "1 read false: The arguments must be an object."},
		"none at all":        {"read", ` `, "1 read true: did {}"},
	} {
		t.Run(name, func(t *testing.T) {
			run, terminal := work(t, t.Context(), &workbench{}, nil, &model{rounds: [][]any{calls(row.tool, row.args), answer}})
			if results(run) != row.want {
				t.Errorf("got %q, want %q", results(run), row.want)
			}
			if _, ok := terminal.(event.End); !ok {
				t.Errorf("the run ended as %s", describe(terminal))
			}
		})
	}
}

// Calls that read run side by side, those that act one after the other in the
// model's order.
func TestOrderOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &workbench{}
		b.do = func(ctx context.Context, name string, _ json.RawMessage, _ tool.Output) error {
			if name == "write" {
				time.Sleep(time.Second)
				return nil
			}
			time.Sleep(time.Minute)
			return nil
		}
		began := time.Now()
		work(t, t.Context(), b, nil, &model{rounds: [][]any{
			calls("read", `{"n":1}`, "write", `{"n":2}`, "read", `{"n":3}`, "write", `{"n":4}`), answer,
		}})
		if took := time.Since(began); took != time.Minute {
			t.Errorf("the round took %v, want the longest call's minute", took)
		}
		var acts []string
		for _, line := range b.ran {
			if strings.HasSuffix(line, `{"n":2}`) || strings.HasSuffix(line, `{"n":4}`) {
				acts = append(acts, line)
			}
		}
		if got := strings.Join(acts, ", "); got != `begin {"n":2}, end {"n":2}, begin {"n":4}, end {"n":4}` {
			t.Errorf("calls that act: %s", got)
		}
	})
}

// H1: the second of two requests is allowed first; its call runs, and the first
// still waits.
func TestH1EachDecisionRunsItsOwnCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &workbench{}
		decide := clerk(func(_ context.Context, call approval.Call) approval.Verdict {
			if strings.Contains(string(call.Args), "first") {
				time.Sleep(time.Hour)
				return approval.Verdict{Decision: event.DecisionDeny}
			}
			return approval.Verdict{Allowed: true, Decision: event.DecisionAllow}
		})
		run, _ := work(t, t.Context(), b, decide, &model{rounds: [][]any{calls("write", `{"n":"first"}`, "write", `{"n":"second"}`), answer}})
		if want := "1 write false: The person denied this call; it did not run.\n2 write true: did {\"n\":\"second\"}"; results(run) != want {
			t.Errorf("results:\n%s\nwant:\n%s", results(run), want)
		}
		if got := strings.Join(b.ran, ", "); got != `begin {"n":"second"}, end {"n":"second"}` {
			t.Errorf("ran %s", got)
		}
	})
}

func TestEditedArgumentsAndNote(t *testing.T) {
	decide := clerk(func(context.Context, approval.Call) approval.Verdict {
		return approval.Verdict{Allowed: true, Decision: event.DecisionAllow, Args: json.RawMessage(`{"safe":true}`), Note: "only there"}
	})
	m := &model{rounds: [][]any{calls("write", `{"safe":false}`), answer}}
	b := &workbench{}
	run, _ := work(t, t.Context(), b, decide, m)
	if got := strings.Join(b.ran, ", "); got != `begin {"safe":true}, end {"safe":true}` {
		t.Errorf("ran %s", got)
	}
	told := m.asked[1].Messages[1].Text
	if !strings.Contains(told, `changed its arguments to {"safe":true}`) || !strings.HasSuffix(told, "Note from the person who decided: only there") {
		t.Errorf("the model was told %q", told)
	}
	if results(run) != `1 write true: did {"safe":true}` {
		t.Errorf("stored is %q", results(run))
	}
}

func TestStopInTools(t *testing.T) {
	stop := &agent.Stop{Terminal: event.Cancelled{By: "owner", Via: event.Via{Surface: "test"}}}
	t.Run("running", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		b := &workbench{do: func(ctx context.Context, _ string, _ json.RawMessage, out tool.Output) error {
			_, _ = io.WriteString(out, "half")
			cancel(stop)
			<-ctx.Done()
			return ctx.Err()
		}}
		run, terminal := work(t, ctx, b, nil, &model{rounds: [][]any{calls("write", `{"n":1}`, "write", `{"n":2}`)}})
		want := "1 write false: half\nThis call was cancelled by user: it may have run.\n2 write false: This call was cancelled by user: it did not run."
		if results(run) != want {
			t.Errorf("results:\n%s\nwant:\n%s", results(run), want)
		}
		if _, ok := terminal.(event.Cancelled); !ok {
			t.Errorf("terminal %s", describe(terminal))
		}
	})
	t.Run("approval pending", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		decide := clerk(func(ctx context.Context, _ approval.Call) approval.Verdict {
			cancel(stop)
			<-ctx.Done()
			return approval.Verdict{Decision: event.DecisionCancelled}
		})
		b := &workbench{}
		run, _ := work(t, ctx, b, decide, &model{rounds: [][]any{calls("write", `{"n":1}`)}})
		if want := "1 write false: This call was cancelled by user: it did not run."; results(run) != want || len(b.ran) != 0 {
			t.Errorf("results %q, ran %v", results(run), b.ran)
		}
	})
	t.Run("drafting", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		m := &model{rounds: [][]any{{text("Let me see."), fragment(0, "x", "write", `{"n`), fragment(0, "", "", `":1}`)}}}
		m.during = func(_, chunk int) {
			if chunk == 2 {
				cancel(stop)
			}
		}
		run, terminal := work(t, ctx, &workbench{}, nil, m)
		if _, ok := terminal.(event.Cancelled); !ok || results(run) != "" {
			t.Errorf("terminal %s, results %q", describe(terminal), results(run))
		}
	})
}

func TestToolPanics(t *testing.T) {
	b := &workbench{do: func(context.Context, string, json.RawMessage, tool.Output) error { panic("oh") }}
	run, terminal := work(t, t.Context(), b, nil, &model{rounds: [][]any{calls("write", `{}`), answer}})
	if !strings.HasPrefix(results(run), "1 write false: The tool failed inside Verbatim") {
		t.Errorf("results %q", results(run))
	}
	if _, ok := terminal.(event.End); !ok {
		t.Errorf("terminal %s", describe(terminal))
	}
}

// G6 of the cases: tools ran, then nothing was said.
func TestG6NoAnswerNamesWhatSucceeded(t *testing.T) {
	_, terminal := work(t, t.Context(), &workbench{}, nil, &model{rounds: [][]any{
		calls("read", `{}`, "fly", `{}`), {finish(event.FinishStop)},
	}})
	e, ok := terminal.(event.Error)
	if !ok || e.Type != event.ErrorNoAnswer || !strings.Contains(e.Message, "1 of 2 tool calls succeeded") {
		t.Errorf("terminal %s", describe(terminal))
	}
}

// The log refuses an event in the middle of a call: the run fails as a whole and
// nothing of it is written behind the hole.
func TestLogRefusesInTools(t *testing.T) {
	for _, kind := range []event.Kind{"tool_call", "approval_request", "approval_resolved", "tool_progress", "tool_result"} {
		synctest.Test(t, func(t *testing.T) {
			log := newLog(t)
			refusal := errors.New("no")
			log.refuse = func(e event.Event) error {
				if e.Kind() == kind {
					return refusal
				}
				return nil
			}
			b := &workbench{do: func(_ context.Context, _ string, _ json.RawMessage, out tool.Output) error {
				out.Live()
				_, err := io.WriteString(out, "line\n")
				time.Sleep(time.Second)
				return err
			}}
			decide := clerk(func(context.Context, approval.Call) approval.Verdict {
				return approval.Verdict{Allowed: true, Decision: event.DecisionAllow}
			})
			a := &agent.Agent{Log: log, Approvals: decide}
			j := job(&model{rounds: [][]any{calls("write", `{}`), answer}})
			j.Tools = b
			if _, err := a.Do(t.Context(), j); !errors.Is(err, refusal) {
				t.Errorf("%s: got %v, want the log's refusal", kind, err)
			}
			if ran := len(b.ran) > 0; ran != (kind == "tool_progress" || kind == "tool_result") {
				t.Errorf("%s: ran: %v", kind, b.ran)
			}
		})
	}
}
