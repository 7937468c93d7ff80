package surfacetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"verbatim/internal/surface"
)

// Inbox keeps what a surface received. The zero value is ready to use.
type Inbox struct {
	mu       sync.Mutex
	fails    int
	given    []surface.Message
	taken    []surface.Message
	changes  []Changing
	removes  []Changing
	presses  []surface.Press
	marks    map[string]string
	pressing string
}

// Changing is a message that a person changed or removed.
type Changing struct {
	Chat     surface.Chat
	ID, Text string
}

var errFull = errors.New("the inbox can't store anything now")

// Fail lets the next n calls that store something fail.
func (b *Inbox) Fail(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fails = n
}

// Line sets what a person who presses a button is shown.
func (b *Inbox) Line(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pressing = text
}

// Taken returns the messages in the order in which they were first taken.
func (b *Inbox) Taken() []surface.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.taken)
}

// Given returns how often the surface gave a message, whatever became of it.
func (b *Inbox) Given() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.given)
}

// Changes returns what was changed, oldest first.
func (b *Inbox) Changes() []Changing {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.changes)
}

// Removes returns what was removed, oldest first.
func (b *Inbox) Removes() []Changing {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.removes)
}

// Presses returns what was pressed, oldest first.
func (b *Inbox) Presses() []surface.Press {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.presses)
}

// Receive is surface.Inbox.Receive.
func (b *Inbox) Receive(_ context.Context, m surface.Message) (surface.Ack, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.given = append(b.given, m)
	if b.failing() {
		return surface.Ack{}, errFull
	}
	same := func(old surface.Message) bool { return m.ID != "" && old.ID == m.ID && old.Chat.ID == m.Chat.ID }
	at := slices.IndexFunc(b.taken, same)
	if at < 0 {
		at = len(b.taken)
		b.taken = append(b.taken, m)
	}
	return surface.Ack{Delivery: fmt.Sprintf("d%d", at), Conversation: "c." + m.Chat.ID, Run: fmt.Sprintf("r%d", at)}, nil
}

// Change is surface.Inbox.Change.
func (b *Inbox) Change(_ context.Context, chat surface.Chat, id, text string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failing() {
		return errFull
	}
	b.changes = append(b.changes, Changing{chat, id, text})
	return nil
}

// Remove is surface.Inbox.Remove.
func (b *Inbox) Remove(_ context.Context, chat surface.Chat, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failing() {
		return errFull
	}
	b.removes = append(b.removes, Changing{Chat: chat, ID: id})
	return nil
}

// Press is surface.Inbox.Press.
func (b *Inbox) Press(_ context.Context, p surface.Press) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failing() {
		return "", errFull
	}
	b.presses = append(b.presses, p)
	return b.pressing, nil
}

// Mark is surface.Inbox.Mark.
func (b *Inbox) Mark(_ context.Context, name string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.marks[name], nil
}

// SetMark is surface.Inbox.SetMark.
func (b *Inbox) SetMark(_ context.Context, name, value string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.marks == nil {
		b.marks = map[string]string{}
	}
	b.marks[name] = value
	return nil
}

func (b *Inbox) failing() bool {
	if b.fails == 0 {
		return false
	}
	b.fails--
	return true
}
