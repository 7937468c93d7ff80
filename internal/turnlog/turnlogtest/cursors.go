package turnlogtest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// G1: readers see the same bytes from every cursor, whatever is cached.
func testCursors(t *testing.T, subject Subject) {
	caches := []struct {
		name  string
		bytes int
	}{{"nothing", -1}, {"one record", 1}, {"everything", 1 << 30}}
	dir := t.TempDir()
	var truth []event.Record
	for round, cache := range caches {
		t.Run(cache.name, func(t *testing.T) {
			l := turnlog.New(mustOpen(t, subject, dir, Options{}), turnlog.Options{CacheBytes: cache.bytes})
			defer func() {
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}()
			r, m := id.Run(fmt.Sprintf("r%d", round)), id.Message(fmt.Sprintf("a%d", round))
			write := func(drafts ...turnlog.Draft) {
				records, err := l.Append(t.Context(), "c", drafts...)
				if err != nil {
					t.Fatal(err)
				}
				truth = append(truth, records...)
			}
			write(asked(m+"q", "hi"), started(r, m))
			for i := range 12 {
				write(said(r, m, i, fmt.Sprintf(" %d 你<&\n\u2028", i)))
			}
			fromEveryCursor(t, l, truth)
			// A writer that finds its place anew goes on where it was.
			write(ended(r, m))
		})
	}
}

func fromEveryCursor(t *testing.T, l *turnlog.Log, truth []event.Record) {
	t.Helper()
	limits := []turnlog.Limit{{}, {Records: 1}, {Records: 5}, {Bytes: 1}, {Bytes: 150}}
	for after := int64(-1); after <= int64(len(truth))+1; after++ {
		for _, limit := range limits {
			got, err := l.After(t.Context(), "c", after, limit)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(expected(truth, after, limit), got, sameRecords); d != "" {
				t.Fatalf("after %d with %+v (-want +got):\n%s", after, limit, d)
			}
			facts, err := l.Facts(t.Context(), "c", after, limit)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(expected(structural(truth), after, limit), facts, sameRecords); d != "" {
				t.Fatalf("facts after %d with %+v (-want +got):\n%s", after, limit, d)
			}
		}
	}
}

// expected is what a read must return, by the words of turnlog.Store.
func expected(all []event.Record, after int64, limit turnlog.Limit) (want []event.Record) {
	limit = limit.Bounded()
	size := 0
	for _, r := range all {
		if r.Seq <= after {
			continue
		}
		size += len(r.Body)
		if len(want) == limit.Records || len(want) > 0 && size > limit.Bytes {
			break
		}
		want = append(want, r)
	}
	return want
}

// testReadersAndWriters has many of both at once; each reader must see seqs
// without gaps, and what it saw must be what was written.
func testReadersAndWriters(t *testing.T, subject Subject) {
	const writers, each = 4, 40
	l := turnlog.New(mustOpen(t, subject, t.TempDir(), Options{}), turnlog.Options{CacheBytes: 2 << 10, CacheTotalBytes: 4 << 10})
	var wg sync.WaitGroup
	for n := range writers {
		c := id.Conversation(fmt.Sprintf("c%d", n%2))
		wg.Go(func() {
			for i := range each {
				if _, err := l.Append(t.Context(), c, asked(id.Message(fmt.Sprintf("%d.%d", n, i)), "hi")); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() { follow(t, l, c, writers/2*each) })
		wg.Go(func() {
			for range each {
				if _, err := l.Conversations(t.Context(), turnlog.Query{Limit: 10}); err != nil {
					t.Error(err)
				}
				if _, err := l.Facts(t.Context(), c, 0, turnlog.Limit{Records: 3}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func follow(t *testing.T, l *turnlog.Log, c id.Conversation, until int64) {
	w := l.Watch(c)
	defer w.Close()
	for cursor := int64(0); cursor < until; {
		records, err := l.After(t.Context(), c, cursor, turnlog.Limit{Records: 5})
		if err != nil {
			t.Error(err)
			return
		}
		for _, r := range records {
			if r.Seq != cursor+1 {
				t.Errorf("%s: seq %d after %d", c, r.Seq, cursor)
				return
			}
			cursor = r.Seq
		}
		if len(records) == 0 {
			<-w.C
		}
	}
}
