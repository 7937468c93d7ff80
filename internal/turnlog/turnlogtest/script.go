package turnlogtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
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
	t       testing.TB
	records map[id.Conversation][]event.Record
	// ends are the seqs at which units end.
	ends map[id.Conversation]map[int64]bool
	runs []id.Run
	at   int64
}

func newBook(t testing.TB) *book {
	return &book{
		t: t, records: map[id.Conversation][]event.Record{},
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
			if r.Kind == (event.Start{}).Kind() {
				b.runs = append(b.runs, r.Run)
			}
		}
	}
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
	if err := s.Upkeep(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

// heads returns how far each conversation is.
func (b *book) heads() map[id.Conversation]int64 {
	heads := map[id.Conversation]int64{}
	for c, records := range b.records {
		heads[c] = int64(len(records))
	}
	return heads
}

// The drafts that scripts are made of.

func asked(m id.Message, text string) turnlog.Draft {
	return turnlog.Draft{Event: event.UserMessage{Message: m, Text: text, Via: event.Via{Surface: "web"}}}
}

func started(r id.Run, m id.Message) turnlog.Draft {
	return turnlog.Draft{Run: r, Message: m, Event: event.Start{Model: "demo/demo", Version: 1, Request: "hash of " + string(r)}}
}

func again(r id.Run, m, question id.Message) turnlog.Draft {
	return turnlog.Draft{Run: r, Message: m, Event: event.Start{Model: "demo/demo", Version: 2, RegenerateOf: question}}
}

func retried(r id.Run, m id.Message) turnlog.Draft {
	return turnlog.Draft{Run: r, Message: m, Event: event.Start{Model: "demo/demo", Version: 1, Retry: true}}
}

func said(r id.Run, m id.Message, offset int, text string) turnlog.Draft {
	return turnlog.Draft{Run: r, Message: m, Event: event.Delta{Segment: "s1", Offset: int64(offset), Text: text}}
}

func ended(r id.Run, m id.Message) turnlog.Draft {
	return turnlog.Draft{Run: r, Message: m, Event: event.End{Finish: event.FinishStop, Chars: 1, SHA256: strings.Repeat("0", 64)}}
}

func fact(e event.Event) turnlog.Draft { return turnlog.Draft{Event: e} }

// story writes some turns in some conversations, several groups to a commit,
// and calls committed after each.
func (b *book) story(s turnlog.Store, round int, committed func()) {
	const conversations = 3
	names := func(i int) (id.Conversation, id.Run, id.Message, id.Message) {
		n := fmt.Sprintf("%d.%d", round, i)
		return id.Conversation(fmt.Sprintf("c%d", i)), id.Run("r" + n), id.Message("q" + n), id.Message("a" + n)
	}
	each := func(f func(i int) turnlog.Group) {
		var groups []turnlog.Group
		for i := range conversations {
			groups = append(groups, f(i))
		}
		b.commit(s, groups...)
		committed()
	}
	each(func(i int) turnlog.Group {
		c, r, q, a := names(i)
		return b.group(c, asked(q, fmt.Sprintf("question\nof round %d", round)), started(r, a))
	})
	for k := range 3 {
		each(func(i int) turnlog.Group {
			c, r, _, a := names(i)
			return b.group(c, said(r, a, 2*k, "é"), said(r, a, 2*k+1, "\n"))
		})
	}
	each(func(i int) turnlog.Group {
		c, r, q, a := names(i)
		if i == conversations-1 {
			return b.group(c, fact(event.Title{Title: "named"}))
		}
		if i == 0 && round%2 == 1 {
			return b.group(c, ended(r, a), fact(event.MessageDeleted{Message: q}), fact(event.Unknown{Name: "later", Raw: []byte(`{"x": 1}`)}))
		}
		return b.group(c, ended(r, a))
	})
}
