package zulip

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"verbatim/internal/surface"
)

// event is what is read of Zulip's (https://zulip.com/api/get-events).
type event struct {
	ID   int64  `json:"id"`
	Type string `json:"type"`
	// Of a message; its flags are here, not in it.
	Message *message `json:"message"`
	Flags   []string `json:"flags"`
	// Of a change. Content is missing where a message only moved; UserID is who
	// changed it, missing where only its look changed.
	MessageID     int64   `json:"message_id"`
	UserID        int64   `json:"user_id"`
	RenderingOnly bool    `json:"rendering_only"`
	Content       *string `json:"content"`
	// Of a deletion, beside MessageID of servers that delete one by one.
	MessageIDs []int64 `json:"message_ids"`
	Stream     int64   `json:"stream_id"`
	Topic      string  `json:"topic"`
}

// wait waits for events and deals with them. The mark is stored before the server
// is told, by the next wait, that it may forget them.
func (l *listener) wait(ctx context.Context) error {
	// The bot's own edits are events too; each would be an asking of its own,
	// and those have a limit as all calls have.
	if pause := min(perToken, perToken-l.now().Sub(l.asked)); pause > 0 {
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
	l.asked = l.now()
	events, err := l.events(ctx)
	if r, ok := asRefusal(err); ok && r.status < http.StatusInternalServerError && !r.limited() && !r.unauthorised() {
		// BAD_EVENT_QUEUE_ID, or a mark that the queue doesn't know any more.
		l.log.InfoContext(ctx, "the Zulip server has dropped the event queue; a new one is made", "cause", l.clean(r.text))
		next := l.mark
		next.Queue, next.Event = "", 0
		return l.save(ctx, next)
	}
	if err != nil {
		return err
	}
	next := l.mark
	for _, e := range events {
		if err := l.handle(ctx, e); err != nil {
			return err
		}
		next.Event = max(next.Event, e.ID)
		if e.Message != nil {
			next.Message = max(next.Message, e.Message.ID)
		}
	}
	return l.save(ctx, next)
}

// events is one long poll. Of an event that can't be read whole, what can be is
// taken: it would stand in the way of all others for ever.
func (l *listener) events(ctx context.Context) (list []event, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.poll)
	defer cancel()
	query := url.Values{"queue_id": {l.mark.Queue}, "last_event_id": {strconv.FormatInt(l.mark.Event, 10)}}
	err = l.ask(ctx, http.MethodGet, "events", query, func(name string, dec *json.Decoder) error {
		if name != "events" {
			return errSkip
		}
		return readList(dec, func(raw json.RawMessage) error {
			var e event
			err := json.Unmarshal(raw, &e)
			if odd(err) {
				l.log.ErrorContext(ctx, "an event of Zulip is not as documented; a message may be missing", "event", e.ID, "cause", l.clean(err.Error()))
				err = nil
			}
			list = append(list, e)
			return err
		})
	})
	return list, err
}

func (l *listener) handle(ctx context.Context, e event) error {
	switch {
	case e.Type == "message" && e.Message != nil:
		m := *e.Message
		m.Flags = e.Flags
		return l.receive(ctx, m)
	case e.Type == "update_message":
		return l.change(ctx, e)
	case e.Type == "delete_message":
		return l.remove(ctx, e)
	}
	// A heartbeat, or what nobody asked for.
	return nil
}

// change passes on a new text of a person's message.
func (l *listener) change(ctx context.Context, e event) error {
	if e.Content == nil || e.RenderingOnly || e.UserID == 0 || e.UserID == l.me.id {
		return nil
	}
	chat, known := l.recent.chat(e.MessageID)
	if !known {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		m, err := l.message(ctx, e.MessageID)
		if errors.Is(err, surface.ErrGone) || err == nil && !m.others(l.me) {
			return nil
		}
		if err != nil {
			return err
		}
		chat = m.place(l.me).chat()
	}
	err := l.in.Change(ctx, chat, strconv.FormatInt(e.MessageID, 10), l.me.unmention(*e.Content))
	if err != nil {
		return fmt.Errorf("keep a change: %w", err)
	}
	return nil
}

// remove passes on that messages were deleted. Of one in a direct conversation
// that is not remembered nobody can say where it was.
func (l *listener) remove(ctx context.Context, e event) error {
	ids := e.MessageIDs
	if len(ids) == 0 {
		ids = []int64{e.MessageID}
	}
	for _, id := range ids {
		chat, known := l.recent.chat(id)
		if !known && e.Stream == 0 {
			continue
		}
		if !known {
			chat = place{stream: e.Stream, topic: e.Topic}.chat()
		}
		if err := l.in.Remove(ctx, chat, strconv.FormatInt(id, 10)); err != nil {
			return fmt.Errorf("keep a deletion: %w", err)
		}
	}
	return nil
}
