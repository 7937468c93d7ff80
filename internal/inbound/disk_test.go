package inbound_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"verbatim/internal/approval"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// disk is a turnlog.Store, a place for blobs and one for rules, in memory. What is
// committed is there for the next process.
type disk struct {
	mu        sync.Mutex
	start     int64
	records   map[id.Conversation][]event.Record
	runs      map[id.Run]*turnlog.RunInfo
	order     []id.Run
	approvals map[id.Approval]*turnlog.ApprovalInfo
	blobs     map[string][]byte
	rules     []approval.Rule
}

func newDisk() *disk {
	return &disk{
		records: map[id.Conversation][]event.Record{}, runs: map[id.Run]*turnlog.RunInfo{},
		approvals: map[id.Approval]*turnlog.ApprovalInfo{}, blobs: map[string][]byte{},
	}
}

func (d *disk) Epoch() id.Epoch { return "epoch" }

func (d *disk) Start() int64 { return d.start }

func (d *disk) Upkeep(context.Context) (bool, error) { return false, nil }

func (d *disk) MakeRoom() bool { return false }

func (d *disk) HasRoom() bool { return true }

func (d *disk) Close() error { return nil }

func (d *disk) Doomed(context.Context) ([]turnlog.Doomed, error) { return nil, nil }

func (d *disk) Conversations(context.Context, turnlog.Query) ([]turnlog.ConversationInfo, error) {
	return nil, nil
}

var errNotHere = errors.New("this store can't")

func (d *disk) Erase(context.Context, id.Conversation, turnlog.Erasure) ([]string, error) {
	return nil, errNotHere
}

func (d *disk) Import(context.Context, turnlog.Group) error { return errNotHere }

func (d *disk) Commit(_ context.Context, groups []turnlog.Group) []error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range groups {
		d.records[g.Conversation] = append(d.records[g.Conversation], g.Records...)
		for _, r := range g.Records {
			d.index(r)
		}
	}
	return make([]error, len(groups))
}

func (d *disk) index(r event.Record) {
	e, _ := r.Event()
	run := r.Run
	if q, ok := e.(event.Queue); ok {
		run = q.Run
	}
	info := d.runs[run]
	if info == nil && run != "" {
		info = &turnlog.RunInfo{Run: run, Conversation: r.Conversation}
		d.runs[run] = info
		d.order = append(d.order, run)
	}
	switch e := e.(type) {
	case event.Start:
		if info.First == 0 {
			info.First, info.Message, info.Request = r.Seq, r.Message, e.Request
		}
	case event.Queue:
		switch e.Op {
		case event.QueueAdd:
			info.Queued, info.Request = r.Seq, e.Request
		case event.QueueRemove:
			info.Dropped = r.Seq
		default:
		}
	case event.ApprovalRequest:
		d.approvals[e.Approval] = &turnlog.ApprovalInfo{Approval: e.Approval, Conversation: r.Conversation, Run: r.Run, Seq: r.Seq}
	case event.ApprovalResolved:
		d.approvals[e.Approval].Resolved, d.approvals[e.Approval].Decision = r.Seq, e.Decision
	case event.Cancelled, event.Error, event.End:
		info.Last = r.Seq
	default:
	}
}

func (d *disk) Head(_ context.Context, c id.Conversation) (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return int64(len(d.records[c])), nil
}

func (d *disk) Read(_ context.Context, c id.Conversation, after int64, limit turnlog.Limit, facts bool) ([]event.Record, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []event.Record
	for _, r := range d.records[c] {
		spec, _ := event.Lookup(r.Kind)
		if r.Seq > after && (!facts || spec.Structural) && len(out) < limit.Bounded().Records {
			out = append(out, r)
		}
	}
	return out, nil
}

func (d *disk) Run(_ context.Context, r id.Run) (turnlog.RunInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if info := d.runs[r]; info != nil {
		return *info, nil
	}
	return turnlog.RunInfo{}, fmt.Errorf("%s: %w", r, turnlog.ErrNoRun)
}

func (d *disk) list(of func(turnlog.RunInfo) bool) ([]turnlog.RunInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []turnlog.RunInfo
	for _, r := range d.order {
		if of(*d.runs[r]) {
			out = append(out, *d.runs[r])
		}
	}
	return out, nil
}

func (d *disk) Unfinished(context.Context) ([]turnlog.RunInfo, error) {
	return d.list(func(i turnlog.RunInfo) bool { return i.First != 0 && i.Last == 0 })
}

func (d *disk) Queued(context.Context) ([]turnlog.RunInfo, error) {
	return d.list(func(i turnlog.RunInfo) bool { return i.First == 0 && i.Dropped == 0 })
}

func (d *disk) Approval(_ context.Context, a id.Approval) (turnlog.ApprovalInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if info := d.approvals[a]; info != nil {
		return *info, nil
	}
	return turnlog.ApprovalInfo{}, fmt.Errorf("%s: %w", a, turnlog.ErrNoApproval)
}

// shelf is the disk's place for blobs.
type shelf struct{ *disk }

func (s shelf) Put(_ context.Context, data []byte) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := fmt.Sprintf("b_%026d", len(s.blobs))
	s.blobs[name] = bytes.Clone(data)
	return name, nil
}

func (s shelf) Read(blob string, _ int64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.blobs[blob]
	if !ok {
		return nil, errNotHere
	}
	return data, nil
}

func (s shelf) Delete(string) error { return nil }

func (d *disk) Rules(context.Context) ([]approval.Rule, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.rules), nil
}

func (d *disk) AddRule(_ context.Context, r approval.Rule) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rules = append(d.rules, r)
	return nil
}

func (d *disk) RemoveRule(context.Context, string) error { return approval.ErrNoRule }
