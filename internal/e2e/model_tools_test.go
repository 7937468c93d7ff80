package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"verbatim/internal/event"
	"verbatim/internal/tool"
)

// actors are the tools of an engine. "look" answers at once and is asked for by
// nobody; "act" is asked for and runs until the test ends it. Each call has a
// number of its own among its arguments.
type actors struct {
	mu      sync.Mutex
	ran     map[int]int // how often the call of a number ran
	running map[int]chan ending
}

// ending is how a call comes to its end.
type ending struct {
	output string
	err    error
	panics bool
}

func newActors() *actors { return &actors{ran: map[int]int{}, running: map[int]chan ending{}} }

// Specs names the tools.
func (a *actors) Specs() []tool.Spec {
	return []tool.Spec{actor{a, "look"}.Spec(), actor{a, "act"}.Spec()}
}

// Lookup finds a tool.
func (a *actors) Lookup(name string) (tool.Tool, bool) {
	return actor{a, name}, name == "look" || name == "act"
}

// count returns how often the call of a number ran.
func (a *actors) count(number int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ran[number]
}

// all returns the numbers of the calls that ran.
func (a *actors) all() []int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.ran))
}

// now returns the numbers of the calls that run.
func (a *actors) now() []int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.running))
}

// end ends the call of a number.
func (a *actors) end(number int, how ending) {
	a.mu.Lock()
	c := a.running[number]
	delete(a.running, number)
	a.mu.Unlock()
	if c != nil {
		c <- how
	}
}

type actor struct {
	actors *actors
	name   string
}

// Spec says what is fixed.
func (a actor) Spec() tool.Spec {
	spec := tool.Spec{Name: a.name, Description: "Test.", Parameters: json.RawMessage(`{"type":"object"}`), Risk: event.RiskHigh}
	if a.name == "look" {
		spec.Risk, spec.ReadOnly = event.RiskLow, true
	}
	return spec
}

// Prepare reads {n}.
func (a actor) Prepare(args json.RawMessage) (tool.Action, error) {
	var read struct{ N int }
	if err := json.Unmarshal(args, &read); err != nil || read.N == 0 {
		return tool.Action{}, errors.New("n is missing")
	}
	run := func(ctx context.Context, out tool.Output) error { return a.actors.run(ctx, out, a.name, read.N) }
	return tool.Action{Reason: "test", Run: run}, nil
}

func (a *actors) run(ctx context.Context, out io.Writer, name string, number int) error {
	c := make(chan ending, 1)
	a.mu.Lock()
	a.ran[number]++
	if name == "act" {
		a.running[number] = c
	} else {
		c <- ending{output: fmt.Sprintf("saw %d", number)}
	}
	a.mu.Unlock()
	select {
	case how := <-c:
		_, _ = io.WriteString(out, how.output) // kept in memory
		if how.panics {
			panic("the tool of a test")
		}
		return how.err
	case <-ctx.Done():
		a.mu.Lock()
		delete(a.running, number)
		a.mu.Unlock()
		return ctx.Err()
	}
}
