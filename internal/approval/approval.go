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
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// Mode is which calls are asked for.
type Mode string

// The modes. A risk of none is never asked for.
const (
	// ModeAsk asks from low risk on. It is the default, and what any value
	// that is no mode means.
	ModeAsk Mode = "ask"
	// ModeSmart asks from medium risk on.
	ModeSmart Mode = "smart"
	// ModeNever asks nothing and runs everything.
	ModeNever Mode = "never"
)

// asks reports whether a call of this risk needs a person or a rule. A risk
// that is none of the known ones is taken for the highest.
func (m Mode) asks(r event.Risk) bool {
	switch {
	case m == ModeNever || r == event.RiskNone:
		return false
	case m == ModeSmart:
		return r != event.RiskLow
	}
	return true
}

// The bounds of how long a request waits, and the default.
const (
	MinTimeout     = 10 * time.Second
	MaxTimeout     = time.Hour
	DefaultTimeout = 300 * time.Second
)

// MaxNote is the longest note to the model, MaxArgs the most that edited
// arguments may have, both in bytes.
const (
	MaxNote = 4 << 10
	MaxArgs = 1 << 20
)

// Call is a tool call that may need a decision.
type Call struct {
	Conversation id.Conversation
	Run          id.Run
	Message      id.Message
	Call         id.Call
	Name         string
	// Args is the JSON that the model wrote; nil means null.
	Args   json.RawMessage
	Risk   event.Risk
	Reason string
	// Command is the command line for a tool that runs one, empty otherwise.
	// Rules read it as a POSIX shell does.
	Command string
	// Check says what is wrong with arguments that a person would run the
	// call with instead, in a sentence for that person; nil for nothing. It
	// may be called by many at once. A nil Check takes any.
	Check func(args json.RawMessage) error
}

// Verdict is what became of a call.
type Verdict struct {
	Allowed bool
	// Decision is how its request ended, empty when nobody was asked.
	Decision event.Decision
	// Approval is the request, empty when nobody was asked.
	Approval id.Approval
	// Mode is the one that counted for the call; Rule is the id of the rule
	// that let it run without a question, empty if it was not a rule.
	Mode Mode
	Rule string
	// Args are what it runs with where a person changed them, Note is what
	// that person wants the model to know.
	Args json.RawMessage
	Note string
}

// Decision is what a person says to a request.
type Decision struct {
	// Choice is allow, always or deny.
	Choice event.Decision
	// By names the person, Via the way the decision came.
	By  string
	Via event.Via
	// Args, if not nil, replaces the arguments of the call; only with allow.
	// A JSON object of at most MaxArgs bytes that the call's Check takes.
	Args json.RawMessage
	// Note is for the model, with any choice: at most MaxNote bytes, kept as
	// they are; empty for none.
	Note string
}

// Pending is a request that waits for a decision.
type Pending struct {
	Approval     id.Approval     `json:"approval_id"`
	Conversation id.Conversation `json:"conversation"`
	Run          id.Run          `json:"run_id"`
	Message      id.Message      `json:"msg_id"`
	Call         id.Call         `json:"call_id"`
	Name         string          `json:"name"`
	Args         json.RawMessage `json:"args"`
	Risk         event.Risk      `json:"risk"`
	Reason       string          `json:"reason"`
	ExpiresAt    time.Time       `json:"expires_at"`
	// Always tells whether always can be chosen. Words and Exact are those of
	// the rule that it would make for a command.
	Always bool     `json:"always"`
	Words  []string `json:"words,omitempty"`
	Exact  bool     `json:"exact,omitempty"`
}
