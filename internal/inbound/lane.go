package inbound

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/turnlog"
)

const (
	// How long what was refused for the moment waits before it is tried again.
	firstPause = 250 * time.Millisecond
	maxPause   = 10 * time.Second
	// pollPause is how often it is looked whether turns in the queue of their
	// conversation have begun.
	pollPause = 30 * time.Second
)

// lane is the work for one chat: its turns in order, and what is left of its
// commands. It exists while it has any, or somebody is at it.
type lane struct {
	in *Inbox
	to delivery.Address
	// hold is held by whoever changes the lane.
	hold chan struct{}
	// wake has room for one signal that there is something to do.
	wake chan struct{}

	// Guarded by Inbox.mu.
	users   int
	working bool

	// Guarded by hold.
	turns []*turn
	// again are commands that were not carried out to their end, done are
	// messages about which nothing is left to do and which are not stored so.
	again, done []delivery.Inbound
	// halted says that nothing can be done any more before the next start.
	halted bool
	// Not before retry is something tried again that was refused; pause is how
	// long that was. poll is when to look at queued turns.
	retry time.Time
	pause time.Duration
	poll  time.Time
	// told is the refusal that the chat knows of already.
	told string
}

// enter waits for the hold of a chat's lane. release gives it back and has what
// there is to do done.
func (in *Inbox) enter(ctx context.Context, a delivery.Address) (l *lane, release func(), err error) {
	in.mu.Lock()
	l = in.lanes[a]
	if l == nil {
		l = &lane{in: in, to: a, hold: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
		in.lanes[a] = l
	}
	l.users++
	in.mu.Unlock()
	select {
	case l.hold <- struct{}{}:
		return l, func() { in.leave(l, true) }, nil
	case <-ctx.Done():
		in.leave(l, false)
		return nil, nil, ctx.Err()
	}
}

func (in *Inbox) leave(l *lane, held bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	idle := true
	if held {
		idle = l.idle()
		<-l.hold
	}
	l.users--
	switch {
	case !idle && l.working:
		select {
		case l.wake <- struct{}{}:
		default:
		}
	case !idle && !in.closed:
		l.working = true
		in.all.Add(1)
		go l.work()
	}
	in.tidy(l)
}

// tidy drops a lane that holds nothing. Inbox.mu is held.
func (in *Inbox) tidy(l *lane) {
	if l.users == 0 && !l.working && l.empty() {
		delete(in.lanes, l.to)
	}
}

func (l *lane) empty() bool { return len(l.turns) == 0 && len(l.again) == 0 && len(l.done) == 0 }

// idle reports whether there is nothing to do.
func (l *lane) idle() bool { return l.halted || l.empty() }

// work is the lane's goroutine. It ends when there is nothing to do.
func (l *lane) work() {
	defer l.in.all.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-l.wake:
		case <-timer.C:
		case <-l.in.ctx.Done():
			return
		}
		next, more := l.step()
		if !more && l.in.rest(l) {
			return
		}
		timer.Reset(time.Until(next))
	}
}

// rest ends a lane's work, unless there is more to do by now.
func (in *Inbox) rest(l *lane) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	select {
	case <-l.wake:
		return false
	default:
	}
	l.working = false
	in.tidy(l)
	return true
}

// step does what is due, and returns when something is due next, if ever.
func (l *lane) step() (next time.Time, more bool) {
	in := l.in
	select {
	case l.hold <- struct{}{}:
	case <-in.ctx.Done():
		return time.Time{}, false
	}
	defer func() { <-l.hold }()
	l.proceed(in.ctx)
	return l.next()
}

// proceed does what is due. The lane is held.
func (l *lane) proceed(ctx context.Context) {
	if l.halted || time.Now().Before(l.retry) {
		return
	}
	l.retry = time.Time{}
	if err := l.settle(ctx); err != nil {
		l.later(err)
		return
	}
	l.proceedCommands(ctx)
	l.pass(ctx)
	if err := l.settle(ctx); err != nil {
		l.later(err)
	}
	if l.retry.IsZero() {
		l.pause = 0
	}
}

// next is when something is due.
func (l *lane) next() (at time.Time, more bool) {
	if l.idle() {
		return time.Time{}, false
	}
	if !l.retry.IsZero() {
		return l.retry, true
	}
	at, more = l.poll, false
	for _, t := range l.turns {
		if t.queued {
			more = true
			continue
		}
		if due := t.due(); !more || due.Before(at) {
			at = due
		}
		return at, true
	}
	return at, more
}

// later puts off what was refused.
func (l *lane) later(err error) {
	if l.in.ctx.Err() != nil || errors.Is(err, delivery.ErrFenced) || errors.Is(err, turnlog.ErrFenced) || errors.Is(err, turnlog.ErrClosed) {
		l.halted = true
		return
	}
	l.pause = min(max(2*l.pause, firstPause), maxPause)
	l.retry = time.Now().Add(l.pause)
	level := slog.LevelDebug
	if l.pause == firstPause {
		level = slog.LevelWarn
	}
	l.in.opt.Logger.Log(l.in.ctx, level, "a chat's messages wait", "chat", l.to.Chat.ID, "thread", l.to.Chat.Thread, "again_in", l.pause, "err", err)
}

// settle stores that messages are done. The lane is held.
func (l *lane) settle(ctx context.Context) error {
	if len(l.done) == 0 {
		return nil
	}
	if err := l.in.opt.Store.SetInbound(ctx, l.done...); err != nil {
		return fmt.Errorf("store that messages are done: %w", err)
	}
	l.done = nil
	return nil
}

// finish notes that nothing is left to do about messages. A command forgets where
// it belonged.
func (l *lane) finish(rows ...delivery.Inbound) {
	for _, r := range rows {
		if r.Run == "" && r.State == delivery.InboundTaken {
			r.Conversation = ""
		}
		r.State, r.Text, r.Files = delivery.InboundDone, "", nil
		l.done = append(l.done, r)
	}
}

// waiting counts the messages that are not passed on yet.
func (l *lane) waiting() int {
	n := 0
	for _, t := range l.turns {
		if !t.queued {
			n += len(t.rows)
		}
	}
	return n
}

// knows reports whether a message is in the lane.
func (l *lane) knows(deliveryID string) bool {
	is := func(r delivery.Inbound) bool { return r.Delivery == deliveryID }
	return slices.ContainsFunc(l.again, is) || slices.ContainsFunc(l.done, is) ||
		slices.ContainsFunc(l.turns, func(t *turn) bool { return slices.ContainsFunc(t.rows, is) })
}
