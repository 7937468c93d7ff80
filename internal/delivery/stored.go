package delivery

import (
	"context"
	"errors"
	"time"

	"verbatim/internal/id"
	"verbatim/internal/surface"
)

// ErrFenced means that a later start of the process owns the lanes: this one
// stores nothing any more.
var ErrFenced = errors.New("a later start of the process owns the lanes")

// Address is one chat of one surface: what a lane belongs to.
type Address struct {
	Surface string
	Chat    surface.Chat
}

// Binding shows a conversation in a chat. A chat shows one conversation at a
// time; a new binding closes the one before it.
type Binding struct {
	// ID grows with each binding; 0 before it is stored.
	ID int64
	Address
	Conversation id.Conversation
	// From is the conversation's head when it was bound: what came up to then
	// is not shown. Done is how far everything is settled, at least From.
	From, Done int64
	// Closed says that another binding took the chat over: runs that start
	// after Until are not shown here.
	Closed bool
	Until  int64
}

// State is where a placement is.
type State string

// The states. Of these, planned and in flight are not settled, and unknown is not
// while the surface can still find out.
const (
	Planned   State = "planned"
	InFlight  State = "in_flight"
	Delivered State = "delivered"
	Blank     State = "blank"
	Unknown   State = "unknown"
	Refused   State = "refused"
	Expired   State = "expired"
)

// Placement is a byte range of a segment in one message of a chat, or a message
// that shows something else, such as a tool's line.
type Placement struct {
	// Post is the id of the post, ours.
	Post    string
	Binding int64
	// Run is empty for what belongs to none.
	Run id.Run
	// Item names what is shown: stable over restarts, unique in the binding.
	// Segment is set where it is text.
	Item    string
	Segment id.Segment
	// Part counts the placements of an item from 1.
	Part int
	// Seq is that of the last record that it covers, 0 for none.
	Seq int64
	// From and To are the range, in bytes of the segment, that the message is
	// confirmed to show or, before it is confirmed, is to show.
	From, To int64
	State    State
	// PlatformID is what the platform calls the message.
	PlatformID string
	// Body is what the last Send or Edit was, EditTo the end of the range of an
	// Edit that is not settled, 0 for none. Body is nil once nothing can be
	// sent or edited any more, or its text was erased.
	Body   *surface.Post
	EditTo int64
	// Shown is the SHA-256, in hex, of the text that is confirmed to be shown.
	Shown string
	// Attempts counts the calls that were made to show it; Start is the start
	// number of the process that made the last one, At its time.
	Attempts int
	Start    int64
	At       time.Time
	// First is when it was first to be sent, NotBefore when it may be tried
	// again, Wait the pause before that.
	First, NotBefore time.Time
	Wait             time.Duration
	// Plain says that it is sent without markup, Sealed that it is not edited
	// any more, Again that a person asked for it to be sent again.
	Plain, Sealed, Again bool
	// Error says what went wrong last, for people.
	Error string
}

// Pace is what a chat's platform has made us do.
type Pace struct {
	// NotBefore is when the next call may be made. Interval is the time
	// between edits, 0 for the configured one. Quiet is when the platform
	// complained last.
	NotBefore time.Time
	Interval  time.Duration
	Quiet     time.Time
}

// Withheld counts what a surface does not show of a run, by policy.
type Withheld struct {
	Reasoning  int `json:"reasoning"`
	Tools      int `json:"tools"`
	Commentary int `json:"commentary"`
}

// RunShown says that nothing of a run is left to do in a chat.
type RunShown struct {
	Run      id.Run
	Withheld Withheld
}

// Change is what is stored as one unit, durably, or not at all.
type Change struct {
	Address
	Binding int64
	// Place are new or changed placements, by their Post.
	Place []Placement
	Pace  *Pace
	// Done, if not 0, is how far the binding is settled now.
	Done int64
	Runs []RunShown
}

// Saved is what is stored of a chat.
type Saved struct {
	Pace Pace
	// LastID is the platform id that was confirmed last in the chat, empty for
	// none.
	LastID string
	// Bindings are those with something left to do, oldest first. The last one
	// is the one that is open, if any.
	Bindings []Binding
	// Place are the placements of these bindings that belong to what is not
	// settled (their Seq is after Done, or they are not settled), and those
	// that are to be sent again.
	Place []Placement
}

// Receipt is what is stored about a run in one chat.
type Receipt struct {
	Binding Binding
	// Finished says that RunShown was stored; Withheld is from there.
	Finished bool
	Withheld Withheld
	Place    []Placement
}

// Store keeps the lanes. Its methods are safe for concurrent use; what they
// change is durable when they return.
type Store interface {
	// Start is the number of this start of the process.
	Start() int64
	// Addresses returns the chats that have a binding, in no order.
	Addresses(ctx context.Context) ([]Address, error)
	// Lane returns what is stored of a chat; the zero value of one that is not
	// known.
	Lane(ctx context.Context, a Address) (Saved, error)
	// Bind shows a conversation in a chat from its present head on, and closes
	// the binding that the chat had, at the head of that one's conversation.
	// A chat that shows the conversation already keeps its binding.
	Bind(ctx context.Context, a Address, c id.Conversation) (Binding, error)
	// Bound returns the open binding of a chat, and false for none.
	Bound(ctx context.Context, a Address) (Binding, bool, error)
	// Save stores a change. ErrFenced when a later start owns the lanes.
	Save(ctx context.Context, c Change) error
	// Add stores placements that are not there yet and leaves those alone that
	// are; it returns the ones it stored.
	Add(ctx context.Context, c Change) ([]Placement, error)
	// Receipts returns what is stored of a run, by binding. Bindings of the
	// run's conversation that were made before the run began and have shown
	// nothing of it yet are among them, without placements.
	Receipts(ctx context.Context, run id.Run) ([]Receipt, error)
	// Unsure returns the placements of a chat that are unknown or refused and
	// have a Body, newest run first, of at most its newest such run.
	Unsure(ctx context.Context, a Address) ([]Placement, error)
}
