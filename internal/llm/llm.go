// Package llm says what the agent asks of a model and what a model answers, in
// no provider's terms. A model's answer is a sequence of chunks whose texts,
// joined, are exactly what the provider sent.
package llm

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"verbatim/internal/event"
)

// Model answers requests. Implementations are safe for concurrent use.
type Model interface {
	// Stream asks once and yields what comes, as it comes. It ends after a
	// chunk with Finish set, or with an error, which is a *Failure or the
	// context's own error. Ending the loop or the context closes the
	// connection to the provider at once. It never retries by itself.
	Stream(ctx context.Context, req Request) iter.Seq2[Chunk, error]
}

// Request is one round: the whole context, each time.
type Request struct {
	// Model is the provider's own name for the model, without the
	// provider's.
	Model string
	// System is the instruction that precedes the conversation; empty for
	// none.
	System   string
	Messages []Message
	Tools    []Tool

	// Sampling; nil or empty leaves the provider's default.
	Temperature     *float64
	TopP            *float64
	MaxTokens       *int64
	ReasoningEffort string
}

// Role is who speaks.
type Role string

// The roles of a message.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of the context.
type Message struct {
	Role Role
	Text string
	// Files are images and documents of a user message, sent as bytes before
	// the text.
	Files []File
	// Calls are the tool calls of an assistant message, in order.
	Calls []Call
	// Result is what a tool message answers: the Call with the same
	// Provider and ID. Its text is the message's Text.
	Result *Call
}

// File is what goes to the model as bytes. They are shared: nobody changes them.
type File struct {
	Name string
	// MIME is image/png, image/jpeg, image/gif, image/webp or
	// application/pdf.
	MIME string
	Data []byte
}

// Call is a tool call as the provider must see it again.
type Call struct {
	ID   string
	Name string
	// Args is the argument text, as the model wrote it.
	Args string
	// Provider is what the provider gave along with the call, or nil.
	Provider json.RawMessage
}

// Tool is a function that the model may call.
type Tool struct {
	Name        string
	Description string
	// Parameters is a JSON schema.
	Parameters json.RawMessage
}

// Chunk is the next piece of an answer. Exactly one field is set.
type Chunk struct {
	// Text and Reasoning are non-empty valid UTF-8.
	Text      string
	Reasoning string
	Tool      *ToolFragment
	Usage     *Usage
	Finish    *Finish
}

// ToolFragment is more of a tool call.
type ToolFragment struct {
	// Index tells the round's calls apart, from 0 in the order they were
	// begun. The decoder resolves every shape that providers send (shared
	// indexes, missing or repeated ids); a caller may rely on Index alone.
	Index int
	// ID and Name may come with any fragment of the call; a later value
	// that is not empty replaces an earlier one.
	ID   string
	Name string
	// Args is more of the argument text.
	Args string
}

// Usage is what a round took, in tokens as the provider counts them.
type Usage struct {
	Input, Output, Reasoning, Cached int64
}

// Finish ends an answer.
type Finish struct {
	// Reason is stop, length or content_filter; a round that calls tools
	// finishes with stop.
	Reason event.Finish
}

// Failure is a round that did not end well, classified by the provider's
// status and error type, never by the words of its message.
type Failure struct {
	Kind event.ErrorKind
	Code event.ErrorCode
	// Status is the HTTP status, 0 when there was none.
	Status int
	// Message is for people; it may quote the provider and never holds a
	// secret.
	Message string
	// Retryable reports that the same request may succeed later;
	// RetryAfter is how long the provider asked to wait, 0 for unsaid.
	Retryable  bool
	RetryAfter time.Duration
	// Err is the cause for the log, or nil.
	Err error
}

// Error returns the message, and the cause where there is one.
func (f *Failure) Error() string {
	if f.Err != nil {
		return f.Message + ": " + f.Err.Error()
	}
	return f.Message
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }
