package telegramfake

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// updates are what waits to be told: https://core.telegram.org/bots/api#getupdates.
type updates struct {
	next    int64
	waiting []queued
	// more is closed when something comes or the wait is to end.
	more chan struct{}
	// poll numbers the calls that wait; an older one is ended by a newer.
	poll int
	// allowed is kept from the last call that named some.
	allowed []string
	// ended is what a wait that was ended is answered with.
	ended string
}

type queued struct {
	id   int64
	kind string
	body json.RawMessage
}

// Happen adds an update of a kind, such as "message", with any content.
func (f *Fake) Happen(kind string, content any) (id int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.happen(kind, content)
}

func (f *Fake) happen(kind string, content any) int64 {
	id := f.queue.next
	f.queue.next++
	body, err := json.Marshal(map[string]any{"update_id": id, kind: content})
	if err != nil {
		panic(err)
	}
	f.queue.waiting = append(f.queue.waiting, queued{id, kind, body})
	f.queue.wake()
	f.push()
	return id
}

// Jump lets the next update have this number, as after a week without any.
func (f *Fake) Jump(id int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue.next = id
}

func (u *updates) wake() {
	if u.more != nil {
		close(u.more)
		u.more = nil
	}
}

func (u *updates) wait() <-chan struct{} {
	if u.more == nil {
		u.more = make(chan struct{})
	}
	return u.more
}

// confirm forgets what is before an offset. One that is behind all there is, is
// overlooked; a negative one counts from the end.
func (u *updates) confirm(offset int64) {
	switch {
	case offset < 0 && len(u.waiting) > int(-offset):
		u.waiting = u.waiting[len(u.waiting)+int(offset):]
	case offset > 0 && offset <= u.next:
		u.waiting = slices.DeleteFunc(u.waiting, func(q queued) bool { return q.id < offset })
	}
}

func (u *updates) wanted(kind string) bool {
	return len(u.allowed) == 0 || slices.Contains(u.allowed, kind)
}

func (u *updates) first(limit int64) []json.RawMessage {
	out := []json.RawMessage{}
	for _, q := range u.waiting {
		if u.wanted(q.kind) && int64(len(out)) < limit {
			out = append(out, q.body)
		}
	}
	return out
}

func conflict(text string) reply { return failure(http.StatusConflict, "Conflict: "+text) }

func (f *Fake) getUpdates(q *query) reply {
	offset, err := q.number("offset", 0)
	limit, errLimit := q.number("limit", 100)
	seconds, errTimeout := q.number("timeout", 0)
	if err != nil || errLimit != nil || errTimeout != nil || limit < 1 || limit > 100 || seconds < 0 {
		return badRequest("a wrong offset, limit or timeout")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hook.URL != "" {
		return conflict("can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
	}
	if _, err := q.object("allowed_updates", &f.queue.allowed); err != nil {
		return badRequest(err.Error())
	}
	f.queue.confirm(offset)
	return f.poll(q.ctx, limit, time.Duration(seconds)*time.Second)
}

// poll waits for something to tell. It is called and returns with f.mu held.
func (f *Fake) poll(ctx context.Context, limit int64, timeout time.Duration) reply {
	f.endPoll("terminated by other getUpdates request; make sure that only one bot instance is running")
	mine := f.queue.poll
	late := time.NewTimer(timeout)
	defer late.Stop()
	for {
		if f.queue.poll != mine {
			return conflict(f.queue.ended)
		}
		if out := f.queue.first(limit); len(out) > 0 || timeout == 0 {
			return success(out)
		}
		more := f.queue.wait()
		f.mu.Unlock()
		over := false
		select {
		case <-more:
		case <-late.C:
			over = true
		case <-ctx.Done():
			over = true
		}
		f.mu.Lock()
		if over {
			return success([]any{})
		}
	}
}

// endPoll ends the call that waits, if any.
func (f *Fake) endPoll(why string) {
	f.queue.poll++
	f.queue.ended = why
	f.queue.wake()
}
