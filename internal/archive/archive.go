// Package archive writes conversations into one file and reads them back: files
// of its own, and the chat files of the desktop product.
//
// Guarantee: an export holds what the log holds, byte for byte, and nothing that
// was deleted; imported elsewhere and exported again it is the same file. An
// import writes a conversation whole or not at all, never over one that is there,
// and the same file twice changes nothing. Not promised: that a file may be made
// by hand; what does not hold together is refused.
package archive

import (
	"context"
	"errors"
	"io"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// What callers branch on.
var (
	// ErrMissing means that a conversation was asked for that is not there, or
	// of which nothing is left. Nothing was written.
	ErrMissing = errors.New("no such conversation")
	// ErrFormat means that a file is none that can be imported.
	ErrFormat = errors.New("not a file that can be imported")
	// ErrCut means that a file ends too early or was changed on its way. What
	// was imported of it is whole.
	ErrCut = errors.New("the file is cut short or damaged")
)

// MaxLine is the longest line of a file, and MaxConversation the most that one
// conversation of it may have, without its blobs, in bytes.
const (
	MaxLine         = 16 << 20
	MaxConversation = 256 << 20
)

// Log is what an Archive needs of the log; *turnlog.Log is one.
type Log interface {
	After(ctx context.Context, c id.Conversation, after int64, limit turnlog.Limit) ([]event.Record, error)
	Facts(ctx context.Context, c id.Conversation, after int64, limit turnlog.Limit) ([]event.Record, error)
	Head(ctx context.Context, c id.Conversation) (int64, error)
	Conversations(ctx context.Context, q turnlog.Query) ([]turnlog.ConversationInfo, error)
	Doomed(ctx context.Context) ([]turnlog.Doomed, error)
	Import(ctx context.Context, c id.Conversation, records []event.Record) error
}

// Blobs keeps what records refer to; *blob.Store does, and its errors are meant.
type Blobs interface {
	// Open returns a blob and its size in bytes, or blob.ErrMissing.
	Open(blob string) (io.ReadSeekCloser, int64, error)
	// Import keeps what r holds under a name, unless it is there already;
	// other content under the name is blob.ErrDiffers.
	Import(blob string, r io.Reader) error
	Delete(blob string) error
}

// Options are what an Archive works with. Log and Blobs are required.
type Options struct {
	Log   Log
	Blobs Blobs
	// Now is the time of chats whose file tells none; time.Now if nil.
	Now func() time.Time
}

// Archive exports and imports. It keeps nothing and is safe for concurrent use.
type Archive struct {
	log   Log
	blobs Blobs
	now   func() time.Time
}

// New returns an archive.
func New(o Options) *Archive {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Archive{log: o.Log, blobs: o.Blobs, now: o.Now}
}

// State is what became of a conversation of a file.
type State string

// The states.
const (
	Done      State = "imported"
	Unchanged State = "unchanged"
	Refused   State = "refused"
)

// Outcome is what became of one conversation of a file.
type Outcome struct {
	// ID is empty when the file does not even tell that.
	ID    id.Conversation `json:"id"`
	State State           `json:"state"`
	// Reason is a sentence for people: why it was refused, or what had to be
	// done to it.
	Reason string `json:"reason,omitempty"`
	// Records is how many were written.
	Records int `json:"records"`
}

// Imported is what became of a file, in its order.
type Imported struct {
	Conversations []Outcome `json:"conversations"`
}
