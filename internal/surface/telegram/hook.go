package telegram

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"verbatim/internal/surface"
)

// checkHook is how often it is looked after whether Telegram still calls.
const checkHook = 10 * time.Minute

// keepHook tells Telegram where to call, and again when somebody told it something
// else.
func (l *listener) keepHook(ctx context.Context) error {
	step := l.setHook
	for {
		if err := l.until(ctx, step); err != nil {
			return err
		}
		if err := pause(ctx, checkHook); err != nil {
			return err
		}
		step = l.checkHook
	}
}

// setHook asks for one call at a time: so what people write stays in order.
func (l *listener) setHook(ctx context.Context) error {
	return l.ask(ctx, "setWebhook", struct {
		URL         string   `json:"url"`
		Proof       string   `json:"secret_token"`
		Connections int      `json:"max_connections"`
		Allowed     []string `json:"allowed_updates"`
	}{l.hook, l.proof, 1, allowed}, nil)
}

func (l *listener) checkHook(ctx context.Context) error {
	var info hookInfo
	if err := l.ask(ctx, "getWebhookInfo", nothing{}, &info); err != nil {
		return err
	}
	if info.ErrorDate > l.hookError {
		l.hookError = info.ErrorDate
		l.log.Warn("Telegram could not call the webhook; it tries again", "surface", l.name,
			"at", time.Unix(info.ErrorDate, 0).UTC(), "error", short(l.api.redact.Replace(info.Error)))
	}
	if info.URL == l.hook {
		return nil
	}
	l.log.Warn("somebody changed the webhook of the bot; it is set again", "surface", l.name)
	return l.setHook(ctx)
}

// ServeHook takes a call of Telegram. It answers 200 only after the inbox has what
// was told; Telegram repeats what got another answer.
func (b *bot) ServeHook(w http.ResponseWriter, r *http.Request, in surface.Inbox) {
	w.WriteHeader(b.called(w, r, in))
}

// called returns the status that a call is answered with.
func (b *bot) called(w http.ResponseWriter, r *http.Request, in surface.Inbox) int {
	if b.hook == "" {
		return http.StatusNotFound
	}
	shown := r.Header.Get("X-Telegram-Bot-Api-Secret-Token")
	if subtle.ConstantTimeCompare([]byte(shown), []byte(b.proof)) != 1 {
		return http.StatusUnauthorized
	}
	var u update
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxAnswerBytes)).Decode(&u); err != nil {
		if _, long := errors.AsType[*http.MaxBytesError](err); long {
			return http.StatusRequestEntityTooLarge
		}
		return http.StatusBadRequest
	}
	ctx := r.Context()
	err := b.meet(ctx)
	if err == nil {
		err = b.take(ctx, in, u)
	}
	if err != nil {
		b.log.Warn("what Telegram told could not be stored; it tells it again", "surface", b.name, "update", u.ID, "error", err)
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}
