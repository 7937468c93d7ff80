package library

import (
	"context"

	"verbatim/internal/id"
	"verbatim/internal/transcript"
)

// Positions returns where each row of Chat is, from 0, by its message id. It
// reads no text of answers. A conversation that is not there has no rows.
func (l *Library) Positions(ctx context.Context, c id.Conversation) (map[id.Message]int, error) {
	state, err := l.fold(ctx, c, l.log.Facts)
	if err != nil {
		return nil, err
	}
	at := map[id.Message]int{}
	for _, row := range state.Rows() {
		if row.Role == transcript.RoleUser {
			at[row.Turn.User.Message] = row.Index
			continue
		}
		at[row.Turn.Message] = row.Index
	}
	return at, nil
}

// Content returns what a run has said, as one text: the content of its row while
// the run is shown. Only that run's text is read. ErrMissing when the
// conversation has no such run.
func (l *Library) Content(ctx context.Context, c id.Conversation, run id.Run) (string, error) {
	head, err := l.head(ctx, c)
	if err != nil {
		return "", err
	}
	facts, err := l.foldTo(ctx, &transcript.Conversation{ID: c}, head, l.log.Facts, nil)
	if err != nil {
		return "", err
	}
	known := facts.Run(run)
	if known == nil {
		return "", ErrMissing
	}
	said, err := l.load(ctx, c, known, head)
	if err != nil {
		return "", err
	}
	return said.Content(), nil
}

// load reads the text of a run that is known from facts alone; head is where
// the log was then. What was erased meanwhile stays as it is known.
func (l *Library) load(ctx context.Context, c id.Conversation, known *transcript.Run, head int64) (*transcript.Run, error) {
	last := known.Terminal
	if last == 0 {
		last = head
	}
	state, err := l.foldTo(ctx, &transcript.Conversation{ID: c, Seq: known.First - 1}, last, l.log.After, nil)
	if err != nil {
		return nil, err
	}
	if said := state.Run(known.ID); said != nil {
		return said, nil
	}
	return known, nil
}
