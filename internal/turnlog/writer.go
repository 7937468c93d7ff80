package turnlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// maxPlaces bounds how many conversations' heads the writer remembers.
const maxPlaces = 4096

// writer numbers units and commits them. Only the log's writer goroutine uses
// it.
type writer struct {
	store  Store
	now    func() time.Time
	places map[id.Conversation]*place
	holes  map[id.Run]hole
	// reports counts the batches with failures, as Log.reports will once
	// their callbacks have begun.
	reports int

	groups []Group
	parts  []part
	// written are the groups of the last batch that are durable.
	written []Group
}

// place is where a conversation's next record goes.
type place struct {
	head int64
	at   int64 // of the last record, in Unix milliseconds
}

// hole says that a unit of a run failed, so that nothing of the run may follow
// before its owner knows.
type hole struct {
	err     error
	reports int // a unit that was handed over after so many reports came after this one
}

// part is a conversation's share of a batch.
type part struct {
	place *place
	units []*unit
}

func newWriter(store Store, now func() time.Time) *writer {
	return &writer{store: store, now: now, places: map[id.Conversation]*place{}, holes: map[id.Run]hole{}}
}

// commit writes the units of a batch. Afterwards each has its records numbered
// or its err set, and written has what is durable; the result reports whether
// any failed.
func (w *writer) commit(batch []*unit) (failed bool) {
	w.written = w.written[:0]
	w.plan(batch)
	if len(w.groups) > 0 {
		w.settle(w.store.Commit(context.Background(), w.groups))
	}
	for _, u := range batch {
		failed = failed || u.err != nil
	}
	if failed {
		w.reports++
	}
	clear(w.groups)
	clear(w.parts)
	w.groups, w.parts = w.groups[:0], w.parts[:0]
	return failed
}

// plan sorts the units that may be written by conversation, in the order they
// came, and numbers them.
func (w *writer) plan(batch []*unit) {
	index := map[id.Conversation]int{}
	for _, u := range batch {
		if !w.admit(u) {
			continue
		}
		i, ok := index[u.conversation]
		if !ok {
			p, err := w.placeOf(u.conversation)
			if err != nil {
				w.fail(u, fmt.Errorf("find the end of %s: %w", u.conversation, err))
				continue
			}
			i = len(w.parts)
			index[u.conversation] = i
			w.parts = append(w.parts, part{place: p})
		}
		w.parts[i].units = append(w.parts[i].units, u)
	}
	for _, p := range w.parts {
		w.groups = append(w.groups, w.group(p))
	}
}

// group numbers the units of one conversation and joins them.
func (w *writer) group(p part) Group {
	head, at := p.place.head, p.place.at
	if now := w.now().UnixMilli(); now > at {
		at = now
	}
	n := 0
	for _, u := range p.units {
		n += len(u.records)
	}
	records := make([]event.Record, 0, n)
	for _, u := range p.units {
		for j := range u.records {
			head++
			u.records[j].Seq = head
			u.records[j].At = time.UnixMilli(at).UTC()
		}
		first := len(records)
		records = append(records, u.records...)
		// The unit's callers get the very records that the readers get.
		u.records = records[first:len(records):len(records)]
	}
	return Group{Conversation: p.units[0].conversation, Records: records}
}

// settle takes the outcome of a commit, group by group. A group that failed
// gave its seqs back; if it was of several units, each is tried by itself, so
// that the bad one fails alone.
func (w *writer) settle(errs []error) {
	if full(errs) {
		w.store.MakeRoom()
	}
	for i, p := range w.parts {
		switch err := errs[i]; {
		case err == nil:
			w.take(p.place, w.groups[i])
		case len(p.units) == 1 || errors.Is(err, ErrFull) || errors.Is(err, ErrFenced) || errors.Is(err, ErrClosed):
			for _, u := range p.units {
				w.fail(u, err)
			}
		default:
			for _, u := range p.units {
				w.alone(p.place, u)
			}
		}
	}
}

// alone writes one unit in a commit of its own.
func (w *writer) alone(p *place, u *unit) {
	if !w.admit(u) {
		return
	}
	g := w.group(part{place: p, units: []*unit{u}})
	err := w.store.Commit(context.Background(), []Group{g})[0]
	if err == nil {
		w.take(p, g)
		return
	}
	if errors.Is(err, ErrFull) {
		w.store.MakeRoom()
	}
	w.fail(u, err)
}

// take notes that a group is durable.
func (w *writer) take(p *place, g Group) {
	p.take(g.Records)
	w.written = append(w.written, g)
}

// admit reports whether a unit may be written. One that was refused before it
// came here, or whose run has a hole that its caller can't know of, fails.
func (w *writer) admit(u *unit) bool {
	if u.err != nil {
		w.fail(u, u.err)
		return false
	}
	h, ok := w.holes[u.run]
	if !ok || u.run == "" {
		return true
	}
	if u.waits && u.reports >= h.reports {
		delete(w.holes, u.run)
		return true
	}
	u.err = h.err
	return false
}

func (w *writer) fail(u *unit, err error) {
	u.err = err
	if u.run == "" || errors.Is(err, ErrFenced) || errors.Is(err, ErrClosed) {
		return
	}
	w.holes[u.run] = hole{err: err, reports: w.reports + 1}
}

// placeOf finds where a conversation goes on.
func (w *writer) placeOf(c id.Conversation) (*place, error) {
	if p := w.places[c]; p != nil {
		return p, nil
	}
	p, err := w.load(c)
	if err != nil {
		return nil, err
	}
	w.keep(c, p)
	return p, nil
}

// keep remembers where a conversation goes on.
func (w *writer) keep(c id.Conversation, p *place) {
	if len(w.places) >= maxPlaces {
		clear(w.places)
	}
	w.places[c] = p
}

func (w *writer) load(c id.Conversation) (*place, error) {
	ctx := context.Background()
	head, err := w.store.Head(ctx, c)
	if err != nil || head == 0 {
		return &place{}, err
	}
	last, err := w.store.Read(ctx, c, head-1, Limit{Records: 1}, false)
	if err != nil {
		return nil, err
	}
	if len(last) != 1 {
		return nil, fmt.Errorf("record %s-%d is missing", c, head)
	}
	return &place{head: head, at: last[0].At.UnixMilli()}, nil
}

func (p *place) take(records []event.Record) {
	last := records[len(records)-1]
	p.head, p.at = last.Seq, last.At.UnixMilli()
}

func full(errs []error) bool {
	for _, err := range errs {
		if errors.Is(err, ErrFull) {
			return true
		}
	}
	return false
}
