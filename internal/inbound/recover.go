package inbound

import (
	"context"
	"fmt"

	"verbatim/internal/delivery"
)

// Recover takes up what the last process left, in the order in which it came:
// turns that may not have been sent are sent under the run id that they have,
// messages that were still being collected become turns, and commands that were
// not carried out to their end are carried out. Call it once, after the chat's
// own recovery and before the surface listens. What is in the way of a chat's
// messages is waited out afterwards; an error means that the rest was not taken
// up.
func (in *Inbox) Recover(ctx context.Context) error {
	if err := in.begin(); err != nil {
		return err
	}
	defer in.all.Done()
	open, err := in.opt.Store.OpenInbound(ctx)
	if err != nil {
		return fmt.Errorf("list what was received: %w", err)
	}
	var order []delivery.Address
	held := map[delivery.Address]*lane{}
	release := func() {}
	defer func() { release() }()
	for _, m := range open {
		if m.Surface != in.opt.Surface {
			continue
		}
		l := held[m.Address]
		if l == nil {
			var leave func()
			if l, leave, err = in.enter(ctx, m.Address); err != nil {
				return err
			}
			before := release
			release = func() { leave(); before() }
			held[m.Address] = l
			order = append(order, m.Address)
		}
		if !l.knows(m.Delivery) {
			l.recover(m)
		}
	}
	for _, a := range order {
		held[a].proceed(in.ctx)
	}
	return nil
}

// recover takes up one message. A command is carried out at once, so that one
// that stops what came before it finds that still unsent.
func (l *lane) recover(m delivery.Inbound) {
	l.adopt(m)
	if n := len(l.again); n > 0 && l.again[n-1].Delivery == m.Delivery {
		l.proceedCommands(l.in.ctx)
	}
}

// proceedCommands carries out what is left of commands, in order. The lane is held.
func (l *lane) proceedCommands(ctx context.Context) {
	for len(l.again) > 0 {
		r := l.again[0]
		if err := l.in.carryOut(ctx, l, r); err != nil {
			l.later(err)
			return
		}
		l.again = l.again[1:]
		l.finish(r)
	}
}

// adopt puts a message that is stored and not done where it belongs. The lane is
// held.
func (l *lane) adopt(m delivery.Inbound) {
	switch {
	case m.State == delivery.InboundTaken && m.Run == "":
		l.again = append(l.again, m)
	case m.State == delivery.InboundTaken:
		for _, t := range l.turns {
			if t.run == m.Run {
				t.rows = append(t.rows, m)
				return
			}
		}
		l.turns = append(l.turns, &turn{rows: []delivery.Inbound{m}, run: m.Run, stored: true, unsure: true})
	default:
		l.join(m, m.At, true)
	}
}
