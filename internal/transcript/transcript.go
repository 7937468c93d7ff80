// Package transcript folds events into what people see: turns, runs, versions,
// parts. The fold is pure, and applying a record twice changes nothing. Check
// lists what is wrong with a sequence of records.
package transcript

import (
	"encoding/json"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// Conversation is the state after some records. The zero value is the state
// before the first. Not safe for concurrent use.
type Conversation struct {
	ID  id.Conversation
	Seq int64 // of the last record applied
	// Title is what a person or the agent called the conversation, or, while
	// TitleSet is false, the default title of its first question that is not
	// deleted; empty when there is none.
	Title    string
	TitleSet bool
	Project  string
	Pinned   bool
	Archived bool
	Model    string
	Forked   *event.ForkedFrom
	// Turns are in order of their user messages; deleted ones stay, marked.
	Turns []*Turn
	// Read is the seq up to which a person has seen the conversation.
	Read int64
	// Queue holds the messages that wait, in order. Held reports that they
	// wait for a person: the last run failed in a way that the next might
	// too, and nobody has resumed the queue or sent something new since.
	// Returned holds those that were taken out unsent since the last message
	// was sent, so that their text can go back to where it was typed.
	Queue    []Queued
	Held     bool
	Returned []Queued
	// Deleted reports that nothing came after the last deletion.
	Deleted bool

	// Updated is when a person last had news: a message, a run's start or
	// its end.
	Updated time.Time
	// Unknown counts the records of kinds that this version does not know,
	// Erased the tombstones.
	Unknown, Erased int
	// Broken says of each record that did not fit what was wrong with it,
	// one line each; such a record is left out of the state.
	Broken []string

	runs   map[id.Run]*Run
	last   *Run    // the run that started last
	hidden *hidden // what the last deletion of the conversation hid
}

// hidden is what conversation_restored brings back.
type hidden struct {
	turns            []*Turn
	title            string
	titleSet         bool
	project, model   string
	pinned, archived bool
	forked           *event.ForkedFrom
	deletedAt        int64 // seq of the deletion
}

// Queued is a message that waits for the running turn.
type Queued struct {
	Run     id.Run
	Message event.UserMessage
	// RegenerateOf is set, and Message is empty, for an answer that is to be
	// given again.
	RegenerateOf id.Message
	NoTools      bool
	Request      string
	Via          event.Via
	// Seq is that of the fact that put it into the queue.
	Seq int64
}

// Turn is a user message and all it set off.
type Turn struct {
	User event.UserMessage
	// UserSeq and UserAt place the message's record.
	UserSeq int64
	UserAt  time.Time
	Deleted bool
	// Message is the assistant message that the runs are versions of,
	// empty until one has started.
	Message id.Message
	Runs    []*Run
	// Chosen is the run that a person last chose to show, empty when nobody
	// did, and ChosenSeq is the record of that choice. A run that starts
	// after it and has visible text goes before it (see Active).
	Chosen    id.Run
	ChosenSeq int64
}

// Status is where a run is.
type Status string

// The states of a run, as they stand on the wire.
const (
	Running     Status = "running"
	Complete    Status = "complete"
	Cancelled   Status = "cancelled"
	Failed      Status = "failed"
	Interrupted Status = "interrupted"
)

// Run is one attempt to answer.
type Run struct {
	ID      id.Run
	Message id.Message
	Start   event.Start
	Retried bool // its one automatic retry has begun
	Status  Status
	// First and Last are the seqs of its start and of its last record.
	First, Last     int64
	StartAt, LastAt time.Time
	Parts           []*Part
	Usage           *event.Usage
	Err             *event.Error
	End             *event.End
	CancelledBy     *event.Cancelled
	Terminal        int64 // seq of the terminal, 0 while running
}

// PartKind is what a part is made of.
type PartKind string

// The kinds of parts.
const (
	PartText      PartKind = "text"
	PartReasoning PartKind = "reasoning"
	PartTool      PartKind = "tool"
)

// Part is a typed piece of an answer, in the order they began.
type Part struct {
	Kind PartKind
	// Text and reasoning. Text is what has come so far. Unloaded reports
	// that the segment was folded from its end alone: then Text is empty,
	// and Bytes, Visible and Phase still hold.
	Segment  id.Segment
	Phase    event.Phase // empty until the segment ended
	Text     []byte
	Bytes    int64
	Visible  bool
	Closed   bool
	Unloaded bool
	// At is when the part began, EndAt when its segment ended.
	At       time.Time
	EndAt    time.Time
	Provider json.RawMessage

	// Tool is set for a tool part.
	Tool *Tool
}

// Tool is a call with all that became of it.
type Tool struct {
	Call     id.Call
	Index    int
	Name     string
	Draft    []byte // arguments as drafted so far
	Called   *event.ToolCall
	Progress []string
	Request  *event.ApprovalRequest
	Resolved *event.ApprovalResolved
	Result   *event.ToolResult
	// CalledAt and EndAt are the times of Called and Result.
	CalledAt, EndAt time.Time
}
