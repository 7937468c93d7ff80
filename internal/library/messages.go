package library

import (
	"context"

	"verbatim/internal/id"
	"verbatim/internal/transcript"
)

// MaxRows is the most that a page of a conversation has, DefaultRows what it has
// when nobody says.
const (
	MaxRows     = 200
	DefaultRows = 50
)

// RowPage is a page of a conversation's rows, in their order.
type RowPage struct {
	Messages []Row `json:"messages"`
	// Next is the seq before which the page of older rows begins, nil when
	// this page has the first row.
	Next *int64 `json:"next"`
	// LastSeq is the seq of the conversation's last record.
	LastSeq int64 `json:"last_seq"`
}

// Messages returns the last rows that began before a seq, the last ones of all
// for 0, at most limit of them (see MaxRows). Only their text is read, however
// long the conversation is. ErrMissing when it is not there; a page before its
// first row is empty.
func (l *Library) Messages(ctx context.Context, c id.Conversation, before int64, limit int) (RowPage, error) {
	state, item, err := l.look(ctx, c, l.log.Facts)
	if err != nil {
		return RowPage{}, err
	}
	rows := state.Rows()
	end := len(rows)
	for before > 0 && end > 0 && rowSeq(rows[end-1]) >= before {
		end--
	}
	first := max(end-bounded(limit, DefaultRows, MaxRows), 0)
	page := RowPage{LastSeq: item.LastSeq}
	if first > 0 {
		next := rowSeq(rows[first])
		page.Next = &next
	}
	rows = rows[first:end]
	for i, row := range rows {
		if row.Role == transcript.RoleAssistant {
			if rows[i].Turn, err = l.loadTurn(ctx, c, row.Turn, item.LastSeq); err != nil {
				return RowPage{}, err
			}
		}
	}
	page.Messages = newRows(rows)
	return page, nil
}

// rowSeq is the seq of the record that began a row.
func rowSeq(row transcript.Row) int64 {
	if row.Role == transcript.RoleUser {
		return row.Turn.UserSeq
	}
	return row.Turn.Runs[0].First
}

// loadTurn returns a turn that is known from facts alone with its text.
func (l *Library) loadTurn(ctx context.Context, c id.Conversation, t *transcript.Turn, head int64) (*transcript.Turn, error) {
	whole := *t
	whole.Runs = make([]*transcript.Run, len(t.Runs))
	for i, run := range t.Runs {
		var err error
		if whole.Runs[i], err = l.load(ctx, c, run, head); err != nil {
			return nil, err
		}
	}
	return &whole, nil
}

// Question returns the user message of the turn that a message belongs to: the
// question itself, or its answer. Deleted turns count, a conversation that was
// deleted does not. ErrMissing when there is no such message.
func (l *Library) Question(ctx context.Context, c id.Conversation, m id.Message) (id.Message, error) {
	state, err := l.fold(ctx, c, l.log.Facts)
	if err != nil {
		return "", err
	}
	for _, t := range state.Turns {
		if m != "" && (t.User.Message == m || t.Message == m) {
			return t.User.Message, nil
		}
	}
	return "", ErrMissing
}

// Version returns which version of its answer a run is, from 0. ErrMissing when
// it is none.
func (l *Library) Version(ctx context.Context, c id.Conversation, m id.Message, run id.Run) (int, error) {
	state, err := l.fold(ctx, c, l.log.Facts)
	if err != nil {
		return 0, err
	}
	for _, t := range state.Turns {
		if t.Deleted || t.User.Message != m && t.Message != m {
			continue
		}
		for n, v := range t.Versions() {
			if v.ID == run {
				return n, nil
			}
		}
	}
	return 0, ErrMissing
}
