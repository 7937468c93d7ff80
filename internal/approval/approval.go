// Package approval asks people before the agent acts, and keeps what they
// decided.
//
// Guarantee: a request is bound to one call of one run and has one expiry; the
// first decision wins, everywhere; silence and a stop mean deny; an allowed
// call runs only after its resolution is durable, and a late decision runs
// nothing. Not promised: that a decision can be taken back.
package approval

import (
	"encoding/json"
	"errors"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// Mode is which calls are asked for.
type Mode string

// The modes. A risk of none is never asked for.
const (
	// ModeAsk asks from low risk on. It is the default.
	ModeAsk Mode = "ask"
	// ModeSmart asks from medium risk on.
	ModeSmart Mode = "smart"
	// ModeNever asks nothing and runs everything.
	ModeNever Mode = "never"
)

// The bounds of how long a request waits, and the default.
const (
	MinTimeout     = 10 * time.Second
	MaxTimeout     = time.Hour
	DefaultTimeout = 300 * time.Second
)

// Call is a tool call that may need a decision.
type Call struct {
	Conversation id.Conversation
	Run          id.Run
	Message      id.Message
	Call         id.Call
	Name         string
	// Args is the JSON that the model wrote.
	Args   json.RawMessage
	Risk   event.Risk
	Reason string
	// Command is the command line for a tool that runs one, empty otherwise.
	Command string
}

// Decision is what a person says to a request.
type Decision struct {
	// Choice is allow, always or deny.
	Choice event.Decision
	// By names the person, Via the way the decision came.
	By  string
	Via event.Via
	// Args, if not nil, replaces the arguments of the call; only with allow.
	Args json.RawMessage
	// Note is for the model; empty for none.
	Note string
}

// Rule lets calls of one tool run without a question, in all conversations.
type Rule struct {
	ID string `json:"id"`
	// Tool is the name of the tool.
	Tool string `json:"tool"`
	// Words are those that a command must begin with; empty for a tool that
	// runs no command. Exact says that it must have no others.
	Words   []string  `json:"words,omitempty"`
	Exact   bool      `json:"exact,omitempty"`
	Created time.Time `json:"created"`
	// By is who made it, Approval the request it was made at.
	By       string      `json:"by"`
	Approval id.Approval `json:"approval_id,omitempty"`
}

// What callers branch on.
var (
	// ErrUnknown means that there never was such a request.
	ErrUnknown = errors.New("there is no such request for approval")
	// ErrDecided means that the request was decided otherwise, has expired or
	// was cancelled. Nothing was changed.
	ErrDecided = errors.New("this request was decided otherwise or has expired; nothing was changed")
	// ErrNoRule means that there is no such rule.
	ErrNoRule = errors.New("there is no such rule")
	// ErrInvalid means that the decision makes no sense as it is.
	ErrInvalid = errors.New("the decision must be allow, always or deny, and only allow may change the arguments")
)
