package turnlog

import (
	"math/rand/v2"
	"slices"
	"testing"

	"verbatim/internal/event"
)

// numbered returns records from a seq on, with bodies of some sizes.
func numbered(rnd *rand.Rand, seq int64, n int) []event.Record {
	records := make([]event.Record, n)
	for i := range records {
		records[i] = event.Record{Conversation: "c", Seq: seq + int64(i), Body: make([]byte, 2+rnd.IntN(200))}
	}
	return records
}

func seqs(records []event.Record) []int64 {
	var all []int64
	for _, r := range records {
		all = append(all, r.Seq)
	}
	return all
}

// TestTailsAgainstAList commits batches of one record and of many, and compares
// what the tail returns from every place that it holds with a plain list. What
// was read earlier must stay as it was.
func TestTailsAgainstAList(t *testing.T) {
	limits := []Limit{{}, {Records: 1}, {Records: 300}, {Bytes: 1}, {Bytes: 20_000}}
	for seed := range uint64(4) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		cached := newTails([]int{1, 5_000, 200_000, 1 << 30}[rnd.IntN(4)], 1<<30)
		var all []event.Record
		type reading struct {
			got  []event.Record
			want []int64
		}
		var readings []reading
		for range 25 {
			batch := numbered(rnd, int64(len(all)+1), 1+rnd.IntN(3)*rnd.IntN(300))
			all = append(all, batch...)
			cached.add("c", batch)
			if head, ok := cached.head("c"); !ok || head != int64(len(all)) {
				t.Fatalf("seed %d: the head is %d, %v after record %d", seed, head, ok, len(all))
			}
			for range 10 {
				after := rnd.Int64N(int64(len(all)) + 2)
				limit := limits[rnd.IntN(len(limits))].Bounded()
				got, ok := cached.after("c", after, limit)
				if !ok {
					continue
				}
				rest := all[min(after, int64(len(all))):]
				want := seqs(rest[:limit.fit(rest)])
				if !slices.Equal(seqs(got), want) {
					t.Fatalf("seed %d: after %d with %+v: got %v, want %v", seed, after, limit, seqs(got), want)
				}
				readings = append(readings, reading{got, want})
			}
		}
		for _, r := range readings {
			if !slices.Equal(seqs(r.got), r.want) {
				t.Fatalf("seed %d: what was read changed later", seed)
			}
		}
	}
}

// TestTailsKeepTheNewest: the bounds hold, and what a reader that is up to date
// needs next is there whatever they are.
func TestTailsKeepTheNewest(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, limit := range []int{0, 1, 1_000, 50_000} {
		cached := newTails(limit, 1<<30)
		for seq := int64(1); seq < 2_000; {
			batch := numbered(rnd, seq, 1+rnd.IntN(300))
			cached.add("c", batch)
			seq += int64(len(batch))
			if cached.bytes > max(limit, weight(&batch[len(batch)-1])) {
				t.Fatalf("limit %d: %d bytes kept", limit, cached.bytes)
			}
			got, ok := cached.after("c", seq-2, Limit{}.Bounded())
			if !ok || len(got) != 1 || got[0].Seq != seq-1 {
				t.Fatalf("limit %d: after %d: %v, %v", limit, seq-2, seqs(got), ok)
			}
		}
	}
}

// TestTailsShareWhatACommitBrought: readers get the very records that were
// committed, however many came at once.
func TestTailsShareWhatACommitBrought(t *testing.T) {
	cached := newTails(1<<30, 1<<30)
	batch := numbered(rand.New(rand.NewPCG(1, 1)), 1, 5_000)
	cached.add("c", batch)
	got, ok := cached.after("c", 1_000, Limit{}.Bounded())
	if !ok || len(got) != MaxReadRecords || &got[0] != &batch[1_000] {
		t.Errorf("%d records, %v; want a part of the batch itself", len(got), ok)
	}
	if cap(got) != len(got) {
		t.Error("a reader could write behind what it got")
	}
}
