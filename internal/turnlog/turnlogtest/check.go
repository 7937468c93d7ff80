package turnlogtest

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// readAll reads a conversation in pages.
func readAll(t testing.TB, s turnlog.Store, c id.Conversation, facts bool) (all []event.Record) {
	t.Helper()
	after := int64(0)
	for {
		page, err := s.Read(t.Context(), c, after, turnlog.Limit{Records: 7}, facts)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		after = page[len(page)-1].Seq
	}
}

// holds checks that a store has exactly what the book says, and that its
// indexes do.
func (b *book) holds(t testing.TB, s turnlog.Store) {
	t.Helper()
	b.holdsFrom(t, s, b.reached())
	indexed(t, s, b)
}

// holdsFrom checks that a store has at least the acknowledged records of each
// conversation, beyond them only whole units, all in order and unchanged but for
// erasures, of which it has those that were acknowledged and perhaps the next.
// It returns the book of what the store has.
func (b *book) holdsFrom(t testing.TB, s turnlog.Store, acknowledged reached) *book {
	t.Helper()
	found := newBook(t)
	found.runs, found.approvals, found.blobs = b.runs, b.approvals, b.blobs
	for c, want := range b.records {
		got := readAll(t, s, c, false)
		n := int64(len(got))
		if n < acknowledged.heads[c] || n > int64(len(want)) || !b.ends[c][n] {
			t.Errorf("%s has %d records; %d were acknowledged, %d written, units end at %v", c, n, acknowledged.heads[c], len(want), b.ends[c])
			continue
		}
		found.records[c] = want[:n]
		found.erasures[c] = b.erasures[c][:b.unchanged(t, c, got, acknowledged.erasures[c])]
		if head, err := s.Head(t.Context(), c); err != nil || head != n {
			t.Errorf("%s has head %d, %v; %d records", c, head, err, n)
		}
		if d := cmp.Diff(structural(got), readAll(t, s, c, true), sameRecords); d != "" {
			t.Errorf("facts of %s (-in all records +read):\n%s", c, d)
		}
	}
	return found
}

// unchanged returns how many erasures the records show.
func (b *book) unchanged(t testing.TB, c id.Conversation, got []event.Record, erasures int) int {
	t.Helper()
	diff := ""
	for k := erasures; k <= min(erasures+1, len(b.erasures[c])); k++ {
		want := b.after(c, k)
		if diff = cmp.Diff(want[:min(len(got), len(want))], got, sameRecords); diff == "" {
			return k
		}
	}
	t.Errorf("%s (-written +read):\n%s", c, diff)
	return erasures
}

// structural returns the records that Facts must return: a tombstone is one of
// them if what it stands for was.
func structural(records []event.Record) (facts []event.Record) {
	for _, r := range records {
		kind := r.Kind
		if e, err := r.Event(); err == nil {
			if stone, ok := e.(event.Erased); ok {
				kind = stone.Was
			}
		}
		if spec, ok := event.Lookup(kind); ok && spec.Structural {
			facts = append(facts, r)
		}
	}
	return facts
}

func mustOpen(t testing.TB, subject Subject, dir string, options Options) turnlog.Store {
	t.Helper()
	if options.BallastBytes == 0 {
		options.BallastBytes = -1
	}
	s, err := subject.Open(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func mustClose(t testing.TB, s turnlog.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func newDisk(t testing.TB, subject Subject) Disk {
	t.Helper()
	d, err := subject.NewDisk()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// commitOne writes one group and returns its error.
func commitOne(ctx context.Context, s turnlog.Store, g turnlog.Group) error {
	return s.Commit(ctx, []turnlog.Group{g})[0]
}
