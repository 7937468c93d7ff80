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
	// all who waited for it have been told; mostly it does nothing. When it
	// reports that there is more to do, it comes again as soon as nobody waits
	// for a commit.
	Upkeep(ctx context.Context) (more bool, err error)

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
	// Queued returns the runs whose message waits, in the order in which
	// they came: neither started nor dropped.
	Queued(ctx context.Context) ([]RunInfo, error)
	// Approval looks a request for approval up; ErrNoApproval when there is
	// none.
	Approval(ctx context.Context, a id.Approval) (ApprovalInfo, error)
	// Conversations returns those that have rows and fit the query, newest
	// first.
	Conversations(ctx context.Context, q Query) ([]ConversationInfo, error)
	// Doomed returns what was deleted, is not restored and is not erased
	// yet, oldest first.
	Doomed(ctx context.Context) ([]Doomed, error)

	// Erase puts tombstones (event.Erased) in the place of records, in one
	// durable transaction, and takes their text out of every index and page.
	// Seq, time, run and message of a record stay; one that is a tombstone
	// already is left alone. It returns the blobs that nothing refers to any
	// more. Like Commit it is only called by Log, from its one goroutine.
	Erase(ctx context.Context, c id.Conversation, e Erasure) (blobs []string, err error)
	// Import writes a conversation's first records as they are, with their
	// times: seqs from 1 without gaps, run ids that were never used.
	// ErrExists when the conversation has records, ErrRunUsed when a run id
	// is taken, errors of Commit otherwise. Like Commit it is only called by Log, from its one
	// goroutine.
	Import(ctx context.Context, g Group) error

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
	// First is 0 while its message waits in the queue or when that was
	// dropped, Last while it has no terminal.
	First, Last int64
	// Queued is the seq of the fact that put its message into the queue, 0
	// for a run that never waited; Dropped that of the fact that took it out
	// unsent, 0 when nothing did.
	Queued, Dropped int64
}

// ApprovalInfo is what the index knows of a request for approval.
type ApprovalInfo struct {
	Approval     id.Approval
	Conversation id.Conversation
	Run          id.Run
	// Seq is that of the request, Resolved that of its resolution, 0 while it
	// has none. Decision is what it came to, empty until then.
	Seq, Resolved int64
	Decision      event.Decision
}

// Doomed is a deletion that will be followed by an erasure.
type Doomed struct {
	Conversation id.Conversation
	// Message is the user message that was deleted, empty for the whole
	// conversation. Seq is the seq of the deletion, At its time in Unix
	// milliseconds.
	Message id.Message
	Seq     int64
	At      int64
}

// Erasure names the records of a conversation whose content goes.
type Erasure struct {
	// Seqs are single records; Runs names all records of these runs, also the
	// facts of the queue about them; Through, if not 0, names every record up
	// to that seq but conversation_deleted and conversation_restored.
	Seqs    []int64
	Runs    []id.Run
	Through int64
}

// Query says which conversations are wanted. The zero value means all.
type Query struct {
	// Limit is the most that is returned; 0, or more than MaxConversations,
	// means MaxConversations.
	Limit int
	// Before goes on after a line of an earlier answer: its Updated and Key.
	// The zero value begins at the newest.
	Before Place
	// Project and Archived, if not nil, are what a conversation must have.
	Project  *string
	Archived *bool
}

// Place is where a conversation stands in the list.
type Place struct {
	Updated int64
	Key     int64
}

// MaxConversations is the most that one query returns.
const MaxConversations = 100_000

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
	// Key and Updated are its place in the list.
	Key int64
	// Pinned, Archived and Model are as the conversation's settings say.
	Pinned, Archived bool
	Model            string
	// News is the seq of the last record that a person would call news, Read
	// how far a person has seen: it is unread while News is greater.
	News, Read int64
	// Running is the run under way, empty for none.
	Running id.Run
	// Queued counts the messages that wait.
	Queued int
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
	// ErrNoApproval means that no request for approval has this id.
	ErrNoApproval = errors.New("no such request for approval")
	// ErrExists means that the conversation has records already.
	ErrExists = errors.New("the conversation is there already")
	// ErrRunUsed means that a run of this id was started, or waits, or was
	// dropped, before. Nothing of the group was written.
	ErrRunUsed = errors.New("the run id is taken")
	// ErrClosed means that the log was closed before the events were
	// written.
	ErrClosed = errors.New("the log is closed")
)
