// Package tool holds what the model can do on this machine: one file a tool.
//
// Guarantee: a file tool reaches nothing outside the workspace, also not through
// links or races; a command's whole process group is gone when its call ends; a
// fetch reaches no private address unless it is allowed by name. Not promised:
// that a command keeps to the workspace; that is what approvals are for.
package tool

import (
	"context"
	"encoding/json"
	"io"

	"verbatim/internal/event"
)

// Tool is something that the model can call. Implementations are safe for
// concurrent use.
type Tool interface {
	Spec() Spec
	// Prepare reads the arguments of a call and says what it would do. It has
	// no effect of any kind. The error is a sentence for the model; the call
	// then has failed without having run.
	Prepare(args json.RawMessage) (Action, error)
}

// Spec is what is fixed about a tool.
type Spec struct {
	// Name is the one that the model calls.
	Name string
	// Description tells the model when and how to use it.
	Description string
	// Parameters is a JSON schema of one object.
	Parameters json.RawMessage
	// Risk decides who is asked (see package approval).
	Risk event.Risk
	// ReadOnly calls of one round may run side by side.
	ReadOnly bool
}

// Action is a call that is ready to run, once.
type Action struct {
	// Reason tells the person who decides what the call would do, in one
	// sentence without line breaks.
	Reason string
	// Command is the command line that would run, empty for a tool that runs
	// none. Rules compare its words.
	Command string
	// Run does it. What it writes to out is the call's output; the error, a
	// sentence for the model and people, means that the call failed and is
	// added to the output by the caller. Run returns within a second of ctx's
	// end and leaves nothing running.
	Run func(ctx context.Context, out Output) error
}

// Output takes what a call writes. Calls of one Output are safe for concurrent
// use.
type Output interface {
	io.Writer
	// Live says that what is written from now on should be shown while the
	// call runs.
	Live()
}
