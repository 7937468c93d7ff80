package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"unicode/utf8"
)

// smallBodyBytes bounds the bodies that hold no text of a person.
const smallBodyBytes = 1 << 20

// limitBody gives a body BodyTime to arrive, from when its route wants it. It
// ends with the body: net/http lifts it when that has been read, so the answer
// may take as long as it likes.
func limitBody(w *reply, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	setReadDeadline(w, BodyTime)
}

// readBody reads a whole body of at most limit bytes.
func readBody(w *reply, e *entry, limit int64) ([]byte, error) {
	b, err := io.ReadAll(http.MaxBytesReader(w.ResponseWriter, e.Body, limit))
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return b, nil
	case errors.As(err, &large):
		return nil, problem(TooLarge, fmt.Sprintf("The body is larger than %d MiB; send less at once.", limit>>20))
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, problem(Invalid, "The body did not arrive within a minute.")
	}
	return nil, problem(Invalid, "The body did not arrive whole.")
}

// object is a JSON object whose members have not been read yet. A member that
// is null counts as absent.
type object map[string]json.RawMessage

// readObject reads a body that is one JSON object. It is strict where leniency
// would change text or hide a member: bytes that are not UTF-8, half surrogate
// pairs, a member twice, anything after the object.
func readObject(w *reply, e *entry, limit int64) (object, error) {
	b, err := readBody(w, e, limit)
	if err != nil {
		return nil, err
	}
	return parseObject(b)
}

func parseObject(b []byte) (object, error) {
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, problem(Invalid, "The body is empty; it must be a JSON object.")
	}
	if !utf8.Valid(b) {
		return nil, problem(Invalid, "The body is not valid UTF-8.")
	}
	if !json.Valid(b) {
		return nil, problem(Invalid, "The body is not valid JSON.")
	}
	if halfSurrogate(b) {
		return nil, problem(Invalid, "The body holds half of a surrogate pair, which is no character.")
	}
	return members(b)
}

// members reads a valid JSON text, member by member, so that one that is there
// twice is seen.
func members(b []byte) (object, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, problem(Invalid, "The body must be a JSON object.")
	}
	o := object{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, problem(Invalid, "The body is not valid JSON.")
		}
		name, _ := t.(string)
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, problem(Invalid, "The body is not valid JSON.")
		}
		if _, twice := o[name]; twice {
			return nil, problem(Invalid, fmt.Sprintf("The member %.40q is there twice.", name))
		}
		o[name] = raw
	}
	return o, nil
}

// halfSurrogate reports an escape that is half of a surrogate pair: decoders
// replace it, and the text would not be what was sent. b is valid JSON, so a
// backslash stands in a string and has something after it.
func halfSurrogate(b []byte) bool {
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		i++
		if b[i] != 'u' {
			continue
		}
		switch unit := hex4(b[i+1:]); {
		case unit >= 0xdc00 && unit < 0xe000:
			return true
		case unit >= 0xd800 && unit < 0xdc00:
			rest := b[i+5:]
			if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' {
				return true
			}
			if low := hex4(rest[2:]); low < 0xdc00 || low >= 0xe000 {
				return true
			}
			i += 6
		}
		i += 4
	}
	return false
}

func hex4(b []byte) int {
	n := 0
	for _, c := range b[:4] {
		n <<= 4
		switch {
		case c <= '9':
			n |= int(c - '0')
		default:
			n |= int(c|0x20-'a') + 10
		}
	}
	return n
}

func (o object) has(name string) bool {
	raw, ok := o[name]
	return ok && string(raw) != "null"
}

func read[T any](o object, name, want string) (v T, there bool, err error) {
	if !o.has(name) {
		return v, false, nil
	}
	if err := json.Unmarshal(o[name], &v); err != nil {
		return v, false, problem(Invalid, fmt.Sprintf("%s must be %s.", name, want))
	}
	return v, true, nil
}

func (o object) text(name string) (string, bool, error) { return read[string](o, name, "a string") }

func (o object) flag(name string) (value, there bool, err error) {
	return read[bool](o, name, "true or false")
}

func (o object) row(name string) (*int, error) {
	n, there, err := read[int](o, name, "the number of a row, from 0")
	if err == nil && n < 0 {
		err = problem(Invalid, name+" must be the number of a row, from 0.")
	}
	if err != nil || !there {
		return nil, err
	}
	return &n, nil
}

func (o object) list(name string) ([]json.RawMessage, error) {
	l, _, err := read[[]json.RawMessage](o, name, "a list")
	return l, err
}
