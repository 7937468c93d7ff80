package deliverytest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// Log is what a store of deliveries asks of the log; turnlog.Log and
// turnlog.Store answer it, and Facts.
type Log interface {
	// Head returns the seq of a conversation's last record, 0 for none.
	Head(ctx context.Context, c id.Conversation) (int64, error)
	// Run looks up a run; turnlog.ErrNoRun when there is none.
	Run(ctx context.Context, r id.Run) (turnlog.RunInfo, error)
}

// Fate is what becomes of a commit.
type Fate int

// The fates. A crash ends the handle: from then on each of its calls returns
// ErrCrashed.
const (
	// Stored: it is durable, and the caller is told so.
	Stored Fate = iota
	// Failed: nothing is stored and the caller gets turnlog.ErrFull.
	Failed
	// CrashBefore and CrashAfter: the process ends before it is durable, or
	// after.
	CrashBefore
	CrashAfter
)

// ErrCrashed is what the calls of a handle return whose process has ended.
var ErrCrashed = errors.New("the process has ended")

// Options are the choices of NewMemory.
type Options struct {
	// Log is required. It is asked while the memory is locked and must not
	// call back.
	Log Log
	// Now is the clock by which identities of messages are kept; nil means
	// time.Now.
	Now func() time.Time
	// Fate, if set, is asked at each commit, named after the method that makes
	// it.
	Fate func(method string) Fate
}

// Memory is a delivery.Store and a delivery.InboxStore in memory, for many
// schedules. It is one opening of a disk: see Reopen. It is safe for concurrent
// use.
type Memory struct {
	disk    *disk
	start   int64
	crashed bool // disk.mu guards it
}

var (
	_ delivery.Store      = (*Memory)(nil)
	_ delivery.InboxStore = (*Memory)(nil)
)

// disk is what stays when the process is gone.
type disk struct {
	Options
	mu       sync.Mutex
	start    int64
	lanes    map[delivery.Address]*lane
	order    []*lane
	bindings []*binding
	posts    map[string]*spot
	inbox    inbox
	marks    map[[2]string]string
	erased   map[id.Conversation]*erased
}

// NewMemory begins an empty disk and opens it, with start number 1.
func NewMemory(o Options) *Memory {
	if o.Now == nil {
		o.Now = time.Now
	}
	d := &disk{
		Options: o, lanes: map[delivery.Address]*lane{}, posts: map[string]*spot{},
		marks: map[[2]string]string{}, erased: map[id.Conversation]*erased{},
	}
	return d.open()
}

func (d *disk) open() *Memory {
	d.start++
	return &Memory{disk: d, start: d.start}
}

// Reopen opens the disk as the next start of the process does. What was opened
// before stores nothing any more: ErrFenced.
func (m *Memory) Reopen() *Memory {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	return m.disk.open()
}

// Crash ends the handle, as kill -9 does between two calls.
func (m *Memory) Crash() {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	m.crashed = true
}

// Start is the number of this opening.
func (m *Memory) Start() int64 { return m.start }

// read runs f on what is stored.
func (m *Memory) read(ctx context.Context, f func(d *disk) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if m.crashed {
		return ErrCrashed
	}
	return f(m.disk)
}

// commit checks a change, which stores nothing, and then makes it, which can't
// fail.
func (m *Memory) commit(ctx context.Context, method string, check func(d *disk) error, change func(d *disk)) error {
	return m.read(ctx, func(d *disk) error {
		if m.start != d.start {
			return fmt.Errorf("%s: %w", method, delivery.ErrFenced)
		}
		if err := check(d); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		fate := Stored
		if d.Fate != nil {
			fate = d.Fate(method)
		}
		if fate == Failed {
			return fmt.Errorf("%s: %w", method, turnlog.ErrFull)
		}
		m.crashed = fate != Stored
		if fate != CrashBefore {
			change(d)
		}
		if m.crashed {
			return ErrCrashed
		}
		return nil
	})
}

func fine(*disk) error { return nil }

// head returns where a conversation is.
func (d *disk) head(c id.Conversation) (int64, error) { return d.Log.Head(context.Background(), c) }
