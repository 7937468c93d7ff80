package agent

import (
	"encoding/json"
	"strings"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/llm"
)

// call is a tool call of the current round.
type call struct {
	id        id.Call
	index     int
	fragment  int // the provider's numbering inside the round
	name      string
	provider  json.RawMessage // what the provider needs back
	args      []byte          // as the model wrote them
	announced bool            // its tool_call is in the log
	ended     bool            // its result is in the log
	ran       bool            // it may have had an effect
}

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
		c.provider, _ = json.Marshal(map[string]string{"id": f.ID})
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

// announce records the complete call.
func (r *running) announce(c *call) error {
	e := event.ToolCall{Call: c.id, Index: c.index, Name: c.name, Provider: c.provider}
	e.Args, e.ArgsText = event.NewArgs(c.written())
	c.announced = true
	return r.rec.record(e, len(c.args))
}

// written is the argument text. Providers write nothing for a call without
// arguments.
func (c *call) written() string {
	if written := string(c.args); strings.TrimSpace(written) != "" {
		return written
	}
	return "{}"
}

// said is the call as the model is told of it again.
func (c *call) said() llm.Call {
	return llm.Call{ID: string(c.id), Name: c.name, Args: c.written(), Provider: c.provider}
}
