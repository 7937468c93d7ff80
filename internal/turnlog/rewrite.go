package turnlog

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// Erase puts tombstones in the place of records (see Erasure), in order with
// what was posted before and after, and returns the blobs that nothing refers to
// any more. When it returns, the erasure is durable and no reader gets the text
// from here; the files of the store are rid of it too unless a copy of them was
// being made (see DESIGN.md). Erasing twice, or what is not there, changes
// nothing. ctx is looked at before it begins, as by Append.
//
// No watcher is woken: there is no new record. Whoever holds records that it has
// read keeps what it holds.
func (l *Log) Erase(ctx context.Context, c id.Conversation, e Erasure) ([]string, error) {
	var blobs []string
	err := l.do(ctx, c, func() (err error) {
		blobs, err = l.store.Erase(context.Background(), c, e)
		l.tails.forget(c)
		return err
	})
	return blobs, err
}

// Import writes a conversation's first records as they are, in one unit: seqs
// from 1 without gaps, times of whole milliseconds that never go back, bodies
// kept byte for byte. It is durable when it returns, and watchers are woken.
// Conversation is set on each record; the slice itself is not changed. Import of
// no records does nothing.
//
// Errors: ErrInvalid for a record that the log may not hold; ErrExists when the
// conversation has records; ErrRunUsed when a run id is taken; those of Append
// otherwise. On an error nothing was written.
func (l *Log) Import(ctx context.Context, c id.Conversation, records []event.Record) error {
	if len(records) == 0 {
		return ctx.Err()
	}
	g := Group{Conversation: c, Records: make([]event.Record, len(records))}
	for i, r := range records {
		r.Conversation = c
		if err := checkImport(r, i, records); err != nil {
			return fmt.Errorf("import %s, record %d: %w", c, i+1, err)
		}
		g.Records[i] = r
	}
	return l.do(ctx, c, func() error {
		if err := l.store.Import(context.Background(), g); err != nil {
			return err
		}
		p := &place{}
		p.take(g.Records)
		l.writer.keep(c, p)
		l.watches.wake(c)
		return nil
	})
}

// do hands an action to the writer and waits for it.
func (l *Log) do(ctx context.Context, c id.Conversation, action func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c == "" {
		return fmt.Errorf("%w: no conversation", ErrInvalid)
	}
	ended := make(chan error, 1)
	l.hand(&unit{conversation: c, action: action, done: func(_ []event.Record, err error) { ended <- err }})
	return <-ended
}

func checkImport(r event.Record, i int, all []event.Record) error {
	switch {
	case r.Conversation == "":
		return fmt.Errorf("%w: no conversation", ErrInvalid)
	case r.Seq != int64(i)+1:
		return fmt.Errorf("%w: its seq is %d", ErrInvalid, r.Seq)
	case !r.At.Equal(time.UnixMilli(r.At.UnixMilli())):
		return fmt.Errorf("%w: its time is not of whole milliseconds", ErrInvalid)
	case i > 0 && r.At.Before(all[i-1].At):
		return fmt.Errorf("%w: its time is before that of the record before", ErrInvalid)
	case len(r.Body) < 2 || r.Body[0] != '{' || r.Body[len(r.Body)-1] != '}' || !json.Valid(r.Body) || !utf8.Valid(r.Body):
		return fmt.Errorf("%w: its body is no JSON object", ErrInvalid)
	}
	// Not r.Event: what is checked is what will be stored.
	e, err := event.Decode(r.Kind, r.Body)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if r.Kind == "" || e.Kind() != r.Kind {
		return fmt.Errorf("%w: its kind is %q", ErrInvalid, r.Kind)
	}
	if _, ok := e.(event.Erased); ok {
		return checkNames(Draft{Run: r.Run, Message: r.Message}, r.Kind)
	}
	return check(Draft{Run: r.Run, Message: r.Message, Event: e})
}
