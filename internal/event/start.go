package event

import "verbatim/internal/id"

// Start begins a run. Its record carries the run's id and the id of the
// assistant message that the run is a version of.
type Start struct {
	Model string `json:"model"`
	// RegenerateOf is the user message that is answered again, empty when
	// the record follows that message itself.
	RegenerateOf id.Message `json:"regenerate_of,omitempty"`
	// Version counts the runs of the turn from 1.
	Version int `json:"version"`
	// Retry marks the one automatic second try of a run of which nothing
	// but its start was stored when the process ended.
	Retry bool `json:"retry,omitempty"`
	// Request is the SHA-256 (hex) of the request that made the run: the
	// same run id with another request is refused.
	Request string `json:"request,omitempty"`
	// OmittedTurns counts the earlier turns that did not fit the model's
	// context and were left out of it.
	OmittedTurns int `json:"omitted_turns,omitempty"`
	// NoTools records that the request turned tools off.
	NoTools bool `json:"no_tools,omitempty"`
	// Via is by which way an answer was asked for again; left out where the
	// user message before it says so.
	Via Via `json:"via,omitzero"`
}

// Kind returns "start".
func (Start) Kind() Kind { return "start" }

var (
	sampleStart = Start{Model: "openai/gpt-5-mini", Version: 1, Request: sampleSHA256}
	sampleRetry = Start{Model: "openai/gpt-5-mini", Version: 2, RegenerateOf: "m_1", Retry: true, OmittedTurns: 3, NoTools: true, Via: Via{Surface: "web"}}
)
