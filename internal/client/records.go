package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// ErrReset means that the server's log is no longer the one that the records
// yielded so far are of, as after a restore: they say nothing about the run
// there. Begin again.
var ErrReset = errors.New("the server has another log than before; what came so far does not count, ask for the run again")

// Records yields the records of a run in native form: what the queue says of it,
// where it waited, its question, where it has one of its own, then all that the
// run wrote, to the terminal, or to the fact that took it out of the queue. Each
// record comes once, in the order of the log, across dropped connections; it
// tries again like Chat. It yields ErrReset when the log is another one after a
// reconnect, and a *Refused when there is no such run. Ending the loop early
// leaves the run alone.
func (c *Client) Records(ctx context.Context, run string) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		r := records{run: id.Run(run), yield: yield}
		f := &follower{take: r.take, answered: r.answered}
		f.open = func(ctx context.Context, last string) (*http.Response, error) {
			return c.do(ctx, http.MethodGet, "/api/v1/runs/"+run+"/events", nil, last)
		}
		if err := f.follow(ctx); err != nil && !errors.Is(err, errLoopEnded) {
			yield(event.Record{}, err)
		}
	}
}

// records keeps what was yielded from being yielded again.
type records struct {
	run   id.Run
	yield func(event.Record, error) bool
	last  id.Cursor
}

// answered meets a log that does not know our place.
func (r *records) answered(resp *http.Response) error {
	if r.last.Seq > 0 && resp.Header.Get("Verbatim-Reset") == "true" {
		return ErrReset
	}
	return nil
}

func (r *records) take(e Event) (fresh bool, err error) {
	at, err := id.ParseCursor(e.ID)
	if err != nil {
		return false, fmt.Errorf("event %q of the server: %w", e.ID, err)
	}
	if r.last.Seq > 0 && at.Epoch != r.last.Epoch {
		return false, ErrReset
	}
	// Something between us and the server may have lost the place we asked
	// for.
	if at.Seq <= r.last.Seq {
		return false, nil
	}
	record, err := event.ParseRecord(e.Data)
	if err != nil {
		return false, fmt.Errorf("event %s of the server: %w", e.ID, err)
	}
	r.last = at
	if !r.yield(record, nil) || r.drops(record) {
		return true, errLoopEnded
	}
	return true, nil
}

// drops reports whether a record takes the run out of the queue: there is no
// more of it then, and no terminal.
func (r *records) drops(record event.Record) bool {
	if record.Kind != (event.Queue{}).Kind() {
		return false
	}
	ev, err := record.Event()
	if err != nil {
		return false
	}
	fact, ok := ev.(event.Queue)
	return ok && fact.Run == r.run && fact.Op == event.QueueRemove
}
