package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"
)

// Prompt is a message to a conversation.
type Prompt struct {
	Text string `json:"prompt"`
	// Conversation is its id; empty means the server's default one.
	Conversation string `json:"chat_id,omitempty"`
	// Run is the id of the run that the message starts. It is required:
	// with it a dropped connection attaches to the same run again.
	Run string `json:"run_id"`
}

// Event is one event of a run.
type Event struct {
	// Name is one of the compatible layer's events.
	Name string
	// ID is its cursor.
	ID string
	// Data is its payload, a JSON object.
	Data []byte
}

// Terminal reports whether it ends its run.
func (e Event) Terminal() bool {
	return e.Name == "end" || e.Name == "cancelled" || e.Name == "error"
}

// Reconnecting after a drop: patience is how long the server may stay away.
const (
	patience = 30 * time.Second
	firstGap = 200 * time.Millisecond
	mostGap  = 3 * time.Second
)

// Chat sends a message and yields the events of its run up to the terminal.
// When the connection drops it attaches again where it stopped; when the server
// stays away for half a minute it yields an error, and so it does when the
// server refuses. Ending the loop early leaves the run alone.
func (c *Client) Chat(ctx context.Context, p Prompt) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := &follower{client: c, prompt: p, yield: yield}
		err := s.follow(ctx)
		if err != nil && !errors.Is(err, errLoopEnded) {
			yield(Event{}, err)
		}
	}
}

var (
	errLoopEnded = errors.New("the caller has seen enough")
	errDropped   = errors.New("the connection dropped")
)

type follower struct {
	client *Client
	prompt Prompt
	yield  func(Event, error) bool
	last   string // cursor of the last event yielded
}

func (f *follower) follow(ctx context.Context) error {
	gap, gone := firstGap, time.Time{}
	for {
		before := f.last
		err := f.attach(ctx)
		if !errors.Is(err, errDropped) {
			return err
		}
		if f.last != before || gone.IsZero() {
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
	resp, err := f.client.do(ctx, http.MethodPost, "/chat", f.prompt, f.last)
	if err != nil {
		return dropped(ctx, err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return f.read(ctx, newReader(resp.Body))
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

func (f *follower) read(ctx context.Context, r *reader) error {
	for {
		e, err := r.next()
		if err != nil {
			return dropped(ctx, err)
		}
		f.last = e.ID
		if !f.yield(e, nil) {
			return errLoopEnded
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
