package inbound

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"verbatim/internal/chat"
	"verbatim/internal/delivery"
	"verbatim/internal/surface"
	"verbatim/internal/turnlog"
)

// Change takes a person's change of the text of a message. While the message
// waits, here or in the queue of its conversation, the new text is what will be
// answered; a command in it is text. Once its turn has begun nothing changes, and
// the person is told once how to ask again. Of a message that is not known, or
// was a command, nothing happens.
func (in *Inbox) Change(ctx context.Context, c surface.Chat, messageID, text string) error {
	return in.edit(ctx, c, messageID, func(l *lane, m delivery.Inbound) error { return l.change(ctx, m, text) })
}

// Remove takes a person's deletion of a message: while it waits it is taken out
// of what will be answered, later nothing happens. Of a message that is not known,
// or was a command, nothing happens.
func (in *Inbox) Remove(ctx context.Context, c surface.Chat, messageID string) error {
	return in.edit(ctx, c, messageID, func(l *lane, m delivery.Inbound) error { return l.remove(ctx, m) })
}

// edit runs f for a message that is known, with its lane held.
func (in *Inbox) edit(ctx context.Context, c surface.Chat, messageID string, f func(*lane, delivery.Inbound) error) error {
	if err := in.begin(); err != nil {
		return err
	}
	defer in.all.Done()
	if messageID == "" {
		return nil
	}
	m, ok, err := in.opt.Store.Received(ctx, in.opt.Surface, c.ID, messageID)
	if err != nil {
		return fmt.Errorf("look for the message: %w", err)
	}
	if !ok {
		return nil
	}
	l, release, err := in.enter(ctx, m.Address)
	if err != nil {
		return err
	}
	defer release()
	// It may have got on meanwhile.
	m, ok, err = in.opt.Store.Received(ctx, in.opt.Surface, c.ID, messageID)
	if err != nil {
		return fmt.Errorf("look for the message: %w", err)
	}
	if !ok || m.State == delivery.InboundTaken && m.Run == "" {
		return nil
	}
	if m.State != delivery.InboundDone && !l.knows(m.Delivery) {
		l.adopt(m)
	}
	return f(l, m)
}

// find returns the turn of a message that waits, and its place in it.
func (l *lane) find(m delivery.Inbound) (t *turn, i int) {
	for _, t := range l.turns {
		i := slices.IndexFunc(t.rows, func(r delivery.Inbound) bool { return r.Delivery == m.Delivery })
		if i >= 0 {
			return t, i
		}
	}
	return nil, -1
}

// sent reports whether the log has a turn.
func (l *lane) sent(ctx context.Context, t *turn) (bool, error) {
	if t.queued || !t.unsure {
		return t.queued, nil
	}
	_, err := l.in.opt.Log.Run(ctx, t.run)
	if errors.Is(err, turnlog.ErrNoRun) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for run %s: %w", t.run, err)
	}
	return true, nil
}

// change replaces the text of a message that waits.
func (l *lane) change(ctx context.Context, m delivery.Inbound, text string) error {
	t, i := l.find(m)
	if t == nil {
		return l.tooLate(ctx, m, text)
	}
	if t.rows[i].Text == text {
		return nil
	}
	changed := *t
	changed.rows = slices.Clone(t.rows)
	changed.rows[i].Text = text
	if blank(changed.text()) && len(changed.request(l.in).Attached) == 0 {
		return l.remove(ctx, m)
	}
	sent, err := l.sent(ctx, t)
	if err != nil {
		return err
	}
	if sent {
		err := l.in.opt.Chat.EditQueued(ctx, t.conversation(), t.run, changed.text(), t.via(l.in))
		switch code := codeOf(err); {
		case code == chat.Missing:
			return l.tooLate(ctx, m, text)
		case code == chat.Invalid:
			return l.in.say(ctx, l.to, "refused", string(t.run), "The change of your message was not taken. "+err.Error())
		case err != nil:
			return fmt.Errorf("change run %s in the queue: %w", t.run, err)
		}
	}
	if err := l.in.opt.Store.SetInbound(ctx, changed.rows[i]); err != nil {
		return fmt.Errorf("store the changed message: %w", err)
	}
	t.rows[i].Text = text
	return nil
}

// tooLate tells a person, once for a message, that a change comes after its turn
// has begun. Platforms report changes of other things than the text too, so the
// text is compared first.
func (l *lane) tooLate(ctx context.Context, m delivery.Inbound, text string) error {
	if m.Run == "" {
		return nil
	}
	state, err := l.in.facts(ctx, m.Conversation)
	if err != nil {
		return fmt.Errorf("read what was asked: %w", err)
	}
	t := turnOf(state, m.Run)
	if t == nil || t.Deleted || strings.Contains("\n"+t.User.Text+"\n", "\n"+text+"\n") {
		return nil
	}
	return l.in.say(ctx, l.to, "too_late", "m:"+m.ID,
		"You changed a message that is being answered or was answered already, so the change has no effect. To have the new text answered, send it as a new message.")
}

// remove takes a message that waits out of its turn.
func (l *lane) remove(ctx context.Context, m delivery.Inbound) error {
	t, i := l.find(m)
	if t == nil {
		return nil
	}
	sent, err := l.sent(ctx, t)
	if err != nil {
		return err
	}
	switch {
	case len(t.rows) == 1 && sent:
		return l.removeQueued(ctx, t)
	case len(t.rows) == 1:
		l.drop(t)
		return l.settle(ctx)
	case sent && len(t.rows[i].Files) == 0:
		return l.removeText(ctx, t, i)
	case sent:
		return l.replace(ctx, t, i, true)
	}
	return l.replace(ctx, t, i, false)
}

// removeQueued takes a turn of one message out of the queue of its conversation.
func (l *lane) removeQueued(ctx context.Context, t *turn) error {
	err := l.in.opt.Chat.RemoveQueued(ctx, t.conversation(), t.run, t.via(l.in))
	switch {
	case codeOf(err) == chat.Missing:
		return nil
	case err != nil:
		return fmt.Errorf("take run %s out of the queue: %w", t.run, err)
	}
	l.drop(t)
	return l.settle(ctx)
}

// drop takes a turn out of the lane: nothing is left to do about it.
func (l *lane) drop(t *turn) {
	l.turns = slices.DeleteFunc(l.turns, func(o *turn) bool { return o == t })
	l.finish(t.rows...)
}

// removeText takes the text of one of several messages out of a queued turn,
// which keeps its place.
func (l *lane) removeText(ctx context.Context, t *turn, i int) error {
	rest := turn{rows: slices.Delete(slices.Clone(t.rows), i, i+1)}
	err := l.in.opt.Chat.EditQueued(ctx, t.conversation(), t.run, rest.text(), t.via(l.in))
	switch {
	case codeOf(err) == chat.Missing:
		return nil
	case err != nil:
		return fmt.Errorf("change run %s in the queue: %w", t.run, err)
	}
	l.finish(t.rows[i])
	t.rows = rest.rows
	return l.settle(ctx)
}

// replace makes a turn up again without one of its messages. A turn that was sent
// gets another run, which goes to the end of the queue: files can't be taken out
// of a message that waits there.
func (l *lane) replace(ctx context.Context, t *turn, i int, sent bool) error {
	next := &turn{rows: slices.Delete(slices.Clone(t.rows), i, i+1), first: t.first, last: t.last, ripe: t.ripe, run: t.run, unsure: t.unsure}
	if sent {
		next.mark(succeeding(t.run))
		next.unsure = true
	}
	gone := t.rows[i]
	gone.State, gone.Text, gone.Files = delivery.InboundDone, "", nil
	if err := l.in.opt.Store.SetInbound(ctx, append(slices.Clone(next.rows), gone)...); err != nil {
		return fmt.Errorf("store the turn without the message: %w", err)
	}
	next.stored = next.run != ""
	l.turns[slices.Index(l.turns, t)] = next
	return nil
}
