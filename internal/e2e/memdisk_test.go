package e2e

import (
	"bytes"
	"context"
	"sync"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// memDisk is what a store in memory keeps when its process is gone: enough of a
// database to try many schedules fast. It works out its indexes from the
// records each time, so that it can't have them wrong.
type memDisk struct {
	mu      sync.Mutex
	start   int64
	records map[id.Conversation][]event.Record
	// waited are the facts of queues, which an erasure takes the text and the
	// hash of, and not what they say of their runs.
	waited map[id.Conversation]map[int64]event.Queue
}

func newMemDisk() *memDisk {
	return &memDisk{records: map[id.Conversation][]event.Record{}, waited: map[id.Conversation]map[int64]event.Queue{}}
}

// open returns a store over the disk; stores that were opened before can write
// nothing any more.
func (d *memDisk) open() *memStore {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.start++
	return &memStore{disk: d, start: d.start}
}

// memStore is one opening of a memDisk.
type memStore struct {
	disk  *memDisk
	start int64
}

var _ turnlog.Store = (*memStore)(nil)

func (s *memStore) Epoch() id.Epoch                      { return "memory" }
func (s *memStore) Start() int64                         { return s.start }
func (s *memStore) Upkeep(context.Context) (bool, error) { return false, nil }
func (s *memStore) MakeRoom() bool                       { return false }
func (s *memStore) HasRoom() bool                        { return true }
func (s *memStore) Close() error                         { return nil }

func (s *memStore) Commit(_ context.Context, groups []turnlog.Group) []error {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if s.disk.start != s.start {
		return all(groups, turnlog.ErrFenced)
	}
	for _, g := range groups {
		for _, r := range g.Records {
			s.disk.add(r)
		}
	}
	return make([]error, len(groups))
}

// add stores what a disk can: not the decoded event that a record may carry.
func (d *memDisk) add(r event.Record) {
	stored := event.Record{
		Conversation: r.Conversation, Seq: r.Seq, At: r.At, Run: r.Run, Message: r.Message,
		Kind: r.Kind, Body: bytes.Clone(r.Body),
	}
	d.records[r.Conversation] = append(d.records[r.Conversation], stored)
	if q, ok := mustEvent(stored).(event.Queue); ok {
		if d.waited[r.Conversation] == nil {
			d.waited[r.Conversation] = map[int64]event.Queue{}
		}
		d.waited[r.Conversation][r.Seq] = event.Queue{Op: q.Op, Run: q.Run, Request: q.Request}
	}
}

func mustEvent(r event.Record) event.Event {
	e, err := r.Event()
	if err != nil {
		panic(err) // the log has just encoded it
	}
	return e
}

func (s *memStore) Head(_ context.Context, c id.Conversation) (int64, error) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	return int64(len(s.disk.records[c])), nil
}

func (s *memStore) Read(_ context.Context, c id.Conversation, after int64, limit turnlog.Limit, facts bool) ([]event.Record, error) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	limit = limit.Bounded()
	var out []event.Record
	size := 0
	for _, r := range s.disk.records[c][min(after, int64(len(s.disk.records[c]))):] {
		if spec, known := event.Lookup(r.Kind); facts && known && !spec.Structural {
			continue
		}
		size += len(r.Body)
		if len(out) == limit.Records || len(out) > 0 && size > limit.Bytes {
			break
		}
		out = append(out, r)
	}
	return out, nil
}
