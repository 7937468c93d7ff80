// Package inbound takes what people and programs write on a surface to the chat:
// it finds the conversation, makes turns of messages, carries out commands and
// takes decisions about requests for approval.
//
// Guarantee: a message that was acknowledged is in exactly one turn, once, and
// turns are in the order of their first messages, whenever the process dies; who
// may not talk starts nothing, and who may not decide decides nothing, whichever
// way they try. Not promised: that a change of a message reaches a turn that has
// begun.
package inbound

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"verbatim/internal/approval"
	"verbatim/internal/chat"
	"verbatim/internal/delivery"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/surface"
	"verbatim/internal/turnlog"
)

// ErrClosed means that Close was called: nothing was taken.
var ErrClosed = errors.New("the inbox is closed; nothing was taken")

// Chat takes commands; *chat.Service is one.
type Chat interface {
	Send(ctx context.Context, req chat.SendRequest) (turnlog.RunInfo, error)
	Cancel(ctx context.Context, run id.Run, by string, via event.Via) error
	EditQueued(ctx context.Context, c id.Conversation, run id.Run, text string, via event.Via) error
	RemoveQueued(ctx context.Context, c id.Conversation, run id.Run, via event.Via) error
	Resume(ctx context.Context, c id.Conversation, via event.Via) error
	Change(ctx context.Context, c id.Conversation, p chat.Patch) error
}

// Log tells what became of turns; *turnlog.Log does.
type Log interface {
	Facts(ctx context.Context, c id.Conversation, after int64, limit turnlog.Limit) ([]event.Record, error)
	Run(ctx context.Context, r id.Run) (turnlog.RunInfo, error)
	Approval(ctx context.Context, a id.Approval) (turnlog.ApprovalInfo, error)
}

// Desk is where requests for approval wait; *approval.Desk is one.
type Desk interface {
	Pending() []approval.Pending
	Decide(ctx context.Context, a id.Approval, dec approval.Decision) error
}

// Blobs keeps the bytes of files; *blob.Store is one.
type Blobs interface {
	// Put stores data and returns its new name once it is durable.
	Put(ctx context.Context, data []byte) (string, error)
}

// Store keeps what was received, and which chat shows what.
type Store interface {
	delivery.InboxStore
	Bind(ctx context.Context, a delivery.Address, c id.Conversation) (delivery.Binding, error)
	Receipts(ctx context.Context, run id.Run) ([]delivery.Receipt, error)
	Unsure(ctx context.Context, a delivery.Address) ([]delivery.Placement, error)
}

// Options are what an Inbox is built of. What is not said to be optional is
// required.
type Options struct {
	// Surface is the surface's name in the configuration.
	Surface string
	// Template names the conversation of a message: see CheckTemplate. Empty
	// means DefaultTemplate.
	Template string
	// MayTalk lists who may write, by Person.ID or one of Person.Other, "*"
	// for anyone. Empty means nobody. A message that is Signed is not held
	// against it.
	MayTalk []string
	// MayDecide lists who may decide about requests for approval, in the same
	// way. Empty means whoever may talk and wrote the message that the request
	// came of.
	MayDecide []string
	Caps      surface.Caps
	Store     Store
	Chat      Chat
	Log       Log
	Desk      Desk
	Blobs     Blobs
	// Say stores a line of the product itself, in Markdown, that is posted in
	// a chat in order. A key that was used before says nothing again.
	Say func(ctx context.Context, a delivery.Address, key, text string) error
	// Again has what may be missing in a chat sent again, and returns how many
	// posts that are.
	Again func(ctx context.Context, a delivery.Address) (int, error)
	// Model returns the full name of the model that answers in a conversation
	// with this model of its own, empty for none. The error tells a person
	// why it can't.
	Model func(ctx context.Context, own string) (string, error)
	// Mint makes ids; the zero value is right outside tests.
	Mint id.Mint
	// Now is the clock of what is stored; nil means time.Now.
	Now func() time.Time
	// Logger takes what people don't see; nil discards it.
	Logger *slog.Logger
}

// Inbox is the surface.Inbox of one surface. Safe for concurrent use.
type Inbox struct {
	opt      Options
	template template

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	all    sync.WaitGroup // of calls and of lanes at work

	mu     sync.Mutex
	closed bool
	lanes  map[delivery.Address]*lane
	calls  map[identity]*call
	// refused is when a sender who may not talk was last told so.
	refused map[string]time.Time
}

var _ surface.Inbox = (*Inbox)(nil)

// New returns an Inbox that has nothing to do yet. The error says what is wrong
// with the template. Call Recover before the first message.
func New(opt Options) (*Inbox, error) {
	if opt.Template == "" {
		opt.Template = DefaultTemplate
	}
	t, err := parseTemplate(opt.Template)
	if err != nil {
		return nil, err
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	opt.Logger = opt.Logger.With("surface", opt.Surface)
	in := &Inbox{
		opt: opt, template: t,
		lanes: map[delivery.Address]*lane{}, calls: map[identity]*call{}, refused: map[string]time.Time{},
	}
	in.ctx, in.cancel = context.WithCancel(context.Background())
	return in, nil
}

// Close ends the work and returns when none is left. What is not done stays
// stored, and is taken up by the next start's Recover. A second call does
// nothing.
func (in *Inbox) Close() {
	in.mu.Lock()
	in.closed = true
	in.mu.Unlock()
	in.cancel()
	in.all.Wait()
}

// begin counts a call; its caller owes in.all a Done.
func (in *Inbox) begin() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return ErrClosed
	}
	in.all.Add(1)
	return nil
}

// ownMarks begins the names of marks that are the inbox's own.
const ownMarks = "inbox:"

var errOwnMark = errors.New(`names of marks don't begin with "` + ownMarks + `"`)

// Mark returns what SetMark has stored under a name, empty for nothing.
func (in *Inbox) Mark(ctx context.Context, name string) (string, error) {
	if strings.HasPrefix(name, ownMarks) {
		return "", errOwnMark
	}
	return in.opt.Store.Mark(ctx, in.opt.Surface, name)
}

// SetMark stores a value under a name, which must not begin with "inbox:". It is
// durable on return.
func (in *Inbox) SetMark(ctx context.Context, name, value string) error {
	if strings.HasPrefix(name, ownMarks) {
		return errOwnMark
	}
	return in.opt.Store.SetMark(ctx, in.opt.Surface, name, value)
}

// delivery mints the name of a message.
func (in *Inbox) delivery() string {
	if in.opt.Mint.Text != nil {
		return "d_" + in.opt.Mint.Text()
	}
	return "d_" + strings.ToLower(rand.Text())
}

// address is where a chat of this surface is.
func (in *Inbox) address(c surface.Chat) delivery.Address {
	return delivery.Address{Surface: in.opt.Surface, Chat: c}
}

// via says by which way something came.
func (in *Inbox) via(c surface.Chat, p surface.Person) event.Via {
	device := c.ID
	if c.Thread != "" {
		device += "/" + c.Thread
	}
	return event.Via{Surface: in.opt.Surface, Device: device, Sender: p.ID}
}
