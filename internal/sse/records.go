package sse

import (
	"context"
	"fmt"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// framing appends the frame of a record to b, or nothing, and reports whether
// the stream is over with it.
type framing func(ctx context.Context, b []byte, r event.Record) (out []byte, over bool, err error)

// records is a cursor over a conversation that frames each record by itself.
type records struct {
	srv *Server
	// run is what the stream is about; of one about a whole conversation it
	// has only that.
	run   turnlog.RunInfo
	frame framing
	// after is the last record that was read, last the one with which the
	// stream is over at the latest, 0 for none.
	after, last int64
	over        bool
	out         []byte
}

// next frames the records that follow, of which none may have a frame. The
// bytes stay valid until the next call.
func (c *records) next(ctx context.Context) ([]byte, next, error) {
	if c.over {
		return nil, ended, nil
	}
	limit := turnlog.Limit{Records: catchUpRecords, Bytes: catchUpBytes}
	found, err := c.srv.log.After(ctx, c.run.Conversation, c.after, limit)
	if err != nil {
		return nil, more, err
	}
	if len(found) == 0 {
		return c.atHead()
	}
	c.out = c.out[:0]
	for _, r := range found {
		if c.out, c.over, err = c.frame(ctx, c.out, r); err != nil {
			return nil, more, err
		}
		c.after = r.Seq
		// A tombstone may stand where the end was.
		if c.over = c.over || c.after == c.last; c.over {
			break
		}
	}
	return c.out, more, nil
}

// atHead says what it means that nothing follows, and lets go of the room that
// a long read took: a follower may wait here for long.
func (c *records) atHead() ([]byte, next, error) {
	if c.last > 0 {
		return nil, more, fmt.Errorf("read %s: the log ends at record %d before %d", c.run.Conversation, c.after, c.last)
	}
	if cap(c.out) > writeBytes {
		c.out = nil
	}
	return nil, waiting, nil
}

// copyRecords writes all that in has and what comes, to its end. When the
// server stops it ends with what is in the log.
func (o bodyWriter) copyRecords(ctx context.Context, in *records) error {
	watcher := o.srv.log.Watch(in.run.Conversation)
	defer watcher.Close()
	timer := time.NewTimer(o.srv.keepAlive)
	defer timer.Stop()
	stopped := false
	for b := []byte(Head); ; {
		if len(b) > 0 {
			if err := o.write(b); err != nil {
				return err
			}
			timer.Reset(o.srv.keepAlive)
		}
		var found next
		var err error
		b, found, err = in.next(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			o.srv.logRead(in.run, err)
			return nil
		case found == more:
			continue
		case found == ended || stopped:
			return nil
		}
		select {
		case <-watcher.C:
		case <-timer.C:
			b = []byte(KeepAlive)
		case <-o.srv.stopping:
			stopped = true
		case <-ctx.Done():
		}
	}
}

// nativeFrames frames every record in native form.
func nativeFrames(epoch id.Epoch) framing {
	return func(_ context.Context, b []byte, r event.Record) ([]byte, bool, error) {
		b, err := appendNative(b, epoch, r)
		return b, false, err
	}
}
