// Package event is the vocabulary of the log: one struct a kind, one table of
// kinds (specs.go), one JSON codec. It promises that what was encoded decodes
// to an equal value, and that a kind it does not know survives byte for byte.
// It does not judge whether a sequence of events makes sense; transcript does.
package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"
	"unicode/utf8"

	"verbatim/internal/id"
)

// Kind names an event in the log and on the native wire.
type Kind string

// Event is an immutable fact. Implementations are plain values of this package.
type Event interface{ Kind() Kind }

// Unknown is an event of a kind that this version does not know, kept as it
// was stored.
type Unknown struct {
	Name Kind
	Raw  json.RawMessage
}

// Kind returns the stored name.
func (u Unknown) Kind() Kind { return u.Name }

// Record is an event as the log stores it. Records are values; Body and the
// decoded event are shared and must not be changed.
type Record struct {
	Conversation id.Conversation
	// Seq counts the records of a conversation from 1 without gaps.
	Seq int64
	// At is when the log took the event, in UTC, whole milliseconds.
	At time.Time
	// Run and Message are set on events of a run and empty on facts about
	// the conversation.
	Run     id.Run
	Message id.Message
	Kind    Kind
	// Body is the payload as stored: one JSON object without white space
	// around it. It is never encoded again.
	Body json.RawMessage
	// event is the decoded payload where it is at hand; Event decodes Body
	// otherwise, to an equal value.
	event Event
}

// NewRecord encodes e into a record without place or time, which the log
// fills in.
func NewRecord(conversation id.Conversation, run id.Run, message id.Message, e Event) (Record, error) {
	body, err := Encode(e)
	if err != nil {
		return Record{}, err
	}
	r := Record{Conversation: conversation, Run: run, Message: message, Kind: e.Kind(), Body: body}
	// Raw JSON in an event may be written otherwise than it is stored, so only
	// kinds without any are kept decoded: a reader gets the same from memory
	// and from disk.
	if _, ok := e.(appender); ok {
		r.event = e
	}
	return r, nil
}

// Event returns the decoded payload: a value (never a pointer) of this
// package's type for Kind, or Unknown. It fails only on a body that is not
// what this version would have written for a kind it knows.
func (r Record) Event() (Event, error) {
	if r.event != nil {
		return r.event, nil
	}
	return Decode(r.Kind, r.Body)
}

// appender is an event whose encoding is on the path of every token.
type appender interface {
	appendJSON(b []byte) []byte
	valid() bool
}

// ErrText is returned for an event whose text is not valid UTF-8: JSON could
// not give it back.
var ErrText = errors.New("text is not valid UTF-8")

// Encode writes the payload as one line of JSON without HTML escaping, and
// refuses with ErrText what would not come back the same. White space inside a
// raw JSON field that means nothing is left out (see NewArgs).
func Encode(e Event) (json.RawMessage, error) {
	if u, ok := e.(Unknown); ok {
		return u.Raw, nil
	}
	a, quick := e.(appender)
	if quick && !a.valid() || !quick && !validText(reflect.ValueOf(e)) {
		return nil, fmt.Errorf("encode %s: %w", e.Kind(), ErrText)
	}
	if quick {
		return a.appendJSON(nil), nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, fmt.Errorf("encode %s: %w", e.Kind(), err)
	}
	return json.RawMessage(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// Decode reads a payload. A kind that is not in the table becomes Unknown.
// Fields that this version does not know are passed over; they stay in the
// record's Body.
func Decode(kind Kind, body json.RawMessage) (Event, error) {
	spec, ok := Lookup(kind)
	if !ok {
		return Unknown{Name: kind, Raw: body}, nil
	}
	e, err := spec.decode(body)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", kind, err)
	}
	return e, nil
}

// validText reports whether all strings and raw JSON of a payload are valid
// UTF-8.
func validText(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return utf8.ValidString(v.String())
	case reflect.Pointer:
		return v.IsNil() || validText(v.Elem())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return utf8.Valid(v.Bytes())
		}
		for i := range v.Len() {
			if !validText(v.Index(i)) {
				return false
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !validText(v.Field(i)) {
				return false
			}
		}
	}
	return true
}
