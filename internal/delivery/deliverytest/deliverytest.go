// Package deliverytest is the conformance suite of delivery.Store and
// delivery.InboxStore, and Memory, a store of both kinds that passes it and that
// fails and crashes as it is told. A new store is added by describing it as a
// Subject and calling Run from one test.
package deliverytest

import (
	"testing"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// Stores is what the suite tests.
type Stores interface {
	delivery.Store
	delivery.InboxStore
}

// Place is where stores keep what they store, beside a log.
type Place interface {
	// Open opens the stores there, as the next start of the process does. What
	// was opened before stays open and must refuse to store anything.
	Open(t *testing.T) Stores
	// Append adds records to the log that the newest opening stands beside,
	// Erase erases some of them.
	Append(t *testing.T, c id.Conversation, drafts ...turnlog.Draft)
	Erase(t *testing.T, c id.Conversation, what turnlog.Erasure)
}

// Subject describes a store.
type Subject struct {
	// Begin makes an empty place, whose clock is now.
	Begin func(t *testing.T, now func() time.Time) Place
}

// Run runs the suite, in about a second for a store on a disk.
func Run(t *testing.T, s Subject) {
	tests := []struct {
		name string
		f    func(*world)
	}{
		{"a chat shows one conversation, from its head on", testBind},
		{"what is saved comes back as it was", testSave},
		{"a lane gets what is not settled", testLane},
		{"a closed binding is listed while anything is left", testClosed},
		{"a post of no conversation", testLoose},
		{"what is there already is not added", testAdd},
		{"a change is stored whole or not at all", testWhole},
		{"receipts", testReceipts},
		{"what may be missing", testUnsure},
		{"a later start owns the lanes", testFence},
		{"many chats at once", testMany},
		{"a message is received once", testInbound},
		{"messages are changed together", testSetInbound},
		{"identities are kept for 30 days", testInboundAge},
		{"marks", testMarks},
		{"erased runs", testErasedRuns},
		{"an erased conversation", testErasedConversation},
		{"random changes", testRandom},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.f(newWorld(t, s)) })
	}
}

// world is a place under test.
type world struct {
	*testing.T
	subject Subject
	place   Place
	now     time.Time
	// s is the newest opening.
	s Stores
}

func newWorld(t *testing.T, s Subject) *world {
	w := &world{T: t, subject: s, now: time.Date(2026, 3, 1, 9, 0, 0, 123456789, time.UTC)}
	w.place = s.Begin(t, func() time.Time { return w.now })
	w.reopen()
	return w
}

func (w *world) reopen() {
	w.Helper()
	w.s = w.place.Open(w.T)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// talk appends a number of questions.
func (w *world) talk(c id.Conversation, n int) {
	w.Helper()
	for range n {
		w.place.Append(w.T, c, turnlog.Draft{Event: event.UserMessage{Message: "q", Text: "hi"}})
	}
}

// begin appends a question with the start of a run, and end the end of one.
func (w *world) begin(c id.Conversation, run id.Run) {
	w.Helper()
	w.place.Append(w.T, c,
		turnlog.Draft{Event: event.UserMessage{Message: id.Message("q" + run), Text: "hi"}},
		turnlog.Draft{Run: run, Message: id.Message("a" + run), Event: event.Start{Model: "x", Version: 1}})
}

func (w *world) end(c id.Conversation, run id.Run) {
	w.Helper()
	w.place.Append(w.T, c, turnlog.Draft{Run: run, Message: id.Message("a" + run), Event: event.End{Finish: event.FinishStop}})
}

func (w *world) bind(a delivery.Address, c id.Conversation) delivery.Binding {
	w.Helper()
	b, err := w.s.Bind(w.Context(), a, c)
	w.must(err)
	return b
}

func (w *world) save(c delivery.Change) {
	w.Helper()
	w.must(w.s.Save(w.Context(), c))
}

func (w *world) lane(a delivery.Address) delivery.Saved {
	w.Helper()
	saved, err := w.s.Lane(w.Context(), a)
	w.must(err)
	return saved
}
