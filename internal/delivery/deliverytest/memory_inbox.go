package deliverytest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/event"
)

// InboundAge is how long the identity of a message is kept after it is done.
const InboundAge = 30 * 24 * time.Hour

var errInbound = errors.New("no such received message")

// inbox holds messages in the order in which they were received.
type inbox struct{ all []*received }

type received struct {
	delivery.Inbound
	done time.Time
}

func (b *inbox) find(of func(delivery.Inbound) bool) *received {
	if i := slices.IndexFunc(b.all, func(r *received) bool { return of(r.Inbound) }); i >= 0 {
		return b.all[i]
	}
	return nil
}

func (b *inbox) named(delivered string) *received {
	return b.find(func(m delivery.Inbound) bool { return m.Delivery == delivered })
}

func (b *inbox) known(surface, chat, id string) *received {
	return b.find(func(m delivery.Inbound) bool {
		return id != "" && m.Surface == surface && m.Chat.ID == chat && m.ID == id
	})
}

// Received returns a message by its identity, and false for none.
func (m *Memory) Received(ctx context.Context, surface, chat, id string) (in delivery.Inbound, ok bool, err error) {
	err = m.read(ctx, func(d *disk) error {
		if r := d.inbox.known(surface, chat, id); r != nil {
			in, ok = cloneInbound(r.Inbound), true
		}
		return nil
	})
	return in, ok, err
}

// AddInbound stores a message; delivery.ErrReceived when its identity is there.
func (m *Memory) AddInbound(ctx context.Context, in delivery.Inbound) error {
	return m.commit(ctx, "AddInbound", func(d *disk) error {
		d.prune()
		if in.Delivery == "" {
			return fmt.Errorf("a message without a name: %w", errInbound)
		}
		if d.inbox.named(in.Delivery) != nil || d.inbox.known(in.Surface, in.Chat.ID, in.ID) != nil {
			return delivery.ErrReceived
		}
		return nil
	}, func(d *disk) {
		r := &received{}
		d.inbox.all = append(d.inbox.all, r)
		d.receive(r, in)
	})
}

// prune forgets what was done long ago.
func (d *disk) prune() {
	since := d.Now().Add(-InboundAge)
	d.inbox.all = slices.DeleteFunc(d.inbox.all, func(r *received) bool {
		return r.State == delivery.InboundDone && !r.done.After(since)
	})
}

// SetInbound replaces messages by their Delivery, all or none. Where they came
// from and their ID stay.
func (m *Memory) SetInbound(ctx context.Context, all ...delivery.Inbound) error {
	return m.commit(ctx, "SetInbound", func(d *disk) error {
		for _, in := range all {
			if d.inbox.named(in.Delivery) == nil {
				return fmt.Errorf("%s: %w", in.Delivery, errInbound)
			}
		}
		return nil
	}, func(d *disk) {
		for _, in := range all {
			r := d.inbox.named(in.Delivery)
			in.Address, in.ID = r.Address, r.ID
			d.receive(r, in)
		}
	})
}

func (d *disk) receive(r *received, in delivery.Inbound) {
	was := r.State
	r.Inbound = cloneInbound(in)
	if in.State == delivery.InboundDone {
		r.Text, r.Files = "", nil
		if was != delivery.InboundDone {
			r.done = d.Now()
		}
	}
	if d.runErased(in.Run) {
		r.blank()
	}
}

// OpenInbound returns the messages that are not done, in the order in which they
// were received.
func (m *Memory) OpenInbound(ctx context.Context) (all []delivery.Inbound, err error) {
	err = m.read(ctx, func(d *disk) error {
		for _, r := range d.inbox.all {
			if r.State != delivery.InboundDone {
				all = append(all, cloneInbound(r.Inbound))
			}
		}
		return nil
	})
	return all, err
}

// Mark returns what SetMark has stored, empty for nothing.
func (m *Memory) Mark(ctx context.Context, surface, name string) (value string, err error) {
	err = m.read(ctx, func(d *disk) error {
		value = d.marks[[2]string{surface, name}]
		return nil
	})
	return value, err
}

// SetMark stores a surface's own note.
func (m *Memory) SetMark(ctx context.Context, surface, name, value string) error {
	return m.commit(ctx, "SetMark", fine, func(d *disk) { d.marks[[2]string{surface, name}] = value })
}

func cloneInbound(in delivery.Inbound) delivery.Inbound {
	in.At = plain(in.At)
	in.Sender.Other = append([]string(nil), in.Sender.Other...)
	in.Files = append([]event.Attachment(nil), in.Files...)
	return in
}
