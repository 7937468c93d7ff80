package e2e

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// walIndex reads the index of the database's write-ahead log, which its process
// shares through a file. It survives a kill, and tells exactly what the
// process was doing.
type walIndex struct {
	f *os.File
	// recovered is what the start of the process left where checkpoints
	// say how far they go.
	recovered uint32
}

func openIndex(t testing.TB, dir string) walIndex {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "verbatim.db-shm"))
	if err != nil {
		t.Fatal(err)
	}
	return walIndex{f: f}
}

// since returns the index with what it says now as the state that the start of
// the process left.
func (i walIndex) since(t testing.TB) walIndex {
	i.recovered = binary.NativeEndian.Uint32(i.read(t)[triedAt:])
	return i
}

func (i walIndex) Close() { _ = i.f.Close() }

// Places in the index, in bytes: how often it changed and the last frame that
// is committed, the frames that are in the database for sure, and those that
// may have been written to it.
const (
	changesAt   = 8
	committedAt = 16
	movedAt     = 96
	triedAt     = 128
)

func (i walIndex) read(t testing.TB) []byte {
	t.Helper()
	b := make([]byte, 136)
	if _, err := i.f.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return b
}

// commits differs after each commit.
func (i walIndex) commits(t testing.TB) uint64 {
	b := i.read(t)
	return uint64(binary.NativeEndian.Uint32(b[changesAt:]))<<32 | uint64(binary.NativeEndian.Uint32(b[committedAt:]))
}

// moving reports whether a checkpoint has begun to write into the database and
// has not said that it is done.
func (i walIndex) moving(t testing.TB) bool {
	b := i.read(t)
	tried := binary.NativeEndian.Uint32(b[triedAt:])
	return tried > binary.NativeEndian.Uint32(b[movedAt:]) && tried != i.recovered
}

// spin looks again and again without a pause: for instants that are too short
// for until.
func spin(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for begun := time.Now(); !holds(); {
		if time.Since(begun) > patience {
			t.Fatalf("gave up waiting until %s", what)
		}
		runtime.Gosched()
	}
}
