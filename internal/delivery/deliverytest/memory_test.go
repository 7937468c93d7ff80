package deliverytest_test

import (
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"verbatim/internal/delivery"
	"verbatim/internal/delivery/deliverytest"
	"verbatim/internal/id"
	"verbatim/internal/surface"
	"verbatim/internal/turnlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// place is a Memory beside facts.
type place struct {
	facts  deliverytest.Facts
	now    func() time.Time
	newest *deliverytest.Memory
}

func (p *place) Open(*testing.T) deliverytest.Stores {
	if p.newest == nil {
		p.newest = deliverytest.NewMemory(deliverytest.Options{Log: &p.facts, Now: p.now})
	} else {
		p.newest = p.newest.Reopen()
	}
	return p.newest
}

func (p *place) Append(_ *testing.T, c id.Conversation, drafts ...turnlog.Draft) {
	p.facts.Append(c, drafts...)
}

func (p *place) Erase(t *testing.T, c id.Conversation, what turnlog.Erasure) {
	t.Helper()
	if err := p.newest.Erase(t.Context(), c, what); err != nil {
		t.Fatal(err)
	}
}

func TestMemory(t *testing.T) {
	deliverytest.Run(t, deliverytest.Subject{
		Begin: func(_ *testing.T, now func() time.Time) deliverytest.Place { return &place{now: now} },
	})
}

func TestFates(t *testing.T) {
	cases := []struct {
		name   string
		fate   deliverytest.Fate
		want   error
		stored bool
		alive  bool
	}{
		{"stored", deliverytest.Stored, nil, true, true},
		{"failed", deliverytest.Failed, turnlog.ErrFull, false, true},
		{"crash before", deliverytest.CrashBefore, deliverytest.ErrCrashed, false, false},
		{"crash after", deliverytest.CrashAfter, deliverytest.ErrCrashed, true, false},
	}
	a := delivery.Address{Surface: "s", Chat: surface.Chat{ID: "1"}}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			fate, asked := deliverytest.Stored, ""
			m := deliverytest.NewMemory(deliverytest.Options{Log: &deliverytest.Facts{}, Fate: func(method string) deliverytest.Fate {
				asked = method
				return fate
			}})
			b, err := m.Bind(t.Context(), a, "c")
			if err != nil || asked != "Bind" {
				t.Fatal(asked, err)
			}
			fate = c.fate
			p := delivery.Placement{Post: "p", State: delivery.Planned}
			err = m.Save(t.Context(), delivery.Change{Address: a, Binding: b.ID, Place: []delivery.Placement{p}})
			if !errors.Is(err, c.want) || asked != "Save" {
				t.Errorf("%s: %v, want %v", asked, err, c.want)
			}
			if _, err := m.Lane(t.Context(), a); (err == nil) != c.alive {
				t.Errorf("a call afterwards: %v", err)
			}
			fate = deliverytest.Stored
			next := m.Reopen()
			saved, err := next.Lane(t.Context(), a)
			if err != nil || (len(saved.Place) == 1) != c.stored || next.Start() != 2 {
				t.Errorf("start %d: %+v, %v", next.Start(), saved, err)
			}
			next.Crash()
			if err := next.SetMark(t.Context(), "s", "n", "v"); !errors.Is(err, deliverytest.ErrCrashed) {
				t.Errorf("after a crash: %v", err)
			}
		})
	}
}
