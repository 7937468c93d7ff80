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

// Draft is an event before it has a place in the log.
type Draft struct {
	// Run and Message are set for events of a run, empty for facts about
	// the conversation.
	Run     id.Run
	Message id.Message
	Event   event.Event
}

// Append commits events of one conversation as one unit and returns them as
// stored: seqs grow by exactly 1, times never go back. On an error nothing of
// the unit was written (but see DESIGN.md on a sync that fails). ctx is looked
// at before the events are handed over, not after: from then on Append waits
// for the outcome, because its caller must know it. Append of no events
// returns none.
//
// Errors: ErrInvalid for an event that must not be stored; ErrFull, ErrFenced
// and ErrClosed as named; those of the store. See Post for what an error means
// for later events of the same run.
func (l *Log) Append(ctx context.Context, c id.Conversation, drafts ...Draft) ([]event.Record, error) {
	if err := ctx.Err(); err != nil || len(drafts) == 0 {
		return nil, err
	}
	type result struct {
		records []event.Record
		err     error
	}
	ended := make(chan result, 1)
	u := newUnit(c, drafts, func(r []event.Record, err error) { ended <- result{r, err} })
	u.waits = true
	l.hand(u)
	r := <-ended
	return r.records, r.err
}

// Post hands events over as one unit and returns at once. Units of one
// conversation are committed in the order they were posted. done is called
// exactly once, with the records or the error: from the writer, or, once the
// log is closed, from Post itself. It must not block, and must not call
// Append; nil is allowed. The queue has no bound of its own: whoever posts
// bounds what is in flight.
//
// A stream must not have a hole: after a unit of a run has failed, every later
// Post of that run fails with the same error, until an Append of the run that
// was called after the failure was reported. Its caller closes the run, having
// waited for all that it had posted.
func (l *Log) Post(c id.Conversation, drafts []Draft, done func([]event.Record, error)) {
	if done == nil {
		done = func([]event.Record, error) {}
	}
	l.hand(newUnit(c, drafts, done))
}

// After returns the records of a conversation that follow a seq, in order;
// none when there are none yet. It never waits for any to come. The records
// are shared: nobody changes them.
func (l *Log) After(ctx context.Context, c id.Conversation, after int64, limit Limit) ([]event.Record, error) {
	if records, ok := l.tails.after(c, after, limit.Bounded()); ok {
		return records, nil
	}
	return l.store.Read(ctx, c, after, limit, false)
}

// Facts is After for structural records only (see event.Spec): enough to
// rebuild rows, versions and states without the text.
func (l *Log) Facts(ctx context.Context, c id.Conversation, after int64, limit Limit) ([]event.Record, error) {
	return l.store.Read(ctx, c, after, limit, true)
}

// Head returns the seq of a conversation's last record, 0 for none.
func (l *Log) Head(ctx context.Context, c id.Conversation) (int64, error) {
	if head, ok := l.tails.head(c); ok {
		return head, nil
	}
	return l.store.Head(ctx, c)
}

// Epoch is the life of the database that cursors name.
func (l *Log) Epoch() id.Epoch { return l.store.Epoch() }

// Run looks a run up by its id; ErrNoRun when none was started under it.
func (l *Log) Run(ctx context.Context, r id.Run) (RunInfo, error) { return l.store.Run(ctx, r) }

// Unfinished returns the runs without a terminal, oldest first.
func (l *Log) Unfinished(ctx context.Context) ([]RunInfo, error) { return l.store.Unfinished(ctx) }

// Queued returns the runs whose message waits for its turn, oldest first.
func (l *Log) Queued(ctx context.Context) ([]RunInfo, error) { return l.store.Queued(ctx) }

// Approval looks a request for approval up; ErrNoApproval when there is none.
func (l *Log) Approval(ctx context.Context, a id.Approval) (ApprovalInfo, error) {
	return l.store.Approval(ctx, a)
}

// Conversations returns those that have rows and fit the query, newest first.
func (l *Log) Conversations(ctx context.Context, q Query) ([]ConversationInfo, error) {
	return l.store.Conversations(ctx, q)
}

// Doomed returns what was deleted, is not restored and is not erased yet.
func (l *Log) Doomed(ctx context.Context) ([]Doomed, error) { return l.store.Doomed(ctx) }

// HasRoom reports whether new runs may begin. After ErrFull it is false until
// the disk has space again.
func (l *Log) HasRoom() bool { return l.store.HasRoom() }
