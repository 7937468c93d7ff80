package library

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// ErrCursor means that a text is no cursor of a list.
var ErrCursor = errors.New("not a cursor of this list")

// MaxItems is the most that a page of the list has, DefaultItems what it has
// when nobody says.
const (
	MaxItems     = 200
	DefaultItems = 50
)

// Item is a conversation in a page of the list.
type Item struct {
	ID      id.Conversation `json:"id"`
	Title   string          `json:"title"`
	Project string          `json:"project"`
	// Updated is when a person last had news, RFC 3339 in UTC with
	// milliseconds.
	Updated string `json:"updated"`
	// Count is the number of rows.
	Count    int  `json:"count"`
	Pinned   bool `json:"pinned"`
	Archived bool `json:"archived"`
	// Unread says that there is news which no person has seen.
	Unread bool `json:"unread"`
	// Model is the conversation's own, empty where it takes the general one.
	Model string `json:"model"`
	// Running is the run under way, nil for none. Queued counts the messages
	// that wait behind it.
	Running *id.Run `json:"running"`
	Queued  int     `json:"queued"`
	// LastSeq is the seq of the last record of the conversation.
	LastSeq int64 `json:"last_seq"`
}

// ListQuery says which page of the list is wanted. The zero value is the newest
// DefaultItems of all.
type ListQuery struct {
	// Limit below 1 means DefaultItems; no more than MaxItems are given.
	Limit int
	// Cursor goes on behind an earlier page: its Next. Empty begins at the
	// newest.
	Cursor string
	// Project and Archived, if not nil, are what a conversation must have.
	Project  *string
	Archived *bool
}

// ItemPage is a page of the list.
type ItemPage struct {
	Items []Item
	// Next is the Cursor of the page that follows, empty when there is none.
	Next string
}

// Page returns conversations that have rows, newest first. What changes between
// two pages moves to the front of the list: it may be seen twice, never missed.
// ErrCursor for a cursor that is none.
func (l *Library) Page(ctx context.Context, q ListQuery) (ItemPage, error) {
	before, err := parseCursor(q.Cursor)
	if err != nil {
		return ItemPage{}, err
	}
	limit := bounded(q.Limit, DefaultItems, MaxItems)
	// One more is asked for than is wanted, to know whether there is one.
	infos, err := l.log.Conversations(ctx, turnlog.Query{Limit: limit + 1, Before: before, Project: q.Project, Archived: q.Archived})
	if err != nil {
		return ItemPage{}, fmt.Errorf("list conversations: %w", err)
	}
	page := ItemPage{Items: make([]Item, 0, min(len(infos), limit))}
	for i, info := range infos {
		if i == limit {
			last := infos[i-1]
			page.Next = newCursor(turnlog.Place{Updated: last.Updated, Key: last.Key})
			break
		}
		item, err := l.item(ctx, info)
		if err != nil {
			return ItemPage{}, err
		}
		page.Items = append(page.Items, item)
	}
	return page, nil
}

func (l *Library) item(ctx context.Context, info turnlog.ConversationInfo) (Item, error) {
	head, err := l.head(ctx, info.Conversation)
	if err != nil {
		return Item{}, err
	}
	item := Item{
		ID: info.Conversation, Title: info.Title, Project: info.Project, Updated: clock(time.UnixMilli(info.Updated)),
		Count: info.Rows, Pinned: info.Pinned, Archived: info.Archived, Unread: info.News > info.Read,
		Model: info.Model, Queued: info.Queued, LastSeq: head,
	}
	if info.Running != "" {
		item.Running = &info.Running
	}
	return item, nil
}

// bounded returns n where it makes sense, else what does.
func bounded(n, fallback, most int) int {
	if n < 1 {
		return fallback
	}
	return min(n, most)
}

// A cursor is a place in the list. It is written so that nobody reads it: what
// it is made of may change.
func newCursor(p turnlog.Place) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%d", p.Updated, p.Key))
}

func parseCursor(s string) (turnlog.Place, error) {
	if s == "" {
		return turnlog.Place{}, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return turnlog.Place{}, ErrCursor
	}
	updated, key, _ := strings.Cut(string(b), ".")
	var p turnlog.Place
	p.Updated, err = strconv.ParseInt(updated, 10, 64)
	if err != nil {
		return turnlog.Place{}, ErrCursor
	}
	if p.Key, err = strconv.ParseInt(key, 10, 64); err != nil || newCursor(p) != s {
		return turnlog.Place{}, ErrCursor
	}
	return p, nil
}
