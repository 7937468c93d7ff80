package deliverytest

import (
	"context"

	"verbatim/internal/delivery"
)

// Save stores a change.
func (m *Memory) Save(ctx context.Context, c delivery.Change) error {
	return m.commit(ctx, "Save", func(d *disk) error { return d.check(c) }, func(d *disk) { d.save(c) })
}

// Add stores placements that are not there yet.
func (m *Memory) Add(ctx context.Context, c delivery.Change) (added []delivery.Placement, err error) {
	err = m.commit(ctx, "Add", func(d *disk) error {
		if err := d.check(c); err != nil {
			return err
		}
		fresh := c
		fresh.Place = nil
		for _, p := range c.Place {
			if d.posts[p.Post] == nil {
				fresh.Place = append(fresh.Place, p)
			}
		}
		c = fresh
		return nil
	}, func(d *disk) { added = d.save(c) })
	if err != nil {
		return nil, err
	}
	return added, nil
}

// owner is the binding of a placement in a change.
func owner(c delivery.Change, p delivery.Placement) int64 {
	if p.Binding != 0 {
		return p.Binding
	}
	return c.Binding
}

func (d *disk) save(c delivery.Change) []delivery.Placement {
	l := d.lane(c.Address)
	if c.Pace != nil {
		l.pace = delivery.Pace{NotBefore: plain(c.Pace.NotBefore), Interval: c.Pace.Interval, Quiet: plain(c.Pace.Quiet)}
	}
	saved := make([]delivery.Placement, 0, len(c.Place))
	for _, p := range c.Place {
		p.Binding = owner(c, p)
		saved = append(saved, clone(d.place(l, p).Placement))
	}
	b := d.binding(c.Binding)
	if b == nil {
		return saved
	}
	b.Done = max(b.Done, c.Done)
	for _, r := range c.Runs {
		b.shown[r.Run] = r.Withheld
	}
	return saved
}

func (d *disk) place(l *lane, p delivery.Placement) *spot {
	s := d.posts[p.Post]
	if s == nil {
		s = &spot{lane: l}
		d.posts[p.Post] = s
		l.spots = append(l.spots, s)
	} else {
		p.Binding, p.Run, p.Item, p.Segment = s.Binding, s.Run, s.Item, s.Segment
	}
	if p.PlatformID != "" && p.PlatformID != s.PlatformID {
		l.lastID = p.PlatformID
	}
	s.Placement = clone(p)
	if d.isErased(s) {
		s.blank()
	}
	return s
}
