package turnlogtest

import (
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// now returns a conversation's records as they must be read now.
func (b *book) now(c id.Conversation) []event.Record { return b.after(c, len(b.erasures[c])) }

// after returns them as they are after so many erasures.
func (b *book) after(c id.Conversation, erasures int) []event.Record {
	records := slices.Clone(b.records[c])
	for _, seqs := range b.erasures[c][:erasures] {
		for _, seq := range seqs {
			records[seq-1] = b.tombstone(records[seq-1])
		}
	}
	return records
}

func (b *book) tombstone(r event.Record) event.Record {
	b.t.Helper()
	stone, err := event.NewRecord(r.Conversation, r.Run, r.Message, event.Erased{Was: r.Kind, Bytes: int64(len(r.Body))})
	if err != nil {
		b.t.Fatal(err)
	}
	stone.Seq, stone.At = r.Seq, r.At
	return stone
}

// named returns the seqs that an erasure names, by the words of
// turnlog.Erasure.
func (b *book) named(c id.Conversation, e turnlog.Erasure) (seqs []int64) {
	for _, r := range b.now(c) {
		ev, err := r.Event()
		if err != nil {
			b.t.Fatal(err)
		}
		if _, gone := ev.(event.Erased); gone {
			continue
		}
		about := r.Run
		if q, ok := ev.(event.Queue); ok {
			about = q.Run
		}
		through := r.Seq <= e.Through && r.Kind != (event.ConversationDeleted{}).Kind() && r.Kind != (event.ConversationRestored{}).Kind()
		if through || slices.Contains(e.Seqs, r.Seq) || about != "" && slices.Contains(e.Runs, about) {
			seqs = append(seqs, r.Seq)
		}
	}
	return seqs
}

// erase erases, notes it, and checks which blobs nothing refers to any more.
func (b *book) erase(s turnlog.Store, c id.Conversation, e turnlog.Erasure) {
	b.t.Helper()
	before := b.used()
	b.erasures[c] = append(b.erasures[c], b.named(c, e))
	after := b.used()
	var want []string
	for _, blob := range before {
		if !slices.Contains(after, blob) {
			want = append(want, blob)
		}
	}
	got, err := s.Erase(b.t.Context(), c, e)
	if err != nil {
		b.t.Fatalf("erase %+v of %s: %v", e, c, err)
	}
	slices.Sort(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		b.t.Errorf("blobs that are free after erasing %+v of %s (-want +got):\n%s", e, c, d)
	}
	b.upkeep(s)
}

// used returns the blobs that any record refers to.
func (b *book) used() (blobs []string) {
	for c := range b.records {
		seen := newBook(b.t)
		for _, r := range b.now(c) {
			seen.noteNames(r)
		}
		for _, blob := range seen.blobs {
			blobs = addNew(blobs, blob)
		}
	}
	return blobs
}
