package deliverytest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/id"
	"verbatim/internal/surface"
	"verbatim/internal/turnlog"
)

var (
	errBinding = errors.New("the chat has no such binding")
	errPost    = errors.New("a placement without the id of its post, or with that of another chat's")
)

// lane is a chat.
type lane struct {
	address  delivery.Address
	pace     delivery.Pace
	lastID   string
	bindings []*binding
	spots    []*spot // in the order in which they were first stored
}

// binding is a binding and the runs that it has shown.
type binding struct {
	delivery.Binding
	lane  *lane
	shown map[id.Run]delivery.Withheld
}

// spot is a placement.
type spot struct {
	delivery.Placement
	lane *lane
}

// lane finds a chat, or makes it.
func (d *disk) lane(a delivery.Address) *lane {
	l := d.lanes[a]
	if l == nil {
		l = &lane{address: a}
		d.lanes[a] = l
		d.order = append(d.order, l)
	}
	return l
}

func (d *disk) binding(n int64) *binding {
	if n < 1 || n > int64(len(d.bindings)) {
		return nil
	}
	return d.bindings[n-1]
}

// open returns the binding that a chat shows now, nil for none.
func (l *lane) open() *binding {
	if n := len(l.bindings); n > 0 && !l.bindings[n-1].Closed {
		return l.bindings[n-1]
	}
	return nil
}

// Addresses returns the chats that have a binding or a post that is not settled.
func (m *Memory) Addresses(ctx context.Context) (all []delivery.Address, err error) {
	err = m.read(ctx, func(d *disk) error {
		for _, l := range d.order {
			if len(l.bindings) > 0 || slices.ContainsFunc(l.spots, d.unsettled) {
				all = append(all, l.address)
			}
		}
		return nil
	})
	return all, err
}

// Bound returns the open binding of a chat, and false for none.
func (m *Memory) Bound(ctx context.Context, a delivery.Address) (b delivery.Binding, ok bool, err error) {
	err = m.read(ctx, func(d *disk) error {
		if l := d.lanes[a]; l != nil && l.open() != nil {
			b, ok = l.open().Binding, true
		}
		return nil
	})
	return b, ok, err
}

// Bind shows a conversation in a chat.
func (m *Memory) Bind(ctx context.Context, a delivery.Address, c id.Conversation) (delivery.Binding, error) {
	var bound delivery.Binding
	var head, last int64
	if b, ok, err := m.Bound(ctx, a); err != nil || ok && b.Conversation == c {
		return b, err
	}
	err := m.commit(ctx, "Bind", func(d *disk) (err error) {
		if head, err = d.head(c); err != nil {
			return err
		}
		if l := d.lanes[a]; l != nil && l.open() != nil {
			last, err = d.head(l.open().Conversation)
		}
		return err
	}, func(d *disk) {
		l := d.lane(a)
		old := l.open()
		if old != nil && old.Conversation == c {
			bound = old.Binding
			return
		}
		if old != nil {
			old.Closed, old.Until = true, last
		}
		b := &binding{lane: l, shown: map[id.Run]delivery.Withheld{}, Binding: delivery.Binding{
			ID: int64(len(d.bindings)) + 1, Address: a, Conversation: c, From: head, Done: head,
		}}
		d.bindings = append(d.bindings, b)
		l.bindings = append(l.bindings, b)
		bound = b.Binding
	})
	if err != nil {
		return delivery.Binding{}, err
	}
	return bound, nil
}

// Lane returns what is stored of a chat.
func (m *Memory) Lane(ctx context.Context, a delivery.Address) (saved delivery.Saved, err error) {
	err = m.read(ctx, func(d *disk) error {
		l := d.lanes[a]
		if l == nil {
			return nil
		}
		saved.Pace, saved.LastID = l.pace, l.lastID
		listed := map[int64]*binding{}
		for _, b := range l.bindings {
			if d.left(b) {
				saved.Bindings = append(saved.Bindings, b.Binding)
				listed[b.ID] = b
			}
		}
		for _, s := range l.spots {
			b := listed[s.Binding]
			if b != nil && s.Seq > b.Done || d.unsettled(s) {
				saved.Place = append(saved.Place, clone(s.Placement))
			}
		}
		return nil
	})
	return saved, err
}

// left reports whether anything is left to do in a binding.
func (d *disk) left(b *binding) bool {
	return !b.Closed || b.Done < b.Until || slices.ContainsFunc(b.lane.spots, func(s *spot) bool {
		return s.Binding == b.ID && d.unsettled(s)
	})
}

// unsettled reports whether something may be left to do about a placement,
// however far its binding is settled. Nothing of a run that is shown is left to be
// found out.
func (d *disk) unsettled(s *spot) bool {
	if s.State == delivery.Planned || s.State == delivery.InFlight || s.EditTo != 0 || s.Again {
		return true
	}
	if s.State != delivery.Unknown || s.Body == nil {
		return false
	}
	b := d.binding(s.Binding)
	if b == nil || s.Run == "" {
		return true
	}
	_, shown := b.shown[s.Run]
	return !shown
}

// Unsure returns what may be missing of the newest run in a chat of which
// anything may be.
func (m *Memory) Unsure(ctx context.Context, a delivery.Address) (all []delivery.Placement, err error) {
	err = m.read(ctx, func(d *disk) error {
		l := d.lanes[a]
		if l == nil {
			return nil
		}
		unsure := slices.DeleteFunc(slices.Clone(l.spots), func(s *spot) bool {
			return s.Run == "" || s.Body == nil || s.State != delivery.Unknown && s.State != delivery.Refused
		})
		for _, s := range unsure {
			if s.Run == unsure[len(unsure)-1].Run {
				all = append(all, clone(s.Placement))
			}
		}
		return nil
	})
	return all, err
}

// Receipts returns what is stored of a run, by binding.
func (m *Memory) Receipts(ctx context.Context, run id.Run) (all []delivery.Receipt, err error) {
	err = m.read(ctx, func(d *disk) error {
		info, err := d.Log.Run(ctx, run)
		if err != nil && !errors.Is(err, turnlog.ErrNoRun) {
			return err
		}
		known := err == nil
		first := info.First
		if first == 0 {
			first = math.MaxInt64
		}
		for _, b := range d.bindings {
			r := delivery.Receipt{Binding: b.Binding}
			r.Withheld, r.Finished = b.shown[run]
			for _, s := range b.lane.spots {
				if s.Binding == b.ID && s.Run == run {
					r.Place = append(r.Place, clone(s.Placement))
				}
			}
			meant := known && info.Dropped == 0 && b.Conversation == info.Conversation && b.From < first && (!b.Closed || b.Until >= first)
			if meant || r.Finished || len(r.Place) > 0 {
				all = append(all, r)
			}
		}
		return nil
	})
	return all, err
}

// clone copies a placement as it comes back from a disk: with times in UTC and
// none of the caller's memory.
func clone(p delivery.Placement) delivery.Placement {
	for _, t := range []*time.Time{&p.At, &p.First, &p.NotBefore} {
		*t = plain(*t)
	}
	if p.Body != nil {
		body := *p.Body
		body.Buttons = append([]surface.Button(nil), body.Buttons...)
		body.Files = append([]surface.File(nil), body.Files...)
		for i := range body.Files {
			body.Files[i].Data = nil
		}
		p.Body = &body
	}
	return p
}

func plain(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Round(0)
}

// check refuses a change that names what is not there.
func (d *disk) check(c delivery.Change) error {
	l := d.lanes[c.Address]
	known := func(n int64) bool {
		b := d.binding(n)
		return n == 0 || b != nil && b.lane == l
	}
	if !known(c.Binding) || c.Binding == 0 && (c.Done != 0 || len(c.Runs) > 0) {
		return fmt.Errorf("binding %d: %w", c.Binding, errBinding)
	}
	for _, p := range c.Place {
		if !known(p.Binding) {
			return fmt.Errorf("post %s in binding %d: %w", p.Post, p.Binding, errBinding)
		}
		if s := d.posts[p.Post]; p.Post == "" || s != nil && s.lane != l {
			return fmt.Errorf("post %q: %w", p.Post, errPost)
		}
	}
	return nil
}
