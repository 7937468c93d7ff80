package client

import (
	"context"
	"errors"
	"iter"
	"net/http"
)

// Prompt is a message to a conversation.
type Prompt struct {
	Text string `json:"prompt"`
	// Conversation is its id; empty means the server's default one.
	Conversation string `json:"chat_id,omitempty"`
	// Run is the id of the run that the message starts. It is required:
	// with it a dropped connection attaches to the same run again.
	Run string `json:"run_id"`
	// Tools, if false, lets the model call none; nil leaves it free.
	Tools *bool `json:"tools,omitempty"`
}

// Event is one event of a run.
type Event struct {
	// Name is one of the compatible layer's events, or the kind of a record.
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

// Chat sends a message and yields the events of its run up to the terminal. In a
// busy conversation the message waits for its turn, and Chat with it; when it is
// taken out of the queue instead, the run's only event is cancelled. When the connection drops it attaches again where it stopped; when the server
// stays away for half a minute it yields an error, and so it does when the
// server refuses. Ending the loop early leaves the run alone.
func (c *Client) Chat(ctx context.Context, p Prompt) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := &follower{take: func(e Event) (bool, error) {
			if !yield(e, nil) {
				return true, errLoopEnded
			}
			return true, nil
		}}
		f.open = func(ctx context.Context, last string) (*http.Response, error) {
			return c.do(ctx, http.MethodPost, "/chat", p, last)
		}
		if err := f.follow(ctx); err != nil && !errors.Is(err, errLoopEnded) {
			yield(Event{}, err)
		}
	}
}

// Send sends a message and returns once its run has begun, is known to have begun
// before, or will never begin because the message was taken out of the queue; the
// run goes on by itself. It tries again like Chat.
func (c *Client) Send(ctx context.Context, p Prompt) error {
	for _, err := range c.Chat(ctx, p) {
		return err
	}
	return nil
}
