package turnlog

import (
	"context"
	"errors"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// Store is the database under a Log. Only Log calls Commit and Upkeep, from one
// goroutine; the rest is called by many at once, also during a commit.
type Store interface {
	// Epoch is the life of the database, Start the number of this opening:
	// one more than any opening before.
	Epoch() id.Epoch
	Start() int64

	// Commit writes groups of records, each group one conversation's, in
	// one durable transaction, and keeps the indexes below in step. When a
	// group can't be written the others still are: the result has an error
	// for each group, nil for one that is durable. A group is written whole
	// or not at all. ErrFenced for all of them when a later opening has
	// begun; ErrFull when the disk is.
	Commit(ctx context.Context, groups []Group) []error
	// Upkeep is the time for what is due now and then, such as moving a
	// write-ahead log into the database. It comes after each commit, when
	// all who waited for it have been told; mostly it does nothing.
	Upkeep(ctx context.Context) error

	// Head returns the seq of a conversation's last record, 0 for none.
	Head(ctx context.Context, c id.Conversation) (int64, error)
	// Read returns the records after a seq in order, at most as many as
	// Limit says and at least one if there is any. When facts is set it
	// returns structural records only (see event.Spec).
	Read(ctx context.Context, c id.Conversation, after int64, limit Limit, facts bool) ([]event.Record, error)
	// Run looks a run up by its id; ErrNoRun when there is none.
	Run(ctx context.Context, r id.Run) (RunInfo, error)
	// Unfinished returns the runs without a terminal, oldest first.
	Unfinished(ctx context.Context) ([]RunInfo, error)
	// Conversations returns those that have rows, newest first, at most
	// limit of them.
	Conversations(ctx context.Context, limit int) ([]ConversationInfo, error)

	// MakeRoom frees the ballast after ErrFull, so that runs can still be
	// closed, and reports whether there was any to free.
	MakeRoom() bool
	// HasRoom reports whether new runs may begin: the disk has space for
	// the ballast again, or never ran out.
	HasRoom() bool

	Close() error
}

// Group is one conversation's part of a commit: records with consecutive seqs
// that follow the conversation's head.
type Group struct {
	Conversation id.Conversation
	Records      []event.Record
}

// Limit bounds a read. The zero value means the most that is allowed.
type Limit struct {
	// Records and Bytes (of bodies) are at most MaxReadRecords and
	// MaxReadBytes. A first record that is larger is returned alone.
	Records int
	Bytes   int
}

// Bounded returns the limit with every bound that is 0, negative or too large
// set to the most that is allowed.
func (l Limit) Bounded() Limit {
	if l.Records < 1 || l.Records > MaxReadRecords {
		l.Records = MaxReadRecords
	}
	if l.Bytes < 1 || l.Bytes > MaxReadBytes {
		l.Bytes = MaxReadBytes
	}
	return l
}

// The most that one read returns.
const (
	MaxReadRecords = 1000
	MaxReadBytes   = 1 << 20
)

// RunInfo is what the index knows of a run.
type RunInfo struct {
	Run          id.Run
	Conversation id.Conversation
	Message      id.Message
	// Request is the hash of the request that made it.
	Request string
	// First and Last are the seqs of its first start and its terminal;
	// Last is 0 while it has none.
	First, Last int64
}

// ConversationInfo is a line of the conversation list.
type ConversationInfo struct {
	Conversation id.Conversation
	Title        string
	Project      string
	// Updated is the time of the last record that a person would call
	// news, in Unix milliseconds.
	Updated int64
	// Rows counts questions and answers, as GET /chats/{id} lists them.
	Rows int
}

// What callers branch on.
var (
	// ErrFenced means that a later start of the process owns the log: this
	// one can write nothing any more.
	ErrFenced = errors.New("a later start of the process owns this data directory")
	// ErrFull means that the disk is full. Nothing was written.
	ErrFull = errors.New("the disk is full")
	// ErrNoRun means that no run has this id.
	ErrNoRun = errors.New("no such run")
	// ErrClosed means that the log was closed before the events were
	// written.
	ErrClosed = errors.New("the log is closed")
)
