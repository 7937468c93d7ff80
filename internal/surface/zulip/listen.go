package zulip

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"verbatim/internal/surface"
)

const (
	// askTime bounds a request that is answered at once.
	askTime = 30 * time.Second
	// pollTime bounds a wait for events where the server doesn't say how long
	// it may take. It sends a heartbeat at least every minute.
	pollTime = 90 * time.Second
	// firstWait and longestPause are the pauses after a failure; they double.
	firstWait    = time.Second
	longestPause = time.Minute
	// pageSize is how many messages are asked for at once.
	pageSize = 100
	// overlap is how many messages before the last known one are asked for
	// again: a server gives out ids before it stores, so a lower id can appear
	// later than a higher one. The inbox knows those that it has.
	overlap = 20
)

// listener is one run of Listen.
type listener struct {
	*bot
	in     surface.Inbox
	me     account
	mark   mark
	recent recent
	loaded bool
	// poll bounds a wait for events; asked is when the last one began.
	poll  time.Duration
	asked time.Time
}

// Listen hears what people do. Its queue on the server outlives a short restart;
// where it is lost, all messages since the last known one are fetched.
func (b *bot) Listen(ctx context.Context, in surface.Inbox) error {
	l := listener{bot: b, in: in, poll: pollTime}
	pause := firstWait
	for {
		err := l.step(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			pause = firstWait
			continue
		}
		wait := pause
		if r, ok := asRefusal(err); ok {
			if r.unauthorised() {
				return fmt.Errorf("the bot is refused; check site, email and api_key, then start again: %w", err)
			}
			wait = max(wait, r.wait(b.now()))
		}
		b.log.WarnContext(ctx, "what people write in Zulip can't be had now; it is asked for again", "cause", b.clean(err.Error()), "after", wait)
		if sleep(ctx, wait) != nil {
			return ctx.Err()
		}
		pause = min(2*pause, longestPause)
	}
}

// step does the next thing there is to do: load the marks, get a queue, or wait
// for events. Each can be done again after an error.
func (l *listener) step(ctx context.Context) error {
	switch {
	case !l.loaded:
		return l.load(ctx)
	case l.me.id == 0:
		return l.meet(ctx)
	case l.mark.Queue == "":
		return l.attach(ctx)
	default:
		return l.wait(ctx)
	}
}

// meet asks who the bot is. Its name may have changed since.
func (l *listener) meet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	me, err := l.askMe(ctx)
	l.me = me
	return err
}

// attach gets a new queue, and then what was written before it.
func (l *listener) attach(ctx context.Context) error {
	if err := l.meet(ctx); err != nil {
		return err
	}
	if !l.mark.Begun {
		if err := l.begin(ctx); err != nil {
			return err
		}
	}
	queue, event, err := l.register(ctx)
	if err != nil {
		return err
	}
	if err := l.catchUp(ctx); err != nil {
		return err
	}
	// Only now: a mark with a queue says that nothing before it is missing.
	next := l.mark
	next.Queue, next.Event = queue, event
	return l.save(ctx, next)
}

// begin takes the newest message there is as the last known one.
func (l *listener) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	list, _, err := l.messages(ctx, url.Values{"anchor": {"newest"}, "num_before": {"1"}, "num_after": {"0"}})
	if err != nil {
		return err
	}
	next := mark{Begun: true}
	if len(list) > 0 {
		next.Message = list[len(list)-1].ID
	}
	next.First = next.Message
	return l.save(ctx, next)
}

// register makes a queue (https://zulip.com/api/register-queue).
func (l *listener) register(ctx context.Context) (queue string, event int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var most, poll int64
	err = l.ask(ctx, http.MethodPost, "register", url.Values{
		"event_types":       {encode([]string{"message", "update_message", "delete_message"})},
		"fetch_event_types": {encode([]string{"realm"})},
		"apply_markdown":    {"false"},
		"client_capabilities": {encode(map[string]bool{
			"notification_settings_null": true,
			"bulk_message_deletion":      true,
		})},
	}, func(name string, dec *json.Decoder) error {
		switch name {
		case "queue_id":
			return dec.Decode(&queue)
		case "last_event_id":
			return dec.Decode(&event)
		case "max_message_length":
			return dec.Decode(&most)
		case "event_queue_longpoll_timeout_seconds":
			return dec.Decode(&poll)
		}
		return errSkip
	})
	if err == nil && queue == "" {
		err = errors.New("the server made a queue without a name")
	}
	if err != nil {
		return "", 0, err
	}
	l.learn(ctx, most, poll)
	return queue, event, nil
}

// learn keeps what the server said of its limits.
func (l *listener) learn(ctx context.Context, most, poll int64) {
	if poll > 0 {
		l.poll = time.Duration(min(poll, int64(time.Hour/time.Second))) * time.Second
	}
	if most <= 0 {
		return
	}
	if l.most.Swap(most) != most && most < int64(l.caps.Size.Max) {
		l.log.WarnContext(ctx, "this Zulip server takes shorter messages than the setting limit says; longer ones are refused until it is set to that", "limit", most)
	}
}

// catchUp receives what was written since the last known message.
func (l *listener) catchUp(ctx context.Context) error {
	query := url.Values{"num_before": {strconv.Itoa(overlap)}}
	for {
		query.Set("anchor", strconv.FormatInt(l.mark.Message, 10))
		query.Set("num_after", strconv.Itoa(pageSize))
		list, newest, err := l.page(ctx, query)
		if err != nil {
			return err
		}
		next := l.mark
		for _, m := range list {
			if m.ID <= l.mark.First {
				continue
			}
			if err := l.receive(ctx, m); err != nil {
				return err
			}
			next.Message = max(next.Message, m.ID)
		}
		on := next.Message > l.mark.Message
		if err := l.save(ctx, next); err != nil {
			return err
		}
		if newest || !on {
			return nil
		}
		query = url.Values{"num_before": {"0"}, "include_anchor": {"false"}}
	}
}

func (l *listener) page(ctx context.Context, query url.Values) ([]message, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return l.messages(ctx, query)
}

// receive gives a message to the inbox.
func (l *listener) receive(ctx context.Context, m message) error {
	if !m.others(l.me) {
		return nil
	}
	out := l.inbound(m, l.me)
	if err := l.addFiles(ctx, &out); err != nil {
		return err
	}
	if _, err := l.in.Receive(ctx, out); err != nil {
		return fmt.Errorf("keep a message: %w", err)
	}
	l.recent.add(m.ID, out.Chat)
	return nil
}

// sleep waits, or returns why ctx ended.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
