package event

import "verbatim/internal/id"

// Title names the conversation.
type Title struct {
	Title string `json:"title"`
}

// Kind returns "title".
func (Title) Kind() Kind { return "title" }

// VersionActive shows another run as the answer of its turn.
type VersionActive struct {
	// Message is the assistant message, Run the run that is shown.
	Message id.Message `json:"message_id"`
	Run     id.Run     `json:"run"`
}

// Kind returns "version_active".
func (VersionActive) Kind() Kind { return "version_active" }

// MessageDeleted hides the turn of a user message, with all its runs.
type MessageDeleted struct {
	Message id.Message `json:"message_id"`
	Via     Via        `json:"via"`
}

// Kind returns "message_deleted".
func (MessageDeleted) Kind() Kind { return "message_deleted" }

// MessageRestored undoes MessageDeleted.
type MessageRestored struct {
	Message id.Message `json:"message_id"`
}

// Kind returns "message_restored".
func (MessageRestored) Kind() Kind { return "message_restored" }

// Erased stands where a record was whose content is gone for good. The
// record's seq, time and run stay.
type Erased struct {
	// Was is the kind that the record had, Bytes the length of its body.
	Was   Kind  `json:"kind"`
	Bytes int64 `json:"bytes"`
}

// Kind returns "erased".
func (Erased) Kind() Kind { return "erased" }

// QueueOp is what happened to the queue.
type QueueOp string

// The operations on a queue.
const (
	QueueAdd    QueueOp = "add"
	QueueEdit   QueueOp = "edit"
	QueueRemove QueueOp = "remove"
	QueueSend   QueueOp = "send"
	QueueHold   QueueOp = "hold"
	QueueResume QueueOp = "resume"
)

// Queue changes the queue of messages that wait for the running turn.
type Queue struct {
	Op QueueOp `json:"op"`
	// Run is the run id that the queued request was given; empty for hold
	// and resume, which concern the whole queue.
	Run id.Run `json:"run,omitempty"`
	// Message is the message as it will be logged; only with add and edit. An
	// edit keeps its id and the request's hash.
	Message *UserMessage `json:"message,omitempty"`
	// RegenerateOf is set instead of Message where an answer is to be given
	// again: the user message. NoTools turns tools off for the run.
	RegenerateOf id.Message `json:"regenerate_of,omitempty"`
	NoTools      bool       `json:"no_tools,omitempty"`
	Request      string     `json:"request,omitempty"`
	Via          Via        `json:"via"`
}

// Kind returns "queue".
func (Queue) Kind() Kind { return "queue" }

// ForkedFrom begins a conversation as a copy of another's head.
type ForkedFrom struct {
	Conversation id.Conversation `json:"source"`
	// Message is the last message that was copied, Seq the last record.
	Message id.Message `json:"message_id"`
	Seq     int64      `json:"through"`
}

// Kind returns "forked_from".
func (ForkedFrom) Kind() Kind { return "forked_from" }

// Settings changes settings of the conversation; a null field is left alone.
type Settings struct {
	Project  *string `json:"project,omitempty"`
	Pinned   *bool   `json:"pinned,omitempty"`
	Archived *bool   `json:"archived,omitempty"`
	Model    *string `json:"model,omitempty"`
	// Read is the seq up to which a person has seen the conversation.
	Read *int64 `json:"read,omitempty"`
}

// Kind returns "settings".
func (Settings) Kind() Kind { return "settings" }

// ConversationDeleted hides everything before it. A later message begins the
// conversation anew under the same id.
type ConversationDeleted struct {
	Via Via `json:"via"`
}

// Kind returns "conversation_deleted".
func (ConversationDeleted) Kind() Kind { return "conversation_deleted" }

// ConversationRestored undoes the last ConversationDeleted.
type ConversationRestored struct{}

// Kind returns "conversation_restored".
func (ConversationRestored) Kind() Kind { return "conversation_restored" }

var (
	sampleQueue    = Queue{Op: QueueAdd, Run: "r_2", Message: &sampleUserMessage, Request: sampleSHA256, Via: Via{Surface: "web"}}
	sampleProject  = "Ops"
	samplePinned   = true
	sampleSettings = Settings{Project: &sampleProject, Pinned: &samplePinned}
)
