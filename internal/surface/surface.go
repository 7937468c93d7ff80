// Package surface is the contract between delivery and the chat platforms. A
// platform is a folder below this one that imports nothing else of ours, and a
// line in the table of platforms.
//
// Guarantee asked of a platform: one call of Send, Edit or Delete is at most one
// request to the platform; nothing is retried inside, neither by the platform's
// code nor by a library under it; the Outcome is never better than what the
// platform said. In return a platform decides nothing: what is sent when, what is
// sent again and what is given up is delivery's.
package surface

import (
	"context"
	"net/http"
	"time"
)

// Surface is one configured account or address on a platform, such as a bot. Its
// methods are safe for concurrent use.
type Surface interface {
	// Caps says what it can do. It never changes while the process runs.
	Caps() Caps
	// Render turns Markdown into the text that a Post of this surface holds,
	// and says how long that is, in Caps().Size.Unit as the platform counts it
	// (for instance after its markup was taken out). With plain set the text
	// is to be shown as it is, without markup. It is a pure function: the same
	// Markdown always makes the same text.
	Render(markdown string, plain bool) (text string, size int)
	// Send makes a new message. The deadline is ctx's; a send that is ended by
	// it after the request was written is Unknown.
	Send(ctx context.Context, chat Chat, p Post) Outcome
	// Edit replaces the whole message of a platform id. "It is so already" is
	// Delivered. Only with Caps().Edit.
	Edit(ctx context.Context, chat Chat, platformID string, p Post) Outcome
	// Typing shows that an answer is being written, for as long as the
	// platform shows it. Only with Caps().Typing.
	Typing(ctx context.Context, chat Chat) Outcome
	// Listen receives what people do until ctx ends, and returns ctx's error
	// then. It returns another error only when going on makes no sense, such
	// as a key that is refused; everything else it waits out and tries again.
	// A surface that is only called by HTTP returns when ctx ends.
	Listen(ctx context.Context, in Inbox) error
}

// Reader is a Surface with Caps().ReadBack.
type Reader interface {
	// Own returns the messages that this account wrote in a chat after the one
	// of a platform id, oldest first; an empty id means the newest that are
	// there. At most 100.
	Own(ctx context.Context, chat Chat, after string) ([]Seen, error)
	// Read returns one message as the platform shows it now; ErrGone when it
	// was deleted.
	Read(ctx context.Context, chat Chat, platformID string) (Seen, error)
	// Same reports whether a message read back is what a post's text became:
	// the platform may have trimmed blanks at its ends, and nothing else.
	Same(seen Seen, text string) bool
}

// Hook is a Surface that platforms or people call over HTTP, at
// POST <base path>/hooks/<surface name>. The body is at most 16 MiB; no other
// credential is asked for than those that ServeHook checks.
type Hook interface {
	ServeHook(w http.ResponseWriter, r *http.Request, in Inbox)
}

// Seen is a message as the platform shows it.
type Seen struct {
	PlatformID string
	// Text is the source that the platform keeps, not what it made of it.
	Text string
	At   time.Time
}

// Unit is what a platform counts a message's length in.
type Unit string

// The units.
const (
	Bytes      Unit = "bytes"
	CodePoints Unit = "code_points"
	UTF16      Unit = "utf16"
	Graphemes  Unit = "graphemes"
)

// Size is the longest message.
type Size struct {
	// Max is at least 1.
	Max  int
	Unit Unit
}

// Caps says what a surface can do. What is not said it can't: the zero value, but
// for Size, is a surface that takes messages and nothing else.
type Caps struct {
	Size Size
	// Markup says that Render reads Markdown: a code block that goes on in the
	// next message is closed and opened again, a table's head is repeated.
	// Without it messages hold the text as it is.
	Markup bool
	Edit   bool
	// Idempotent says that a Send of the same Post is shown at most once,
	// however often it is made.
	Idempotent bool
	// ReadBack says that the Surface is a Reader too.
	ReadBack bool
	Typing   bool
	// Buttons says that Post.Buttons are shown.
	Buttons bool
	// Files says that Post.Files are sent along.
	Files bool
	// Mute says that it takes no messages at all, because it was configured
	// without a target: nothing is planned for it.
	Mute bool
	// PerChat is the shortest time between two calls to one chat, PerToken
	// between two calls of all chats together; 0 for none. What the platform
	// says by RetryAfter comes on top.
	PerChat, PerToken time.Duration
}

// Chat is where messages go, in the platform's own names.
type Chat struct {
	// ID names the chat, Thread the part of it (a topic), empty for none.
	ID     string `json:"id"`
	Thread string `json:"thread,omitempty"`
}

// Kind is what a post holds.
type Kind string

// The kinds. Text is text of which it is not known yet whether it is the answer.
const (
	KindText       Kind = "text"
	KindAnswer     Kind = "answer"
	KindCommentary Kind = "commentary"
	KindReasoning  Kind = "reasoning"
	KindTool       Kind = "tool"
	KindApproval   Kind = "approval"
	KindNotice     Kind = "notice"
	KindError      Kind = "error"
)

// Post is a message as it is to exist on a platform. It is stored before the
// call; when it is sent again, exactly this is sent again.
type Post struct {
	// ID is ours, unique for ever, at most 64 bytes of [A-Za-z0-9_-]. It is
	// the idempotency key.
	ID           string `json:"post_id"`
	Conversation string `json:"conversation"`
	// Run is empty for what belongs to no run.
	Run  string `json:"run_id"`
	Kind Kind   `json:"kind"`
	// Seq is that of the last record the post covers.
	Seq int64 `json:"seq"`
	// Part counts the posts of a segment from 1; it is 1 for what is none.
	Part int `json:"part"`
	// Text is what Render made; never blank.
	Text string `json:"text"`
	// Plain says that Text has no markup.
	Plain bool `json:"plain,omitempty"`
	// Final marks the last piece of an answer.
	Final bool `json:"final"`
	// ReplyTo is the platform's id of the message that is answered, empty for
	// none. A platform that finds it gone sends without it.
	ReplyTo string   `json:"reply_to,omitempty"`
	Buttons []Button `json:"buttons,omitempty"`
	Files   []File   `json:"files,omitempty"`
}

// Button is a thing to press under a post.
type Button struct {
	Label string `json:"label"`
	// Data comes back in a Press; at most 64 bytes.
	Data string `json:"data"`
}

// File comes with a message, in or out.
type File struct {
	Name string `json:"name"`
	MIME string `json:"mime,omitempty"`
	// Blob is where delivery keeps the bytes until the call; a platform looks
	// at Data alone.
	Blob string `json:"blob,omitempty"`
	Data []byte `json:"-"`
}

// Class is what became of a call.
type Class string

// The classes.
const (
	// Delivered: the platform has it and said so.
	Delivered Class = "delivered"
	// NotTaken: it surely was not taken and may be tried again: the request
	// was never written whole, or the platform's own error says so (5xx in its
	// format, 429).
	NotTaken Class = "not_taken"
	// Refused: the platform's own error says that this message will never be
	// taken as it is.
	Refused Class = "refused"
	// Unknown: nobody can tell: a timeout or a reset after the body began, an
	// answer that is not the platform's.
	Unknown Class = "unknown"
)

// Outcome is what a call came to.
type Outcome struct {
	Class Class
	// PlatformID names the message; set by a Delivered Send where the platform
	// names messages, and then never reused.
	PlatformID string
	// RetryAfter is how long the platform wants no call: obeyed exactly. 0
	// means that it did not say.
	RetryAfter time.Duration
	// Wide says that RetryAfter holds for all chats of the surface.
	Wide bool
	// Gone says, with Refused: of an Edit, that its message is not there any
	// more or can't be edited any more; of a Send, that the whole chat is
	// closed to us until something comes from it again.
	Gone bool
	// Markup says, with Refused, that the same words without markup may be
	// taken.
	Markup bool
	// Detail says in a few words what happened, for receipts and logs. No
	// secret is in it.
	Detail string
}

// Inbox takes what people do. Its methods are safe for concurrent use and block
// until what they were given is durable; when they return an error it is not, and
// the platform must be asked to give it again.
type Inbox interface {
	// Receive takes a message. The same one again (by Chat.ID and ID) gives the
	// same Ack and does nothing.
	Receive(ctx context.Context, m Message) (Ack, error)
	// Change says that a person changed the text of a message, Remove that it
	// was deleted. Of a message that is not known nothing happens.
	Change(ctx context.Context, chat Chat, id, text string) error
	Remove(ctx context.Context, chat Chat, id string) error
	// Press takes a press of a button and returns a short line for the person
	// who pressed alone.
	Press(ctx context.Context, p Press) (string, error)
	// Mark returns what SetMark has stored under a name, empty for nothing:
	// how far a surface has read. Store it after what was read is durable.
	Mark(ctx context.Context, name string) (string, error)
	SetMark(ctx context.Context, name, value string) error
}

// Person is a sender.
type Person struct {
	// ID is how may_talk and may_decide name the person; Name is for people.
	ID, Name string
	// Other are further names that may_talk and may_decide may use, such as a
	// user name beside a number.
	Other []string
}

// Message is what a person, or a program, wrote.
type Message struct {
	// ID is the platform's, unique in the chat. Empty means that nobody can
	// tell it from another one; then it is never a repetition.
	ID     string
	Chat   Chat
	Sender Person
	// Text is as written, without the mention of the bot at its start.
	Text  string
	Files []File
	At    time.Time
	// Direct says that nobody else is in the chat, Mentioned that the bot was
	// named or answered. In other chats others' talk is left alone.
	Direct, Mentioned bool
	// Signed says that the message was proven to come from who may talk here:
	// may_talk is not asked, and nothing is waited for to make one turn of
	// several messages.
	Signed bool
	// Fields are what a conversation template may name, such as thread.
	Fields map[string]string
	// Refused names files that could not be taken, with the reason, a line
	// each.
	Refused []string
}

// Ack is what became of a message.
type Ack struct {
	// Delivery names this message for ever.
	Delivery string `json:"delivery_id"`
	// Conversation and Run are empty for what starts none, such as a command.
	Conversation string `json:"conversation"`
	Run          string `json:"run_id"`
}

// Press is a press of a button.
type Press struct {
	// ID is the platform's name of the press; the same one again does nothing.
	ID     string
	Chat   Chat
	Sender Person
	Data   string
}
