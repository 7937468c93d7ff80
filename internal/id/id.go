// Package id holds the distinct string types that name things, the cursor that
// names a place in a conversation, and the one source that mints them. It
// promises that an id once minted is never minted again; it does not promise
// any order among ids.
package id

import (
	"crypto/rand"
	"fmt"
	"strings"
)

// Conversation names a conversation. It is unique in a database; clients may
// choose it (see Valid), so it may come back after a deletion.
type Conversation string

// Run names one attempt to answer a turn. It is unique in a database, also
// across conversations; clients may choose it (see Valid).
type Run string

// Message names a user message, or the assistant message that the runs of one
// turn are versions of. Minted here; unique in a database.
type Message string

// Segment names unbroken text or reasoning. It is unique within its run.
type Segment string

// Call names one tool call from draft to result. Minted here; unique in a
// conversation, whatever id the provider uses.
type Call string

// Approval names one request for a decision. Minted here; unique in a database.
type Approval string

// Epoch names one life of a database: minted when it is created or restored
// from a backup, kept across restarts. Letters and digits only, so that it can
// stand before the dash of a Cursor.
type Epoch string

// MaxBytes is the longest id that a client may choose.
const MaxBytes = 64

// Valid reports whether a client may choose s as the id of a conversation or a
// run: 1 to MaxBytes of letters, digits, dot, underscore and dash.
func Valid(s string) bool {
	if s == "" || len(s) > MaxBytes {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !isAlphanumeric(c) && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// Mint makes ids. The zero value uses the operating system's randomness; tests
// set Text to make ids that repeat from run to run. Safe for concurrent use if
// Text is.
type Mint struct {
	// Text returns a new unguessable string of at least 26 letters and
	// digits (130 bits); nil means crypto/rand.Text.
	Text func() string
}

func (m Mint) text() string {
	if m.Text == nil {
		return strings.ToLower(rand.Text())
	}
	return m.Text()
}

// Conversation mints a conversation id.
func (m Mint) Conversation() Conversation { return Conversation("c_" + m.text()) }

// Run mints a run id.
func (m Mint) Run() Run { return Run("r_" + m.text()) }

// Post mints the id of a post on a chat platform.
func (m Mint) Post() string { return "p_" + m.text() }

// Message mints a message id.
func (m Mint) Message() Message { return Message("m_" + m.text()) }

// Call mints a call id.
func (m Mint) Call() Call { return Call("call_" + m.text()) }

// Approval mints an approval id. It is unguessable: knowing it is not enough to
// decide, but nobody meets it by trying.
func (m Mint) Approval() Approval { return Approval("a_" + m.text()) }

// Epoch mints an epoch. Ten characters (50 bits) keep cursors short; epochs
// only need to differ among the lives of one database.
func (m Mint) Epoch() Epoch {
	t := m.text()
	return Epoch(t[:min(len(t), 10)])
}

// SegmentOf returns the id of the n-th segment of a run; n counts from 1.
func SegmentOf(n int) Segment { return Segment(fmt.Sprintf("s%d", n)) }
