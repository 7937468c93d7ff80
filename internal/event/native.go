package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"verbatim/internal/id"
)

// ErrRecord is what a line that is no record in native form gives.
var ErrRecord = errors.New("not a record in native form")

// nativeTime is RFC 3339 in UTC with milliseconds.
const nativeTime = "2006-01-02T15:04:05.000Z"

// RecordFields returns the members of the native form that are no payload. No
// payload has a member of these names.
func RecordFields() []string {
	return []string{"conversation", "seq", "at", "event", "run_id", "msg_id"}
}

// AppendJSON appends the record's native form: one flat object of the record's
// own members, in the order of RecordFields, and then the members of the payload as
// they are stored. run_id and msg_id are left out of a fact about the
// conversation.
func (r Record) AppendJSON(b []byte) []byte {
	b = append(b, `{"conversation":`...)
	b = AppendString(b, string(r.Conversation))
	b = append(b, `,"seq":`...)
	b = strconv.AppendInt(b, r.Seq, 10)
	b = append(b, `,"at":"`...)
	b = r.At.UTC().AppendFormat(b, nativeTime)
	b = append(b, `","event":`...)
	b = AppendString(b, string(r.Kind))
	// An unknown payload may begin with a member of this name; the empty id
	// before it keeps it in the payload when the line is read again.
	if r.Run != "" || r.Message != "" || bytes.HasPrefix(r.Body, []byte(`{"run_id":`)) {
		b = append(b, `,"run_id":`...)
		b = AppendString(b, string(r.Run))
		b = append(b, `,"msg_id":`...)
		b = AppendString(b, string(r.Message))
	}
	if len(r.Body) <= len(`{}`) {
		return append(b, '}')
	}
	b = append(b, ',')
	return append(b, r.Body[1:]...)
}

// ParseRecord reads what AppendJSON wrote and gives the same record back, its
// payload byte for byte. Anything else, also the same members in another order,
// is ErrRecord.
func ParseRecord(line []byte) (Record, error) {
	if !utf8.Valid(line) || !json.Valid(line) {
		return Record{}, ErrRecord
	}
	var r Record
	p := nativeParser{rest: line}
	p.take(`{"conversation":`)
	r.Conversation = id.Conversation(p.text())
	p.take(`,"seq":`)
	r.Seq = p.number()
	p.take(`,"at":`)
	r.At = p.time()
	p.take(`,"event":`)
	r.Kind = Kind(p.text())
	if bytes.HasPrefix(p.rest, []byte(`,"run_id":`)) {
		p.take(`,"run_id":`)
		r.Run = id.Run(p.text())
		p.take(`,"msg_id":`)
		r.Message = id.Message(p.text())
	}
	r.Body = p.body()
	if p.bad {
		return Record{}, ErrRecord
	}
	return r, nil
}

// MarshalJSON gives the native form.
func (r Record) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// UnmarshalJSON reads the native form, as ParseRecord does.
func (r *Record) UnmarshalJSON(b []byte) error {
	parsed, err := ParseRecord(b)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	*r = parsed
	return nil
}

// nativeParser reads a line whose JSON is known to be valid. Once bad it stays
// bad and yields zero values.
type nativeParser struct {
	rest []byte
	bad  bool
}

func (p *nativeParser) take(literal string) {
	rest, ok := bytes.CutPrefix(p.rest, []byte(literal))
	p.rest = rest
	p.bad = p.bad || !ok
}

func (p *nativeParser) text() string {
	n := stringEnd(p.rest)
	var s string
	if p.bad || n == 0 || json.Unmarshal(p.rest[:n], &s) != nil {
		p.bad = true
		return ""
	}
	p.rest = p.rest[n:]
	return s
}

func (p *nativeParser) number() int64 {
	n := 0
	for n < len(p.rest) && '0' <= p.rest[n] && p.rest[n] <= '9' {
		n++
	}
	v, err := strconv.ParseInt(string(p.rest[:n]), 10, 64)
	p.bad = p.bad || err != nil || n > 1 && p.rest[0] == '0'
	p.rest = p.rest[n:]
	return v
}

func (p *nativeParser) time() time.Time {
	t, err := time.Parse(nativeTime, p.text())
	p.bad = p.bad || err != nil
	return t
}

func (p *nativeParser) body() json.RawMessage {
	if string(p.rest) == "}" {
		return json.RawMessage(`{}`)
	}
	if len(p.rest) == 0 || p.rest[0] != ',' {
		p.bad = true
		return nil
	}
	return append(json.RawMessage{'{'}, p.rest[1:]...)
}

// stringEnd returns the length of the JSON string that b begins with, quotes
// included; 0 when it begins with none.
func stringEnd(b []byte) int {
	if len(b) == 0 || b[0] != '"' {
		return 0
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}
