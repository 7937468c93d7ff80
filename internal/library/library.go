// Package library is where people look conversations up: the list, one
// conversation as it stands, or a page of it, and what became of a run.
//
// Guarantee: what it returns is the fold of the log, the same that a live view
// shows, with every character kept; a blank segment is shown nowhere. Not
// promised: that it is still so when the caller looks; positions carry the seq
// of their row so that a caller can tell.
package library

import (
	"context"
	"errors"
	"fmt"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

// ErrMissing means that there is no such conversation, or nothing is left of it.
var ErrMissing = errors.New("no such conversation")

// Log is what a Library reads; *turnlog.Log is one.
type Log interface {
	After(ctx context.Context, c id.Conversation, after int64, limit turnlog.Limit) ([]event.Record, error)
	Facts(ctx context.Context, c id.Conversation, after int64, limit turnlog.Limit) ([]event.Record, error)
	Head(ctx context.Context, c id.Conversation) (int64, error)
	Conversations(ctx context.Context, q turnlog.Query) ([]turnlog.ConversationInfo, error)
}

// Library looks things up in a log. It keeps nothing and is safe for concurrent
// use.
type Library struct{ log Log }

// New returns a library over a log.
func New(log Log) *Library { return &Library{log: log} }

// Line is a conversation in the list.
type Line struct {
	ID    id.Conversation `json:"id"`
	Title string          `json:"title"`
	// Updated is in whole seconds since 1970.
	Updated int64 `json:"updated"`
	// Count is the number of rows that Chat returns.
	Count   int    `json:"count"`
	Project string `json:"project"`
}

// List returns the conversations that have rows, newest first, at most
// turnlog.MaxConversations.
func (l *Library) List(ctx context.Context) ([]Line, error) {
	infos, err := l.log.Conversations(ctx, turnlog.Query{})
	if err != nil {
		return nil, fmt.Errorf("list conversations: %w", err)
	}
	lines := make([]Line, len(infos))
	for i, c := range infos {
		lines[i] = Line{
			ID: c.Conversation, Title: c.Title, Project: c.Project,
			Updated: time.UnixMilli(c.Updated).Unix(), Count: c.Rows,
		}
	}
	return lines, nil
}

// Chat returns a conversation with all its rows, or ErrMissing. A running
// answer is as long as the log was when Chat began.
func (l *Library) Chat(ctx context.Context, c id.Conversation) (Chat, error) {
	state, err := l.fold(ctx, c, l.log.After)
	if err != nil {
		return Chat{}, err
	}
	chat := newChat(state)
	if len(chat.Messages) == 0 {
		return Chat{}, ErrMissing
	}
	return chat, nil
}

// Place says where a run's rows are now.
type Place struct {
	// UserIndex and AssistantIndex count the rows of Chat from 0; nil when
	// the row is gone.
	UserIndex, AssistantIndex *int
	// Versions is how many versions the answer has, at least 1, Active the
	// one that is shown, from 0.
	Versions, Active int
}

// Place looks a run up without reading any text. A run that is not there has
// no rows and one version.
func (l *Library) Place(ctx context.Context, c id.Conversation, run id.Run) (Place, error) {
	state, err := l.fold(ctx, c, l.log.Facts)
	if err != nil {
		return Place{Versions: 1}, err
	}
	var p Place
	p.UserIndex, p.AssistantIndex, p.Versions, p.Active = state.Place(run)
	return p, nil
}

type read func(context.Context, id.Conversation, int64, turnlog.Limit) ([]event.Record, error)

// fold reads up to where the log is now, in bounded pieces. A run that goes on
// meanwhile can't keep it reading for ever.
func (l *Library) fold(ctx context.Context, c id.Conversation, next read) (*transcript.Conversation, error) {
	head, err := l.head(ctx, c)
	if err != nil {
		return nil, err
	}
	return l.foldTo(ctx, &transcript.Conversation{ID: c}, head, next, nil)
}

func (l *Library) head(ctx context.Context, c id.Conversation) (int64, error) {
	head, err := l.log.Head(ctx, c)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", c, err)
	}
	return head, nil
}

// foldTo applies what follows a state up to a seq; facts may come from a little
// further. seen, if not nil, is shown each record.
func (l *Library) foldTo(ctx context.Context, state *transcript.Conversation, head int64, next read, seen func(event.Record)) (*transcript.Conversation, error) {
	for c, after := state.ID, state.Seq; after < head; {
		limit := turnlog.Limit{Records: int(min(head-after, turnlog.MaxReadRecords))}
		records, err := next(ctx, c, after, limit)
		if err != nil {
			return nil, fmt.Errorf("read %s after %d: %w", c, after, err)
		}
		if len(records) == 0 {
			break
		}
		for _, r := range records {
			if err := state.Apply(r); err != nil {
				return nil, err
			}
			if seen != nil {
				seen(r)
			}
		}
		after = records[len(records)-1].Seq
	}
	return state, nil
}
