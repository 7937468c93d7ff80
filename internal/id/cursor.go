package id

import (
	"errors"
	"strconv"
	"strings"
)

// Cursor is a place in a conversation: everything up to and including Seq of
// this epoch has been seen. Seq counts records from 1 without gaps; 0 is before
// the first. A cursor of another epoch says nothing about this one.
type Cursor struct {
	Epoch Epoch
	Seq   int64
}

// ErrCursor is returned for text that is no cursor.
var ErrCursor = errors.New("not a cursor: want <epoch>-<seq>")

// String writes the cursor as it stands on the wire: <epoch>-<seq>.
func (c Cursor) String() string { return string(c.Append(nil)) }

// Append appends the cursor's wire form to b.
func (c Cursor) Append(b []byte) []byte {
	b = append(b, c.Epoch...)
	b = append(b, '-')
	return strconv.AppendInt(b, c.Seq, 10)
}

// ParseCursor reads what String wrote: 1 to 32 letters and digits, a dash, and
// a decimal number without sign or leading zeros. Anything else is ErrCursor.
func ParseCursor(s string) (Cursor, error) {
	epoch, digits, ok := strings.Cut(s, "-")
	if !ok || epoch == "" || len(epoch) > 32 || digits == "" || len(digits) > 19 {
		return Cursor{}, ErrCursor
	}
	for i := range len(epoch) {
		if !isAlphanumeric(epoch[i]) {
			return Cursor{}, ErrCursor
		}
	}
	if digits[0] < '0' || digits[0] > '9' || (digits[0] == '0' && len(digits) > 1) {
		return Cursor{}, ErrCursor
	}
	seq, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return Cursor{}, ErrCursor
	}
	return Cursor{Epoch: Epoch(epoch), Seq: seq}, nil
}
