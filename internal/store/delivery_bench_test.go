package store_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/event"
	"verbatim/internal/store"
	"verbatim/internal/surface"
	"verbatim/internal/turnlog"
)

// BenchmarkSave is what a lane stores about a post, before and after its call,
// beside a commit of the log of one record. A real disk is wanted: set TMPDIR.
func BenchmarkSave(b *testing.B) {
	for _, chats := range []int{1, 64} {
		b.Run(fmt.Sprintf("save/chats=%d", chats), func(b *testing.B) { benchmarkSave(b, chats) })
	}
	b.Run("commit", benchmarkCommit)
}

func openBench(b *testing.B) *store.DB {
	b.Helper()
	db, err := store.Open(b.TempDir(), store.Options{BallastBytes: -1})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	return db
}

func benchmarkSave(b *testing.B, chats int) {
	db := openBench(b)
	var bound []delivery.Binding
	for i := range chats {
		one, err := db.Bind(b.Context(), chat(fmt.Sprint(i)), "c")
		if err != nil {
			b.Fatal(err)
		}
		bound = append(bound, one)
	}
	text := strings.Repeat("twelve words of text that a person reads in a chat, ", 13)
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ResetTimer()
	for _, one := range bound {
		wg.Go(func() {
			for n := int64(0); left.Add(-1) >= 0; n++ {
				// Every eighth is a new post, the others are edits and receipts.
				p := delivery.Placement{
					Post: fmt.Sprintf("p%d-%d", one.ID, n/8), Binding: one.ID, Run: "r", Item: "t:s1", Segment: "s1", Part: 1, Seq: n,
					State: delivery.InFlight, Attempts: int(n % 8), At: time.Now(), Body: &surface.Post{ID: "p", Text: text[:80*(1+n%8)]},
				}
				if n%2 == 1 {
					p.State, p.PlatformID, p.Shown = delivery.Delivered, "12345", strings.Repeat("a", 64)
				}
				if err := db.Save(b.Context(), delivery.Change{Address: one.Address, Binding: one.ID, Place: []delivery.Placement{p}}); err != nil {
					b.Error(err)
				}
				if n%64 == 0 {
					if _, err := db.Upkeep(b.Context()); err != nil {
						b.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "saves/s")
}

func benchmarkCommit(b *testing.B) {
	db := openBench(b)
	start, err := event.NewRecord("c", "r", "a", event.Start{Model: "x", Version: 1})
	if err != nil {
		b.Fatal(err)
	}
	start.Seq, start.At = 1, time.Now()
	records := []event.Record{start}
	b.ResetTimer()
	for n := range b.N {
		if err := db.Commit(b.Context(), []turnlog.Group{{Conversation: "c", Records: records}})[0]; err != nil {
			b.Fatal(err)
		}
		next, err := event.NewRecord("c", "r", "a", event.Delta{Segment: "s1", Offset: int64(n) * 80, Text: strings.Repeat("x", 80)})
		if err != nil {
			b.Fatal(err)
		}
		next.Seq, next.At = int64(n)+2, time.Now()
		records[0] = next
		if n%64 == 0 {
			if _, err := db.Upkeep(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
}
