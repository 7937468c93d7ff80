package zulip

import (
	"context"
	"encoding/json"
	"fmt"

	"verbatim/internal/surface"
)

// The names under which an inbox keeps how far was read.
const (
	queueMark  = "queue"
	recentMark = "recent"
)

// mark is how far was read. With a queue, nothing before the queue is missing.
type mark struct {
	// Begun is set by the very first start.
	Begun bool   `json:"begun"`
	Queue string `json:"queue_id,omitempty"`
	// Event is the last event of the queue that was dealt with.
	Event int64 `json:"last_event_id"`
	// Message is the highest id that was seen, First the newest message when
	// this surface first listened; what is not newer is never received.
	Message int64 `json:"last_message_id"`
	First   int64 `json:"first_message_id"`
}

// load reads the marks. A damaged one is an error: without it nobody could say
// what was received.
func (l *listener) load(ctx context.Context) error {
	for name, into := range map[string]any{queueMark: &l.mark, recentMark: &l.recent} {
		text, err := l.in.Mark(ctx, name)
		if err != nil {
			return fmt.Errorf("read the mark %s: %w", name, err)
		}
		if text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(text), into); err != nil {
			return fmt.Errorf("the mark %s is damaged: %w", name, err)
		}
	}
	l.loaded = true
	if l.mark.Queue != "" {
		l.queue.Store(&l.mark.Queue)
	}
	return nil
}

// save stores what was received and how far that is.
func (l *listener) save(ctx context.Context, next mark) error {
	if l.recent.changed {
		if err := l.in.SetMark(ctx, recentMark, encode(l.recent)); err != nil {
			return fmt.Errorf("store the mark %s: %w", recentMark, err)
		}
		l.recent.changed = false
	}
	if next == l.mark {
		return nil
	}
	if err := l.in.SetMark(ctx, queueMark, encode(next)); err != nil {
		return fmt.Errorf("store the mark %s: %w", queueMark, err)
	}
	l.mark = next
	l.queue.Store(nil)
	if next.Queue != "" {
		l.queue.Store(&next.Queue)
	}
	return nil
}

// maxRecent is how many messages are remembered with their chat.
const maxRecent = 200

// recent are the messages that were received last. What Zulip tells of a change
// or a deletion does not say in which direct conversation the message was.
type recent struct {
	list    []received
	changed bool
}

type received struct {
	ID   int64        `json:"id"`
	Chat surface.Chat `json:"chat"`
}

func (r *recent) add(id int64, chat surface.Chat) {
	if _, known := r.chat(id); known {
		return
	}
	r.list = append(r.list, received{id, chat})
	r.list = r.list[max(0, len(r.list)-maxRecent):]
	r.changed = true
}

func (r *recent) chat(id int64) (surface.Chat, bool) {
	for _, m := range r.list {
		if m.ID == id {
			return m.Chat, true
		}
	}
	return surface.Chat{}, false
}

// MarshalJSON writes the list.
func (r recent) MarshalJSON() ([]byte, error) { return json.Marshal(r.list) }

// UnmarshalJSON reads the list.
func (r *recent) UnmarshalJSON(raw []byte) error { return json.Unmarshal(raw, &r.list) }
