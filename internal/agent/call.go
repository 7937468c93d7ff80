package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"verbatim/internal/event"
	"verbatim/internal/llm"
)

// draft records more of a tool call while the model writes it. Text that is
// open is commentary now, and is closed before the card opens.
func (r *running) draft(res *round, f llm.ToolFragment) error {
	if err := r.endSegments(event.PhaseCommentary); err != nil {
		return err
	}
	c := r.callOf(res, f.Index)
	if f.Name != "" {
		c.name = f.Name
	}
	if f.ID != "" {
		c.provider = f.ID
	}
	d := event.ToolDrafting{Call: c.id, Index: c.index, Name: c.name, Offset: int64(len(c.args)), ArgsDelta: f.Args}
	c.args = append(c.args, f.Args...)
	return r.rec.record(d, len(f.Args))
}

func (r *running) callOf(res *round, fragment int) *call {
	for _, c := range res.calls {
		if c.fragment == fragment {
			return c
		}
	}
	r.calls++
	c := &call{id: r.mint.Call(), index: r.calls, fragment: fragment}
	res.calls = append(res.calls, c)
	r.open = append(r.open, c)
	return c
}

// runCalls announces a round's calls, runs them, and returns what the next
// round is told: the assistant's words and calls, then each result.
func (r *running) runCalls(ctx context.Context, res *round) ([]llm.Message, error) {
	said := llm.Message{Role: llm.RoleAssistant, Text: string(res.text)}
	for _, c := range res.calls {
		if err := r.announce(c); err != nil {
			return nil, err
		}
		said.Calls = append(said.Calls, llm.Call{ID: c.wireID(), Name: c.name, Args: string(c.args)})
	}
	if err := r.rec.sync(); err != nil {
		return nil, err
	}
	out := []llm.Message{said}
	for i, c := range res.calls {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		output := fmt.Sprintf("There is no tool named %q.", c.name)
		if err := r.result(c, false, output); err != nil {
			return nil, err
		}
		r.open = r.open[1:]
		out = append(out, llm.Message{Role: llm.RoleTool, Text: output, Result: &said.Calls[i]})
	}
	return out, nil
}

func (r *running) announce(c *call) error {
	e := event.ToolCall{Call: c.id, Index: c.index, Name: c.name}
	// Providers write nothing for a call without arguments.
	written := string(c.args)
	if strings.TrimSpace(written) == "" {
		written = "{}"
	}
	e.Args, e.ArgsText = event.NewArgs(written)
	if c.provider != "" {
		e.Provider, _ = json.Marshal(map[string]string{"id": c.provider})
	}
	c.announced = true
	return r.rec.record(e, len(c.args))
}

func (r *running) result(c *call, ok bool, output string) error {
	return r.rec.record(event.ToolResult{
		Call: c.id, Name: c.name, OK: ok, Output: output, OutputBytes: int64(len(output)),
	}, len(output))
}

// wireID is the id by which the provider is told of the call. It is our own,
// which is unique: providers reuse theirs, and take any.
func (c *call) wireID() string { return string(c.id) }
