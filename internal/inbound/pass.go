package inbound

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"verbatim/internal/chat"
	"verbatim/internal/delivery"
	"verbatim/internal/id"
	"verbatim/internal/surface"
	"verbatim/internal/turnlog"
)

// fate is what passing a turn on came to.
type fate int

const (
	// over: nothing is left to do about it.
	over fate = iota
	// queued: it waits in its conversation.
	queued
	// blocked: it must be tried again later.
	blocked
)

// takeSigned stores a message as a turn of its own and passes it on. The lane is
// held.
func (l *lane) takeSigned(ctx context.Context, r delivery.Inbound) (surface.Ack, error) {
	t := &turn{rows: []delivery.Inbound{r}}
	t.mark(l.in.opt.Mint.Run())
	ack, err := l.in.add(ctx, l, t.rows[0])
	if err != nil || ack.Delivery != r.Delivery {
		return ack, err
	}
	t.stored = true
	// Nothing is waited for any more, also not by those before it.
	for _, o := range l.turns {
		o.ripe = true
	}
	l.turns = append(l.turns, t)
	// It is ours now, whether its sender still waits or not.
	l.proceed(l.in.ctx)
	return ack, nil
}

// pass passes turns on in order, as far as they are due and nothing is in the
// way. The lane is held.
func (l *lane) pass(ctx context.Context) {
	now := time.Now()
	poll := !now.Before(l.poll)
	if poll {
		l.poll = now.Add(pollPause)
	}
	for i := 0; i < len(l.turns); {
		t := l.turns[i]
		if t.queued && !poll {
			i++
			continue
		}
		if now.Before(t.due()) {
			return
		}
		how, err := l.offer(ctx, t)
		if err != nil {
			l.later(err)
		}
		switch how {
		case over:
			l.turns = slices.Delete(l.turns, i, i+1)
			l.finish(t.rows...)
		case queued:
			t.queued = true
			i++
		case blocked:
			if l.halted || !t.queued {
				return
			}
			i++
		}
	}
	l.told = ""
}

// offer passes one turn on. An error says why it is blocked.
func (l *lane) offer(ctx context.Context, t *turn) (fate, error) {
	if err := l.makeUp(ctx, t); err != nil {
		return blocked, err
	}
	if t.unsure {
		info, err := l.in.opt.Log.Run(ctx, t.run)
		if err == nil {
			return taken(info), nil
		}
		if !errors.Is(err, turnlog.ErrNoRun) {
			return blocked, fmt.Errorf("look for run %s: %w", t.run, err)
		}
	}
	if before := preceding(t.run); before != "" {
		begun, err := l.withdraw(ctx, t, before)
		if err != nil {
			return blocked, err
		}
		if begun {
			return over, nil
		}
	}
	if _, err := l.in.opt.Store.Bind(ctx, l.to, t.conversation()); err != nil {
		return blocked, fmt.Errorf("bind the chat: %w", err)
	}
	t.unsure = true
	info, err := l.send(ctx, t)
	if err != nil {
		return l.refused(ctx, t, err)
	}
	return taken(info), nil
}

// taken is what a turn came to that the log has.
func taken(info turnlog.RunInfo) fate {
	if info.First == 0 && info.Dropped == 0 {
		return queued
	}
	return over
}

// makeUp gives a turn its run, durably, before anybody hears of it: whoever sends
// it again sends it under the same.
func (l *lane) makeUp(ctx context.Context, t *turn) error {
	if t.stored {
		return nil
	}
	if t.run == "" {
		t.mark(l.in.opt.Mint.Run())
	}
	if err := l.in.opt.Store.SetInbound(ctx, t.rows...); err != nil {
		return fmt.Errorf("store the turn: %w", err)
	}
	t.stored = true
	return nil
}

// send sends a turn. A queue that is held because an answer failed goes on with
// the next message, also where it is too long to take that one first.
func (l *lane) send(ctx context.Context, t *turn) (turnlog.RunInfo, error) {
	req := t.request(l.in)
	info, err := l.in.opt.Chat.Send(ctx, req)
	if codeOf(err) != chat.TooMany {
		return info, err
	}
	state, ferr := l.in.facts(ctx, req.Conversation)
	if ferr != nil || !state.Held {
		return info, err
	}
	if rerr := l.in.opt.Chat.Resume(ctx, req.Conversation, req.Via); rerr != nil {
		return info, err
	}
	return l.in.opt.Chat.Send(ctx, req)
}

// codeOf is the code of a refusal, empty for another error or none.
func codeOf(err error) chat.Code {
	if refusal, ok := errors.AsType[*chat.Error](err); ok {
		return refusal.Code
	}
	return ""
}

// refused is what a turn came to that the chat did not take.
func (l *lane) refused(ctx context.Context, t *turn, err error) (fate, error) {
	const kept = "What you wrote is kept and will be passed on "
	switch codeOf(err) {
	case chat.Stopping:
		l.halted = true
		return blocked, nil
	case chat.TooMany:
		l.tell(ctx, t, chat.TooMany, fmt.Sprintf("%d messages wait here already. %sas soon as there is room.", chat.MaxQueue, kept))
		return blocked, err
	case chat.Full:
		l.tell(ctx, t, chat.Full, "The disk is full. "+kept+"as soon as there is room.")
		return blocked, err
	case chat.Conflict:
		l.tell(ctx, t, chat.Conflict, "The last answer could not be stored to its end yet. "+kept+"after it.")
		return blocked, err
	case chat.Missing:
		// It was sent before, and somebody has deleted it.
		return over, nil
	case chat.Invalid, chat.Mismatch:
		l.in.opt.Logger.Error("a turn was refused", "conversation", t.conversation(), "run", t.run, "err", err)
		if serr := l.in.say(ctx, l.to, "refused", string(t.run), "This was not passed on. "+err.Error()); serr != nil {
			return blocked, serr
		}
		return over, nil
	default:
		return blocked, err
	}
}

// tell says once for each time that something is in the way what it is.
func (l *lane) tell(ctx context.Context, t *turn, code chat.Code, text string) {
	if l.told == string(code) {
		return
	}
	l.told = string(code)
	l.in.trySay(ctx, l.to, "waits_"+string(code), string(t.run), text)
}

// withdraw takes a turn that is replaced out of the queue. begun reports that it
// is too late for that.
func (l *lane) withdraw(ctx context.Context, t *turn, before id.Run) (begun bool, err error) {
	err = l.in.opt.Chat.RemoveQueued(ctx, t.conversation(), before, t.via(l.in))
	if err == nil {
		return false, nil
	}
	if codeOf(err) != chat.Missing {
		return false, fmt.Errorf("take run %s out of the queue: %w", before, err)
	}
	info, err := l.in.opt.Log.Run(ctx, before)
	if errors.Is(err, turnlog.ErrNoRun) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for run %s: %w", before, err)
	}
	return info.First > 0, nil
}
