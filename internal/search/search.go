// Package search is what finding a word in a text means: how a text is cut into
// words, how words are folded, what a query asks for, what a hit looks like. It
// is pure; where texts and the index are kept is the store's.
//
// Guarantee: a document that a query matches has all the keys of the query, so
// an index of keys misses none (but see MaxKeys); whether it really matches is judged by its text.
// Ranges are byte offsets into the text as it was given, between characters.
// Not promised: any knowledge of a language, such as its endings.
package search

import (
	"time"

	"verbatim/internal/id"
)

// Role says what a found text is.
type Role int

// The roles. Their numbers are stored.
const (
	RoleQuestion Role = iota
	RoleAnswer
	RoleOutput
)

// String returns "question", "answer" or "output".
func (r Role) String() string {
	switch r {
	case RoleQuestion:
		return "question"
	case RoleAnswer:
		return "answer"
	case RoleOutput:
		return "output"
	}
	return "unknown"
}

// Bounds of a search.
const (
	// DefaultHits is how many hits a request gets that names no limit,
	// MaxHits the most that one gets.
	DefaultHits = 20
	MaxHits     = 100
	// RankedWindow is how many of the newest matching texts are ranked.
	RankedWindow = 1000
)

// Request asks for texts. The zero value of each field means no restriction.
type Request struct {
	// Text is what a person typed; see Parse.
	Text string
	// Limit is the most hits that are wanted; below 1 means DefaultHits, and
	// no more than MaxHits are given.
	Limit int
	// Ranked gives the best of the newest RankedWindow matches, best first,
	// and no Next; otherwise the newest come first.
	Ranked bool
	// Tools includes the output of tools.
	Tools bool
	// Conversation and Project restrict where it is looked; the empty project
	// is that of conversations without one.
	Conversation id.Conversation
	Project      *string
	// Before goes on behind an earlier answer: its Next.
	Before int64
}

// Bounded returns the limit of hits that holds for the request.
func (r Request) Bounded() int {
	if r.Limit < 1 {
		return DefaultHits
	}
	return min(r.Limit, MaxHits)
}

// Page is an answer.
type Page struct {
	Hits []Hit
	// Next is the Before of the request that goes on, 0 when there is nothing
	// more. A page with fewer hits than were asked for can have one: looking
	// stops after a bounded number of texts.
	Next int64
}

// Hit is a text that was found.
type Hit struct {
	Conversation id.Conversation
	Title        string
	// Message is the user message for a question, else the assistant message
	// of the run.
	Message id.Message
	// Run is empty for a question; Call is set for an output.
	Run  id.Run
	Call id.Call
	Role Role
	// Seq is the record that completed the text, Turn that of the question of
	// its turn.
	Seq, Turn int64
	At        time.Time
	// Snippet is a piece of the text around what was found.
	Snippet Snippet
	// Ranges are where the words are in the whole text: the question as it was
	// sent, the run's visible segments joined by a blank line, or the output.
	Ranges []Range
}

// Range is a part of a text, in bytes: from Start up to End.
type Range struct {
	Start int `json:"start"`
	End   int `json:"end"`
}
