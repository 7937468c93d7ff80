package delivery

import (
	"context"
	"errors"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/surface"
)

// InboundState is where a received message is.
type InboundState string

// The states.
const (
	// InboundWaiting: it may still become one turn with what follows it.
	InboundWaiting InboundState = "waiting"
	// InboundTaken: its turn is made up; Run names it. It may not have been
	// sent yet.
	InboundTaken InboundState = "taken"
	// InboundDone: nothing is left to do.
	InboundDone InboundState = "done"
)

// ErrReceived means that a message was received before.
var ErrReceived = errors.New("the message was received before")

// Inbound is a message from a chat, as it is kept until nothing is left to do
// about it, and its identity for 30 days more.
type Inbound struct {
	// Delivery is our name for it. ID is the platform's, unique in Chat.ID;
	// empty for none.
	Delivery string
	Address
	ID string
	// Conversation and Run are set once they are known.
	Conversation id.Conversation
	Run          id.Run
	State        InboundState
	At           time.Time
	Sender       surface.Person
	// Text and Files are empty once State is InboundDone.
	Text  string
	Files []event.Attachment
}

// InboxStore keeps what was received. Like Store.
type InboxStore interface {
	// Received returns a message by its identity, and false for none.
	Received(ctx context.Context, surface, chat, id string) (Inbound, bool, error)
	// AddInbound stores a message; ErrReceived when its identity is there.
	AddInbound(ctx context.Context, m Inbound) error
	// SetInbound replaces messages by their Delivery, all or none.
	SetInbound(ctx context.Context, all ...Inbound) error
	// OpenInbound returns those that are not done, oldest first.
	OpenInbound(ctx context.Context) ([]Inbound, error)
	// Mark and SetMark keep a surface's own notes.
	Mark(ctx context.Context, surface, name string) (string, error)
	SetMark(ctx context.Context, surface, name, value string) error
}
