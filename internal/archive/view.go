package archive

import (
	"context"
	"iter"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// view is a conversation as it is exported: up to a seq, and with tombstones in
// the place of what is deleted.
type view struct {
	conversation id.Conversation
	head         int64
	through      int64 // every record up to here is deleted, but the markers
	messages     map[int64]bool
	runs         map[id.Run]bool
}

// view returns how a conversation is exported now; nil when it has no rows.
func (a *Archive) view(ctx context.Context, c id.Conversation) (*view, error) {
	state, err := a.outline(ctx, c)
	if err != nil || len(state.Rows()) == 0 {
		return nil, err
	}
	v := &view{conversation: c, messages: map[int64]bool{}, runs: map[id.Run]bool{}}
	if v.head, err = a.log.Head(ctx, c); err != nil {
		return nil, err
	}
	doomed, err := a.log.Doomed(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range doomed {
		switch {
		case d.Conversation != c:
		case d.Message == "":
			v.through = max(v.through, d.Seq-1)
		default:
			if t := state.Turn(d.Message); t != nil && t.Deleted {
				v.messages[t.UserSeq] = true
				for _, run := range t.Runs {
					v.runs[run.ID] = true
				}
			}
		}
	}
	return v, nil
}

func (v *view) records(ctx context.Context, log Log) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		for at := int64(0); at < v.head; {
			page, err := log.After(ctx, v.conversation, at, turnlog.Limit{})
			if err != nil {
				yield(event.Record{}, err)
				return
			}
			if len(page) == 0 {
				return
			}
			for _, r := range page {
				if at = r.Seq; at > v.head {
					return
				}
				shown, err := v.shown(r)
				if !yield(shown, err) || err != nil {
					return
				}
			}
		}
	}
}

// shown is a record as it is exported.
func (v *view) shown(r event.Record) (event.Record, error) {
	deleted, err := v.deleted(r)
	if err != nil || !deleted {
		return r, err
	}
	tomb, err := event.NewRecord(r.Conversation, r.Run, r.Message, event.Erased{Was: r.Kind, Bytes: int64(len(r.Body))})
	tomb.Seq, tomb.At = r.Seq, r.At
	return tomb, err
}

func (v *view) deleted(r event.Record) (bool, error) {
	switch r.Kind {
	case event.Erased{}.Kind(), event.ConversationDeleted{}.Kind(), event.ConversationRestored{}.Kind():
		return false, nil
	}
	if r.Seq <= v.through || v.messages[r.Seq] || r.Run != "" && v.runs[r.Run] {
		return true, nil
	}
	if r.Kind != (event.Queue{}).Kind() || len(v.runs) == 0 {
		return false, nil
	}
	e, err := r.Event()
	q, ok := e.(event.Queue)
	return ok && v.runs[q.Run], err
}
