package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Reconnecting after a drop: patience is how long the server may stay away. A
// connection that held for longer than mostGap shows that it is there, also when
// nothing came: a message may wait in the queue, or a call for its decision, for
// longer than something between us keeps silent connections.
const (
	patience = 30 * time.Second
	firstGap = 200 * time.Millisecond
	mostGap  = 3 * time.Second
)

var (
	errLoopEnded = errors.New("the caller has seen enough")
	errDropped   = errors.New("the connection dropped")
)

// follower reads one stream over as many connections as it takes.
type follower struct {
	// open asks for the stream, for what comes after the event last unless
	// that is empty.
	open func(ctx context.Context, last string) (*http.Response, error)
	// take gets each event and says whether it is one more than before; an
	// error of it ends the stream.
	take func(Event) (fresh bool, err error)
	// answered looks at a good answer before it is read; nil for nothing to
	// look at.
	answered func(*http.Response) error

	last string // cursor of the last fresh event
	// held is how long the last connection lasted after a good answer.
	held time.Duration
}

func (f *follower) follow(ctx context.Context) error {
	gap, gone := firstGap, time.Time{}
	for {
		before := f.last
		f.held = 0
		err := f.attach(ctx)
		if !errors.Is(err, errDropped) {
			return err
		}
		if f.last != before || f.held > mostGap || gone.IsZero() {
			gap, gone = firstGap, time.Now()
		}
		if time.Since(gone) > patience {
			return fmt.Errorf("%w; the answer goes on without us and can be read in the conversation", err)
		}
		if err := pause(ctx, gap); err != nil {
			return err
		}
		gap = min(2*gap, mostGap)
	}
}

// attach follows the run over one connection. It returns nil after the
// terminal and errDropped when the rest is to be fetched.
func (f *follower) attach(ctx context.Context) error {
	resp, err := f.open(ctx, f.last)
	if err != nil {
		return dropped(ctx, err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return f.read(ctx, resp)
	case http.StatusNoContent:
		// Nothing follows the last event although no terminal was seen:
		// only a server that forgot the run can say this.
		return errors.New("the server has nothing more of this run")
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return errors.Join(errDropped, refusal(resp))
	default:
		return refusal(resp)
	}
}

func (f *follower) read(ctx context.Context, resp *http.Response) error {
	if f.answered != nil {
		if err := f.answered(resp); err != nil {
			return err
		}
	}
	answered := time.Now()
	defer func() { f.held = time.Since(answered) }()
	r := newReader(resp.Body)
	for {
		e, err := r.next()
		if err != nil {
			return dropped(ctx, err)
		}
		fresh, err := f.take(e)
		if err != nil {
			return err
		}
		if fresh {
			f.last = e.ID
		}
		if e.Terminal() {
			return nil
		}
	}
}

func dropped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", errDropped, err)
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
