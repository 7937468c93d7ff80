package event

import "verbatim/internal/id"

// UserMessage is a person's message.
type UserMessage struct {
	Message     id.Message   `json:"message_id"`
	Text        string       `json:"text"`
	Attachments []Attachment `json:"attachments,omitempty"`
	// Client is the sender's own id for the message, if it gave one.
	Client string `json:"client_id,omitempty"`
	Via    Via    `json:"via"`
}

// Kind returns "user_message".
func (UserMessage) Kind() Kind { return "user_message" }

// Attachment is a file that came with a message; its bytes are in a blob.
type Attachment struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	MIME string `json:"mime"`
	// Size is in bytes.
	Size int64  `json:"size"`
	Blob string `json:"blob"`
}

// Via says by which way something came: the surface, and on it the device and
// the sender where they are known.
type Via struct {
	Surface string `json:"surface"`
	Device  string `json:"device,omitempty"`
	Sender  string `json:"sender,omitempty"`
}

var sampleUserMessage = UserMessage{
	Message: "m_1", Text: "What is on the disk?", Client: "k1",
	Attachments: []Attachment{{ID: "f1", Name: "df.txt", MIME: "text/plain", Size: 120, Blob: "sha256-ab"}},
	Via:         Via{Surface: "web", Device: "d1", Sender: "owner"},
}
