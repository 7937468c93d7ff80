// Package turnlog is the log: the only source of what any surface shows.
//
// Guarantee: an event that a reader sees is durable; each conversation's
// records are numbered from 1 without gaps; a reader that asks for what comes
// after its cursor misses nothing and gets nothing twice, whatever is cached.
// Not promised: any order between conversations, and a wake-up for each
// record (wake-ups carry nothing and merge).
package turnlog

import (
	"context"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// API is what a *Log offers; it is written down here so that its parts can be
// read in one place. Consumers declare the smaller interface they need.
type API interface {
	// Append commits events of one conversation as one unit and returns
	// them as stored. Seqs grow by exactly 1. On an error nothing of the
	// unit was written.
	Append(ctx context.Context, c id.Conversation, drafts ...Draft) ([]event.Record, error)
	// Post hands events over and returns at once; units of one conversation
	// are committed in the order they were posted. done is called once, from the
	// writer, after the commit or with the error; it must not block. nil
	// is allowed.
	Post(c id.Conversation, drafts []Draft, done func([]event.Record, error))

	// After returns the records that follow a seq, in order; none when there
	// are none yet. It never waits.
	After(ctx context.Context, c id.Conversation, after int64, limit Limit) ([]event.Record, error)
	// Facts is After for structural records only: enough to rebuild rows,
	// versions and states without the text.
	Facts(ctx context.Context, c id.Conversation, after int64, limit Limit) ([]event.Record, error)
	// Watch returns a wake-up for a conversation. It is signalled after
	// each commit to it, at least once for any number of commits since the
	// last receive. Watch first, then read, then wait. The caller must
	// Close it.
	Watch(c id.Conversation) *Watcher

	Head(ctx context.Context, c id.Conversation) (int64, error)
	Epoch() id.Epoch
	Run(ctx context.Context, r id.Run) (RunInfo, error)
	Unfinished(ctx context.Context) ([]RunInfo, error)
	Conversations(ctx context.Context, limit int) ([]ConversationInfo, error)
	// HasRoom reports whether new runs may begin (see Store).
	HasRoom() bool

	// Close writes what was posted, then closes the store. Later calls
	// fail with ErrClosed.
	Close() error
}

// Draft is an event before it has a place in the log.
type Draft struct {
	// Run and Message are set for events of a run, empty for facts about
	// the conversation.
	Run     id.Run
	Message id.Message
	Event   event.Event
}

// Watcher is a wake-up that carries nothing.
type Watcher struct {
	// C has room for one signal.
	C <-chan struct{}

	close func()
}

// Close ends the wake-ups. A second call does nothing.
func (w *Watcher) Close() { w.close() }
