package event

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"verbatim/internal/id"
)

// ToolDrafting is more of a call's arguments, while the model still writes
// them. The first one of a call opens its card and may have no arguments.
type ToolDrafting struct {
	Call id.Call `json:"call_id"`
	// Index counts the calls of a run from 1, in the order they were begun.
	Index int    `json:"index"`
	Name  string `json:"name"`
	// Offset is where ArgsDelta begins in the arguments, in bytes of UTF-8.
	Offset    int64  `json:"offset"`
	ArgsDelta string `json:"args_delta"`
}

// Kind returns "tool_drafting".
func (ToolDrafting) Kind() Kind { return "tool_drafting" }

func (d ToolDrafting) valid() bool {
	return utf8.ValidString(string(d.Call)) && utf8.ValidString(d.Name) && utf8.ValidString(d.ArgsDelta)
}

func (d ToolDrafting) appendJSON(b []byte) []byte {
	b = append(b, `{"call_id":`...)
	b = AppendString(b, string(d.Call))
	b = append(b, `,"index":`...)
	b = strconv.AppendInt(b, int64(d.Index), 10)
	b = append(b, `,"name":`...)
	b = AppendString(b, d.Name)
	b = append(b, `,"offset":`...)
	b = strconv.AppendInt(b, d.Offset, 10)
	b = append(b, `,"args_delta":`...)
	b = AppendString(b, d.ArgsDelta)
	return append(b, '}')
}

// ToolCall is a complete call, logged before it is run.
type ToolCall struct {
	Call  id.Call `json:"call_id"`
	Index int     `json:"index"`
	Name  string  `json:"name"`
	// Args is the JSON that the model wrote, on one line; null when it wrote
	// something else. ArgsText holds what it wrote where Args is not exactly
	// that. NewArgs makes both.
	Args     json.RawMessage `json:"args"`
	ArgsText string          `json:"args_text,omitempty"`
	// Provider is what the provider needs back, such as its own call id.
	// Opaque, never sent to a surface.
	Provider json.RawMessage `json:"provider,omitempty"`
}

// Kind returns "tool_call".
func (ToolCall) Kind() Kind { return "tool_call" }

// Text returns the arguments exactly as the model wrote them.
func (c ToolCall) Text() string {
	if c.ArgsText != "" || string(c.Args) == "null" {
		return c.ArgsText
	}
	return string(c.Args)
}

// NewArgs returns the fields Args and ArgsText of a ToolCall for the argument
// text that a model wrote, which must be valid UTF-8.
func NewArgs(written string) (args json.RawMessage, text string) {
	var line bytes.Buffer
	if json.Compact(&line, []byte(written)) != nil {
		return json.RawMessage("null"), written
	}
	if line.String() == written && written != "null" {
		return line.Bytes(), ""
	}
	return line.Bytes(), written
}

// ToolProgress is output of a running tool: at most 4 a second, 8 KiB each and
// 64 KiB a call.
type ToolProgress struct {
	Call id.Call `json:"call_id"`
	Note string  `json:"note"`
}

// Kind returns "tool_progress".
func (ToolProgress) Kind() Kind { return "tool_progress" }

// ToolResult ends a call. A call that was cancelled or crashed gets one too,
// with OK false.
type ToolResult struct {
	Call   id.Call `json:"call_id"`
	Name   string  `json:"name"`
	OK     bool    `json:"ok"`
	Output string  `json:"output"`
	// Seconds is how long the call ran; 0 when it never did.
	Seconds float64 `json:"seconds"`
	// Truncated reports that Output is only the tail of what Blob holds;
	// OutputBytes is the length of the whole.
	Truncated   bool   `json:"truncated"`
	OutputBytes int64  `json:"output_bytes"`
	Blob        string `json:"blob,omitempty"`
}

// Kind returns "tool_result".
func (ToolResult) Kind() Kind { return "tool_result" }

// Risk is how much harm a call could do.
type Risk string

// The risks, in rising order.
const (
	RiskNone   Risk = "none"
	RiskLow    Risk = "low"
	RiskMedium Risk = "medium"
	RiskHigh   Risk = "high"
)

// ApprovalRequest asks people whether a call may run.
type ApprovalRequest struct {
	Approval id.Approval     `json:"approval_id"`
	Call     id.Call         `json:"call_id"`
	Name     string          `json:"name"`
	Args     json.RawMessage `json:"args"`
	Risk     Risk            `json:"risk"`
	Reason   string          `json:"reason"`
	// ExpiresAt is the one expiry, owned by the server.
	ExpiresAt time.Time `json:"expires_at"`
}

// Kind returns "approval_request".
func (ApprovalRequest) Kind() Kind { return "approval_request" }

// Decision is how a request for approval ended.
type Decision string

// The decisions. Expired and cancelled mean deny.
const (
	DecisionAllow     Decision = "allow"
	DecisionAlways    Decision = "always"
	DecisionDeny      Decision = "deny"
	DecisionExpired   Decision = "expired"
	DecisionCancelled Decision = "cancelled"
)

// ApprovalResolved ends a request. The first decision wins.
type ApprovalResolved struct {
	Approval id.Approval `json:"approval_id"`
	Decision Decision    `json:"decision"`
	By       string      `json:"by"`
	Via      Via         `json:"via"`
	// Args are the arguments that the call runs with where the person who
	// allowed it changed them; left out otherwise.
	Args json.RawMessage `json:"args,omitempty"`
	// Note is what that person wants the model to know.
	Note string `json:"note,omitempty"`
}

// Kind returns "approval_resolved".
func (ApprovalResolved) Kind() Kind { return "approval_resolved" }

var (
	sampleToolDrafting    = ToolDrafting{Call: "call_1", Index: 1, Name: "list_directory", Offset: 0, ArgsDelta: `{"pa`}
	sampleToolCall        = ToolCall{Call: "call_1", Index: 1, Name: "list_directory", Args: json.RawMessage(`{"path":"."}`), Provider: json.RawMessage(`{"id":"bash:0"}`)}
	sampleBadToolCall     = ToolCall{Call: "call_2", Index: 2, Name: "list_directory", Args: json.RawMessage(`null`), ArgsText: `{"path": `}
	sampleToolResult      = ToolResult{Call: "call_1", Name: "list_directory", OK: true, Output: "a.txt\n", Seconds: 0.4, OutputBytes: 6, Blob: "sha256-ab"}
	sampleApprovalRequest = ApprovalRequest{
		Approval: "a_1", Call: "call_1", Name: "run_command", Args: json.RawMessage(`{"command":"df"}`),
		Risk: RiskHigh, Reason: "runs a command", ExpiresAt: time.Date(2026, 1, 2, 3, 9, 5, 0, time.UTC),
	}
	sampleApprovalResolved = ApprovalResolved{Approval: "a_1", Decision: DecisionAllow, By: "owner", Via: Via{Surface: "web"}}
	sampleApprovalEdited   = ApprovalResolved{Approval: "a_1", Decision: DecisionAllow, By: "owner", Via: Via{Surface: "web"}, Args: json.RawMessage(`{"command":"df -h"}`), Note: "in units that people read"}
)
