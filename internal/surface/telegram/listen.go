package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"verbatim/internal/surface"
)

const (
	// firstWait and maxWait are how long a listener waits after a failure: twice
	// as long after each, until one call goes well.
	firstWait = time.Second
	maxWait   = time.Minute
	// repeatLog is how often a trouble that lasts is logged.
	repeatLog = 10 * time.Minute
)

// errRefused means that Telegram does not know the token.
var errRefused = errors.New("the token is refused by Telegram; get a new one from @BotFather and set it")

// listener is one Listen.
type listener struct {
	*bot
	in     surface.Inbox
	wait   time.Duration
	said   string
	saidAt time.Time
	poll   polling
	// hookError is when Telegram last failed to call the webhook, as it says.
	hookError int64
}

// Listen receives what people write until ctx ends.
func (b *bot) Listen(ctx context.Context, in surface.Inbox) error {
	l := &listener{bot: b, in: in, wait: firstWait, poll: polling{limit: pollLimit}}
	if err := l.until(ctx, b.meet); err != nil {
		return err
	}
	if b.hook != "" {
		return l.keepHook(ctx)
	}
	for _, step := range []func(context.Context) error{l.dropHook, l.recall} {
		if err := l.until(ctx, step); err != nil {
			return err
		}
	}
	for {
		if err := l.until(ctx, l.round); err != nil {
			return err
		}
	}
}

// until tries f until it goes well. It returns ctx's error, or errRefused.
func (l *listener) until(ctx context.Context, f func(context.Context) error) error {
	for {
		err := f(ctx)
		r, refused := errors.AsType[*refusal](err)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			l.fine()
			return nil
		case refused && r.unauthorized():
			return fmt.Errorf("surface %s: %w", l.name, errRefused)
		}
		wait := l.wait
		if refused {
			wait = max(wait, r.retryAfter)
		}
		// One call that breaks off is no news.
		if refused || l.wait > firstWait || errors.Is(err, errConflict) {
			l.trouble(err)
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
		l.wait = min(2*l.wait, maxWait)
	}
}

// trouble logs what goes wrong when it begins, changes, or lasts.
func (l *listener) trouble(err error) {
	if err.Error() == l.said && l.now().Sub(l.saidAt) < repeatLog {
		return
	}
	l.said, l.saidAt = err.Error(), l.now()
	l.log.Warn("nothing is received from Telegram now; it is tried again", "surface", l.name, "error", l.said)
}

func (l *listener) fine() {
	l.wait = firstWait
	if l.said != "" {
		l.said = ""
		l.log.Info("Telegram is heard again", "surface", l.name)
	}
}

// ask calls a method that is answered at once, and decodes its result into out,
// unless that is nil.
func (b *bot) ask(ctx context.Context, method string, params, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	a := b.api.call(ctx, method, params)
	if err := a.problem(); err != nil {
		return err
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(a.result, out); err != nil {
		return fmt.Errorf("the answer to %s can't be read", method)
	}
	return nil
}

type nothing struct{}

// meet learns who the bot is, once.
func (b *bot) meet(ctx context.Context) error {
	if b.me.Load() != nil {
		return nil
	}
	var me user
	if err := b.ask(ctx, "getMe", nothing{}, &me); err != nil {
		return err
	}
	if me.ID == 0 {
		return errors.New("the answer to getMe names no bot")
	}
	b.me.Store(&me)
	return nil
}

// take hands what happened to the inbox. Its error means that it must be given
// again.
func (b *bot) take(ctx context.Context, in surface.Inbox, u update) error {
	me := b.me.Load()
	switch {
	case u.Message != nil:
		return b.takeMessage(ctx, in, u.Message, me)
	case u.Edited != nil && !u.Edited.fromBot():
		m := u.Edited.received(me)
		if m.Text == "" {
			return nil
		}
		return in.Change(ctx, m.Chat, m.ID, m.Text)
	case u.Press != nil:
		return b.takePress(ctx, in, u.Press)
	}
	return nil
}

// takeMessage leaves alone what other programs write, and what is no message, such
// as that somebody joined.
func (b *bot) takeMessage(ctx context.Context, in surface.Inbox, m *message, me *user) error {
	if m.fromBot() {
		return nil
	}
	out := m.received(me)
	if err := b.files(ctx, m, &out); err != nil {
		return err
	}
	if isBlank(out.Text) && len(out.Files) == 0 {
		// Who writes the bot's name alone has said that.
		out.Text = m.Text + m.Caption
		if out.Text == "" && len(out.Refused) == 0 {
			return nil
		}
	}
	_, err := in.Receive(ctx, out)
	return err
}

// maxToldUnits is how long the line for the person who pressed may be:
// https://core.telegram.org/bots/api#answercallbackquery.
const maxToldUnits = 200

// takePress answers a press in every case: until then the button shows that it is
// waiting.
func (b *bot) takePress(ctx context.Context, in surface.Inbox, c *callback) error {
	var line string
	if c.Message != nil && c.Data != "" {
		var err error
		line, err = in.Press(ctx, surface.Press{ID: c.ID, Chat: c.Message.chat(), Sender: c.From.person(), Data: c.Data})
		if err != nil {
			return err
		}
	}
	err := b.ask(ctx, "answerCallbackQuery", struct {
		ID   string `json:"callback_query_id"`
		Text string `json:"text,omitempty"`
	}{c.ID, line[:byteAt(line, maxToldUnits)]}, nil)
	if err != nil {
		// The press counts all the same, and the chat shows what came of it.
		b.log.Debug("the answer to a press was not shown", "surface", b.name, "error", err)
	}
	return nil
}
