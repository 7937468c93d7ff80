package library

import (
	"context"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
)

// Conversation is all that there is to see of one.
type Conversation struct {
	Item
	// Forked says what it is a copy of, nil for nothing.
	Forked   *Origin `json:"forked_from"`
	Queue    Queue   `json:"queue"`
	Messages []Row   `json:"messages"`
}

// Origin is where a copy was made.
type Origin struct {
	Conversation id.Conversation `json:"conversation"`
	// Message is the last message that was copied, empty where the copy
	// began before the first.
	Message id.Message `json:"message_id"`
}

// Queue is what waits in a conversation.
type Queue struct {
	// Held says that it waits for a person: see Resume of the commands.
	Held bool `json:"held"`
	// Waiting are in order. Returned were taken out unsent since the last
	// message was sent, so that their text can go back to where it was typed.
	Waiting  []Queued `json:"waiting"`
	Returned []Queued `json:"returned"`
}

// Queued is a message that waits, or did.
type Queued struct {
	Run         id.Run             `json:"run_id"`
	Text        string             `json:"text"`
	Attachments []event.Attachment `json:"attachments"`
	// RegenerateOf is the question that is to be answered again; there is no
	// text then. Nil for a message.
	RegenerateOf *id.Message `json:"regenerate_of"`
	// Seq is that of the fact that put it into the queue.
	Seq int64 `json:"seq"`
}

// NewQueue returns the queue as people see it.
func NewQueue(held bool, waiting, returned []transcript.Queued) Queue {
	return Queue{Held: held, Waiting: newQueued(waiting), Returned: newQueued(returned)}
}

func newQueued(list []transcript.Queued) []Queued {
	out := make([]Queued, 0, len(list))
	for _, q := range list {
		one := Queued{Run: q.Run, Text: q.Message.Text, Attachments: q.Message.Attachments, Seq: q.Seq}
		if one.Attachments == nil {
			one.Attachments = []event.Attachment{}
		}
		if q.RegenerateOf != "" {
			one.RegenerateOf = &q.RegenerateOf
		}
		out = append(out, one)
	}
	return out
}

// Conversation returns a conversation with all its rows, or ErrMissing. A
// running answer is as long as the log was when Conversation began: what follows
// LastSeq is not in it.
func (l *Library) Conversation(ctx context.Context, c id.Conversation) (Conversation, error) {
	state, item, err := l.look(ctx, c, l.log.After)
	if err != nil {
		return Conversation{}, err
	}
	whole := Conversation{Item: item, Queue: NewQueue(state.Held, state.Queue, state.Returned), Messages: newRows(state.Rows())}
	if f := state.Forked; f != nil {
		whole.Forked = &Origin{Conversation: f.Conversation, Message: f.Message}
	}
	return whole, nil
}

// Item returns the line of one conversation, or ErrMissing. It reads no text of
// answers.
func (l *Library) Item(ctx context.Context, c id.Conversation) (Item, error) {
	_, item, err := l.look(ctx, c, l.log.Facts)
	return item, err
}

// look folds a conversation that has rows.
func (l *Library) look(ctx context.Context, c id.Conversation, next read) (*transcript.Conversation, Item, error) {
	head, err := l.head(ctx, c)
	if err != nil {
		return nil, Item{}, err
	}
	var news int64
	state, err := l.foldTo(ctx, &transcript.Conversation{ID: c}, head, next, func(r event.Record) {
		if isNews(r) {
			news = r.Seq
		}
	})
	if err != nil {
		return nil, Item{}, err
	}
	rows := len(state.Rows())
	if rows == 0 {
		return nil, Item{}, ErrMissing
	}
	return state, Item{
		ID: c, Title: state.Title, Project: state.Project, Updated: clock(state.Updated), Count: rows,
		Pinned: state.Pinned, Archived: state.Archived, Unread: news > state.Read, Model: state.Model,
		Running: running(state), Queued: len(state.Queue), LastSeq: max(head, state.Seq),
	}, nil
}

// isNews reports whether a person would call a record news: something was asked,
// or an answer began or ended.
func isNews(r event.Record) bool {
	switch r.Kind {
	case event.UserMessage{}.Kind(), event.ForkedFrom{}.Kind(), event.Start{}.Kind():
		return true
	}
	spec, _ := event.Lookup(r.Kind)
	return spec.Terminal
}
