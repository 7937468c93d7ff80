package turnlogtest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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

// view is all that a store's indexes say.
type view struct {
	Conversations []turnlog.ConversationInfo
	Unfinished    []turnlog.RunInfo
	Runs          map[id.Run]turnlog.RunInfo
}

func look(t testing.TB, s turnlog.Store, runs []id.Run) view {
	t.Helper()
	v := view{Runs: map[id.Run]turnlog.RunInfo{}}
	var err error
	if v.Conversations, err = s.Conversations(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	if v.Unfinished, err = s.Unfinished(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		info, err := s.Run(t.Context(), r)
		if errors.Is(err, turnlog.ErrNoRun) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		v.Runs[r] = info
	}
	return v
}

// holds checks that a store has exactly what the book says.
func (b *book) holds(t testing.TB, s turnlog.Store) {
	t.Helper()
	b.holdsFrom(t, s, b.heads())
}

// holdsFrom checks that a store has at least the acknowledged records of each
// conversation, beyond them only whole units, all in order and unchanged, and
// that its indexes are those of its records.
func (b *book) holdsFrom(t testing.TB, s turnlog.Store, acknowledged map[id.Conversation]int64) {
	t.Helper()
	for c, want := range b.records {
		got := readAll(t, s, c, false)
		n := int64(len(got))
		if n < acknowledged[c] || n > int64(len(want)) || !b.ends[c][n] {
			t.Errorf("%s has %d records; %d were acknowledged, %d written, units end at %v", c, n, acknowledged[c], len(want), b.ends[c])
			continue
		}
		if d := cmp.Diff(want[:n], got, sameRecords); d != "" {
			t.Errorf("%s (-written +read):\n%s", c, d)
		}
		if head, err := s.Head(t.Context(), c); err != nil || head != n {
			t.Errorf("%s has head %d, %v; %d records", c, head, err, n)
		}
		if d := cmp.Diff(structural(got), readAll(t, s, c, true), sameRecords); d != "" {
			t.Errorf("facts of %s (-in all records +read):\n%s", c, d)
		}
	}
}

func structural(records []event.Record) (facts []event.Record) {
	for _, r := range records {
		if spec, ok := event.Lookup(r.Kind); ok && spec.Structural {
			facts = append(facts, r)
		}
	}
	return facts
}

// reindexed checks that a store's indexes say the same when built anew.
func reindexed(t testing.TB, subject Subject, s turnlog.Store, runs []id.Run) {
	t.Helper()
	before := look(t, s, runs)
	if err := subject.Reindex(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, look(t, s, runs), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("indexes (-kept +built anew):\n%s", d)
	}
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
