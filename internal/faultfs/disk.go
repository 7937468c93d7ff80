// Package faultfs is a test kit: a file system under SQLite that keeps a
// journal of what was written, can be cut off at any point as by a power cut,
// fails when it is told to, and can be full.
//
// It stands on the operating system's own SQLite file system and so on real
// files, locks and shared memory; only syncs are not passed on. It promises
// that a directory made by Materialise is one that a disk may hold after the
// cut: what was synced is there, of the rest any part. It does not model a
// disk that loses or damages what it has synced.
package faultfs

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Op is what was done to a file.
type Op uint8

// The operations that are recorded. Open is the moment a file came to be.
const (
	Open Op = iota
	Write
	Truncate
	Sync
	Delete
	ops // how many there are
)

// String names the operation.
func (o Op) String() string {
	return [...]string{"open", "write", "truncate", "sync", "delete"}[o]
}

// Entry is one line of the journal.
type Entry struct {
	Op   Op
	Name string // of the file, without its directory
	// Offset and Data are those of a write; Data of an Open is what the
	// file held already, which counts as synced. Offset is the new length
	// for a Truncate.
	Offset int64
	Data   []byte
	// Durable tells for a Delete that the directory was synced after it.
	Durable bool
}

// Fault makes operations fail.
type Fault struct {
	Op Op
	// After lets so many operations of the kind pass first.
	After int
	// Times is how many fail then; 0 means all.
	Times int
}

// Disk is one such file system. It is safe for concurrent use.
type Disk struct {
	name  string
	tls   *libc.TLS
	vfs   uintptr
	zName uintptr
	base  uintptr
	hooks hooks

	mu      sync.Mutex
	journal []Entry
	counts  [ops]int
	faults  []Fault
	sizes   map[string]int64
	quota   func() int64
	files   map[uintptr]*file // by the address of SQLite's file object
}

// New registers a disk with SQLite. The caller must Close it, after the last
// database on it was closed.
func New() (*Disk, error) {
	d := &Disk{
		name: "fault-" + rand.Text(), tls: libc.NewTLS(),
		sizes: map[string]int64{}, files: map[uintptr]*file{},
	}
	if err := d.register(); err != nil {
		d.tls.Close()
		return nil, err
	}
	return d, nil
}

// Name is what the disk is registered as: the vfs parameter of a database's
// address.
func (d *Disk) Name() string { return d.name }

// Close takes the disk out of SQLite. Databases on it must be closed.
func (d *Disk) Close() error {
	d.mu.Lock()
	open := len(d.files)
	d.mu.Unlock()
	if open > 0 {
		return fmt.Errorf("%d files on the disk are still open", open)
	}
	rc := sqlite3.Xsqlite3_vfs_unregister(d.tls, d.vfs)
	libc.Xfree(d.tls, d.vfs)
	libc.Xfree(d.tls, d.zName)
	d.tls.Close()
	if rc != sqlite3.SQLITE_OK {
		return errors.New("SQLite does not know the disk")
	}
	return nil
}

// Len is how many entries the journal has.
func (d *Disk) Len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.journal)
}

// Journal returns what was done so far. The data in it is shared.
func (d *Disk) Journal() []Entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.journal[:len(d.journal):len(d.journal)]
}

// Count is how often an operation was asked for, also when it failed.
func (d *Disk) Count(o Op) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts[o]
}

// Fail adds a fault, which counts from now. Heal takes all faults away.
func (d *Disk) Fail(f Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = append(d.faults, f)
}

// Heal takes all faults away.
func (d *Disk) Heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = nil
}

// SetQuota makes the disk full beyond so many bytes in all its files; the
// function is asked at each write that makes a file longer, and nil takes the
// bound away.
func (d *Disk) SetQuota(bytes func() int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.quota = bytes
}

// Used is how many bytes the files have.
func (d *Disk) Used() (n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used()
}

func (d *Disk) used() (n int64) {
	for _, size := range d.sizes {
		n += size
	}
	return n
}

// asked counts an operation and reports whether it must fail. d.mu is held.
func (d *Disk) asked(o Op) (fail bool) {
	d.counts[o]++
	for i := range d.faults {
		f := &d.faults[i]
		if f.Op != o || f.Times < 0 {
			continue
		}
		if f.After > 0 {
			f.After--
			continue
		}
		fail = true
		if f.Times == 1 {
			f.Times = -1 // spent
		} else if f.Times > 1 {
			f.Times--
		}
	}
	return fail
}

// full reports whether a file may not become so long. d.mu is held.
func (d *Disk) full(name string, size int64) bool {
	if d.quota == nil || size <= d.sizes[name] {
		return false
	}
	return d.used()-d.sizes[name]+size > d.quota()
}

func (d *Disk) record(e Entry) { d.journal = append(d.journal, e) }

// opened notes a file that came to be, or that was there before this disk.
// d.mu is held.
func (d *Disk) opened(path string) error {
	name := filepath.Base(path)
	if _, known := d.sizes[name]; known {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	d.sizes[name] = int64(len(data))
	d.record(Entry{Op: Open, Name: name, Data: data})
	return nil
}
