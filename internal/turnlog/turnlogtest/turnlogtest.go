// Package turnlogtest is the conformance suite of turnlog.Store: what a store
// must do to stand under a log. A new store is added by describing it as a
// Subject and calling Run from one test.
package turnlogtest

import (
	"context"
	"testing"
	"time"

	"verbatim/internal/faultfs"
	"verbatim/internal/turnlog"
)

// Options are what the suite asks of a store that it opens.
type Options struct {
	// Disk is where the store keeps its data; nil means the real disk.
	Disk Disk
	// BallastBytes is the size of the ballast, negative for none.
	BallastBytes int64
	// Now is the clock by which the store tries to make its ballast again.
	Now func() time.Time
}

// Disk is a disk with faults; faultfs.Disk is one for SQLite. A store on
// something else brings its own.
type Disk interface {
	Name() string
	Len() int
	Materialise(dir string, cut faultfs.Cut) error
	Fail(faultfs.Fault)
	Heal()
	SetQuota(bytes func() int64)
	Used() int64
	Close() error
}

// Subject describes a store. Every field is required.
type Subject struct {
	// Open opens what is in dir, or begins it.
	Open func(dir string, options Options) (turnlog.Store, error)
	// NewDisk returns a disk of its own.
	NewDisk func() (Disk, error)
	// Unlock makes it possible to open dir while it is open.
	Unlock func(dir string) error
	// Reindex builds the store's indexes anew from its records.
	Reindex func(ctx context.Context, s turnlog.Store) error
	Backup  func(ctx context.Context, s turnlog.Store, file string) error
	Restore func(ctx context.Context, file, dir string, force bool) error
	// Data names the file in the data directory that, damaged at its
	// beginning, makes the store refuse to open with Corrupt.
	Data    string
	Corrupt error
	// Pending returns how many bytes in dir are durable but not yet in
	// their place.
	Pending func(dir string) int64
	// PendingBytes is the most that Pending may be, whatever readers do.
	PendingBytes int64
	// Ballast names the ballast's file in the data directory.
	Ballast string
}

// Run runs the suite. It takes some seconds; with VERBATIM_LONG set in the
// environment, crashes are tried at every point instead of at a sample.
func Run(t *testing.T, s Subject) {
	tests := []struct {
		name string
		f    func(*testing.T, Subject)
	}{
		{"reopen", testReopen},
		{"indexes", testIndexes},
		{"list", testList},
		{"run index", testRunIndex},
		{"queue", testQueue},
		{"approvals", testApprovals},
		{"doomed", testDoomed},
		{"erase", testErase},
		{"import", testImport},
		{"random commands", testRandom},
		{"one bad group fails alone", testBadGroup},
		{"every cursor, any cache", testCursors},
		{"crash between any two writes", testCrash},
		{"torn tail", testTornTail},
		{"failing disk", testFailingDisk},
		{"full disk", testFullDisk},
		{"fence", testFence},
		{"readers and writers", testReadersAndWriters},
		{"pending writes are bounded", testPending},
		{"backup and restore", testBackup},
		{"damaged data", testDamage},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.f(t, s) })
	}
}
