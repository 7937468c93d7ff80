package deliverytest

import (
	"context"
	"fmt"
	"sync"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// Facts is what a Memory asks of a log, without one: it counts records and keeps
// where runs begin and end. Its zero value is empty. It is safe for concurrent use.
type Facts struct {
	mu    sync.Mutex
	heads map[id.Conversation]int64
	runs  map[id.Run]turnlog.RunInfo
}

// Append adds records to a conversation.
func (f *Facts) Append(c id.Conversation, drafts ...turnlog.Draft) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.heads == nil {
		f.heads, f.runs = map[id.Conversation]int64{}, map[id.Run]turnlog.RunInfo{}
	}
	for _, d := range drafts {
		f.heads[c]++
		run, seq := d.Run, f.heads[c]
		queue, queued := d.Event.(event.Queue)
		if queued {
			run = queue.Run
		}
		if run == "" {
			continue
		}
		info := f.runs[run]
		info.Run, info.Conversation = run, c
		switch e := d.Event.(type) {
		case event.Start:
			info.First, info.Message = seq, d.Message
		case event.Queue:
			if e.Op == event.QueueAdd {
				info.Queued = seq
			}
			if e.Op == event.QueueRemove {
				info.Dropped = seq
			}
		default:
			if spec, _ := event.Lookup(d.Event.Kind()); spec.Terminal {
				info.Last = seq
			}
		}
		f.runs[run] = info
	}
}

// Head returns the seq of a conversation's last record, 0 for none.
func (f *Facts) Head(_ context.Context, c id.Conversation) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.heads[c], nil
}

// Run looks up a run; turnlog.ErrNoRun when there is none.
func (f *Facts) Run(_ context.Context, r id.Run) (turnlog.RunInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, ok := f.runs[r]
	if !ok {
		return info, fmt.Errorf("%s: %w", r, turnlog.ErrNoRun)
	}
	return info, nil
}
