package turnlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// ErrInvalid means that an event is not one the log may hold. Nothing was
// written.
var ErrInvalid = errors.New("not a valid event")

// unit is what commits whole or not at all. Its records have no seq and no
// time until the writer has it.
type unit struct {
	conversation id.Conversation
	run          id.Run // the first that an event names, or empty
	records      []event.Record
	err          error // found before it was queued
	waits        bool  // its caller waits for the outcome
	reports      int   // how many batches with failures were reported before it
	// action is what the writer does in the place of a commit; the unit has no
	// records then.
	action func() error
	done   func([]event.Record, error)
	one    [1]event.Record // room for records, which mostly are one
}

// newUnit encodes the events, in the caller's goroutine. What is wrong with
// them is told by the writer, so that done always comes from there.
func newUnit(c id.Conversation, drafts []Draft, done func([]event.Record, error)) *unit {
	u := &unit{conversation: c, done: done}
	if u.records = u.one[:]; len(drafts) != 1 {
		u.records = make([]event.Record, len(drafts))
	}
	if c == "" {
		u.err = fmt.Errorf("%w: no conversation", ErrInvalid)
	}
	for i, d := range drafts {
		if u.run == "" {
			u.run = d.Run
		}
		r, err := encode(c, d)
		if err != nil {
			u.err = errors.Join(u.err, err)
		}
		u.records[i] = r
	}
	return u
}

func encode(c id.Conversation, d Draft) (event.Record, error) {
	if err := check(d); err != nil {
		return event.Record{}, err
	}
	r, err := event.NewRecord(c, d.Run, d.Message, d.Event)
	if err != nil {
		return r, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return r, nil
}

func check(d Draft) error {
	if d.Event == nil {
		return fmt.Errorf("%w: no event", ErrInvalid)
	}
	kind := d.Event.Kind()
	if spec, ok := event.Lookup(kind); ok && spec.Run != (d.Run != "") {
		return fmt.Errorf("%w: %s with run %q", ErrInvalid, kind, d.Run)
	}
	if err := checkNames(d, kind); err != nil {
		return err
	}
	if u, ok := d.Event.(event.Unknown); ok {
		return checkUnknown(u)
	}
	if s, ok := piece(d.Event); ok && len(s) == 0 {
		return fmt.Errorf("%w: %s without text", ErrInvalid, kind)
	}
	return nil
}

func checkNames(d Draft, kind event.Kind) error {
	if (d.Run == "") != (d.Message == "") {
		return fmt.Errorf("%w: %s has only one of run and message", ErrInvalid, kind)
	}
	return nil
}

func checkUnknown(u event.Unknown) error {
	if _, ok := event.Lookup(u.Name); ok || u.Name == "" || !json.Valid(u.Raw) || !utf8.Valid(u.Raw) {
		return fmt.Errorf("%w: unknown kind %q", ErrInvalid, u.Name)
	}
	return nil
}

// piece is the text of an event that is a piece of a stream. An empty one says
// nothing and would only make two records of one place.
func piece(e event.Event) (string, bool) {
	switch e := e.(type) {
	case event.Delta:
		return e.Text, true
	case event.Reasoning:
		return e.Text, true
	}
	return "", false
}
