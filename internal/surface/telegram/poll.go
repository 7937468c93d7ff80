package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const (
	// pollSeconds is how long Telegram may wait for something to happen.
	pollSeconds = 50
	// pollTime is how long an answer may take then.
	pollTime = pollSeconds*time.Second + callTime
	// pollLimit is how many updates are asked for at once.
	pollLimit = 100
	// markTime is how long the number of the next update is trusted. After a week
	// without any, Telegram goes on with a number that may be lower:
	// https://core.telegram.org/bots/api#update.
	markTime = 5 * 24 * time.Hour
)

// errConflict is what Telegram's 409 means when no webhook is set.
var errConflict = errors.New("another program reads the messages of this bot, and Telegram gives them to one only; stop the other one, or make a bot for each")

// polling is how far a listener has read.
type polling struct {
	// next is the number of the first update that was not handled, at when that
	// was known.
	next int64
	at   time.Time
	// limit is how many are asked for at once: fewer after an answer that was
	// longer than is read.
	limit int
}

// offset confirms to Telegram what was handled; 0 confirms nothing and asks for
// all that is not confirmed.
func (p *polling) offset(now time.Time) int64 {
	if now.Sub(p.at) > markTime {
		return 0
	}
	return p.next
}

// mark names where the number of the next update is kept. It holds for this bot
// alone, and the token may become that of another.
func (l *listener) mark() string { return "offset." + strconv.FormatInt(l.me.Load().ID, 10) }

func (p *polling) String() string {
	return strconv.FormatInt(p.next, 10) + " " + p.at.UTC().Format(time.RFC3339)
}

// recall reads how far an earlier process came. What is no mark counts as none.
func (l *listener) recall(ctx context.Context) error {
	value, err := l.in.Mark(ctx, l.mark())
	if err != nil {
		return fmt.Errorf("read how far was read: %w", err)
	}
	var next int64
	var at string
	if _, err := fmt.Sscanf(value, "%d %s", &next, &at); err != nil {
		return nil //nolint:nilerr // Telegram then gives all that it holds, and the inbox knows what it has
	}
	if then, err := time.Parse(time.RFC3339, at); err == nil {
		l.poll.next, l.poll.at = next, then
	}
	return nil
}

// round asks once for what happened and handles it.
func (l *listener) round(ctx context.Context) error {
	raw, err := l.updates(ctx)
	if err != nil {
		return err
	}
	next, err := l.handle(ctx, raw)
	if next == l.poll.next {
		return err
	}
	// What was handled counts, also when the rest could not be.
	read := polling{next: next, at: l.now(), limit: l.poll.limit}
	if err := l.in.SetMark(ctx, l.mark(), read.String()); err != nil {
		return fmt.Errorf("store how far was read: %w", err)
	}
	l.poll = read
	return err
}

// updates asks for what happened, waiting until something does.
func (l *listener) updates(ctx context.Context) ([]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTime)
	defer cancel()
	a := l.api.call(ctx, "getUpdates", struct {
		Offset  int64    `json:"offset,omitempty"`
		Limit   int      `json:"limit"`
		Timeout int      `json:"timeout"`
		Allowed []string `json:"allowed_updates"`
	}{l.poll.offset(l.now()), l.poll.limit, pollSeconds, allowed})
	err := a.problem()
	if errors.Is(err, errTooLong) && l.poll.limit > 1 {
		l.poll.limit /= 2
		return nil, nil
	}
	if r, ok := errors.AsType[*refusal](err); ok && r.code == http.StatusConflict {
		return nil, l.conflict(ctx)
	}
	if err != nil {
		return nil, err
	}
	l.poll.limit = min(2*l.poll.limit, pollLimit)
	var raw []json.RawMessage
	if err := json.Unmarshal(a.result, &raw); err != nil {
		return nil, errors.New("the updates can't be read")
	}
	return raw, nil
}

// handle hands updates to the inbox, in order, and returns the number of the first
// that is still to be handled.
func (l *listener) handle(ctx context.Context, raw []json.RawMessage) (next int64, err error) {
	next = l.poll.next
	for _, one := range raw {
		id, ok := idOf(one)
		if !ok {
			return next, errors.New("an update has no number")
		}
		var u update
		if err := json.Unmarshal(one, &u); err != nil {
			l.log.Error("an update of Telegram can't be read and is left out", "surface", l.name, "update", id)
			next = id + 1
			continue
		}
		if err := l.take(ctx, l.in, u); err != nil {
			return next, fmt.Errorf("what was received is not stored yet: %w", err)
		}
		next = id + 1
	}
	return next, nil
}

func idOf(raw json.RawMessage) (int64, bool) {
	var head struct {
		ID *int64 `json:"update_id"`
	}
	if json.Unmarshal(raw, &head) != nil || head.ID == nil {
		return 0, false
	}
	return *head.ID, true
}

// conflict finds out why Telegram gives the updates to somebody else. A webhook is
// taken away: whoever configured polling wants that.
func (l *listener) conflict(ctx context.Context) error {
	set, err := l.hookSet(ctx)
	if err != nil {
		return err
	}
	if !set {
		return errConflict
	}
	return l.dropHook(ctx)
}

type hookInfo struct {
	URL       string `json:"url"`
	ErrorDate int64  `json:"last_error_date"`
	Error     string `json:"last_error_message"`
}

func (b *bot) hookSet(ctx context.Context) (bool, error) {
	var info hookInfo
	err := b.ask(ctx, "getWebhookInfo", nothing{}, &info)
	return info.URL != "", err
}

// dropHook takes a webhook away if there is one. What waits for it stays.
func (l *listener) dropHook(ctx context.Context) error {
	set, err := l.hookSet(ctx)
	if err != nil || !set {
		return err
	}
	if err := l.ask(ctx, "deleteWebhook", nothing{}, nil); err != nil {
		return err
	}
	l.log.Warn("the bot had a webhook, which is taken away, because webhook is not set here", "surface", l.name)
	return nil
}
