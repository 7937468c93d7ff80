package turnlogtest

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// sameRecords compares records as readers see them: whether the payload is at
// hand decoded is no part of that.
var sameRecords = cmp.Options{
	cmpopts.IgnoreUnexported(event.Record{}), cmpopts.EquateEmpty(),
	cmp.Comparer(func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }),
}

// book is what a test has written: the truth that a store is compared with.
type book struct {
	t testing.TB
	// records are as they were written, whatever was erased since.
	records map[id.Conversation][]event.Record
	// erasures are the seqs that went, in the order in which they did.
	erasures map[id.Conversation][][]int64
	// ends are the seqs at which units end.
	ends map[id.Conversation]map[int64]bool
	// runs are all that were queued or started, approvals all that were asked
	// for, blobs all that were referred to, in that order.
	runs      []id.Run
	approvals []id.Approval
	blobs     []string
	at        int64
}

func newBook(t testing.TB) *book {
	return &book{
		t: t, records: map[id.Conversation][]event.Record{}, erasures: map[id.Conversation][][]int64{},
		ends: map[id.Conversation]map[int64]bool{}, at: 1_700_000_000_000,
	}
}

// group makes the next records of a conversation, without noting them.
func (b *book) group(c id.Conversation, drafts ...turnlog.Draft) turnlog.Group {
	g := turnlog.Group{Conversation: c}
	b.at += 7
	for i, d := range drafts {
		r, err := event.NewRecord(c, d.Run, d.Message, d.Event)
		if err != nil {
			b.t.Fatal(err)
		}
		r.Seq = int64(len(b.records[c]) + i + 1)
		r.At = time.UnixMilli(b.at).UTC()
		g.Records = append(g.Records, r)
	}
	return g
}

// note takes groups that were written.
func (b *book) note(groups ...turnlog.Group) {
	for _, g := range groups {
		c := g.Conversation
		b.records[c] = append(b.records[c], g.Records...)
		if b.ends[c] == nil {
			b.ends[c] = map[int64]bool{0: true}
		}
		b.ends[c][g.Records[len(g.Records)-1].Seq] = true
		for _, r := range g.Records {
			b.noteNames(r)
		}
	}
}

func (b *book) noteNames(r event.Record) {
	e, err := r.Event()
	if err != nil {
		b.t.Fatal(err)
	}
	if r.Run != "" {
		b.runs = addNew(b.runs, r.Run)
	}
	switch e := e.(type) {
	case event.Queue:
		if e.Op == event.QueueAdd {
			b.runs = addNew(b.runs, e.Run)
		}
		if e.Message != nil {
			b.noteBlobs(e.Message.Attachments)
		}
	case event.UserMessage:
		b.noteBlobs(e.Attachments)
	case event.ApprovalRequest:
		b.approvals = addNew(b.approvals, e.Approval)
	case event.ToolResult:
		if e.Blob != "" {
			b.blobs = addNew(b.blobs, e.Blob)
		}
	}
}

func (b *book) noteBlobs(files []event.Attachment) {
	for _, f := range files {
		b.blobs = addNew(b.blobs, f.Blob)
	}
}

func addNew[T comparable](all []T, one T) []T {
	if slices.Contains(all, one) {
		return all
	}
	return append(all, one)
}

// commit writes groups and notes them.
func (b *book) commit(s turnlog.Store, groups ...turnlog.Group) {
	b.t.Helper()
	for i, err := range s.Commit(b.t.Context(), groups) {
		if err != nil {
			b.t.Fatalf("group %d of %d: %v", i, len(groups), err)
		}
	}
	b.note(groups...)
	b.upkeep(s)
}

// upkeep lets a store do what is due.
func (b *book) upkeep(s turnlog.Store) {
	b.t.Helper()
	for more := true; more; {
		var err error
		if more, err = s.Upkeep(b.t.Context()); err != nil {
			b.t.Fatal(err)
		}
	}
}

// imports writes a group as a conversation's first records and notes it.
func (b *book) imports(s turnlog.Store, g turnlog.Group) {
	b.t.Helper()
	if err := s.Import(b.t.Context(), g); err != nil {
		b.t.Fatal(err)
	}
	b.note(g)
	b.at = max(b.at, g.Records[len(g.Records)-1].At.UnixMilli())
	b.upkeep(s)
}

// reached is how much of a book was acknowledged: the heads of conversations,
// and how many of their erasures.
type reached struct {
	heads    map[id.Conversation]int64
	erasures map[id.Conversation]int
}

func (b *book) reached() reached {
	r := reached{heads: map[id.Conversation]int64{}, erasures: map[id.Conversation]int{}}
	for c, records := range b.records {
		r.heads[c] = int64(len(records))
		r.erasures[c] = len(b.erasures[c])
	}
	return r
}
