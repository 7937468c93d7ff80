package turnlog_test

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// floor is what the log is measured against: one append-only file of length,
// checksum, number and body, with fdatasync before the answer and batches of
// whatever came while the last one was written.
type floor struct {
	mu     sync.Mutex
	some   *sync.Cond
	queue  []floorItem
	closed bool
	ended  chan struct{}
	file   *os.File
}

type floorItem struct {
	turn int
	body []byte
	done func(error)
}

func openFloor(tb testing.TB) *floor {
	tb.Helper()
	file, err := os.Create(filepath.Join(tb.TempDir(), "floor"))
	if err != nil {
		tb.Fatal(err)
	}
	f := &floor{ended: make(chan struct{}), file: file}
	f.some = sync.NewCond(&f.mu)
	go f.run()
	tb.Cleanup(func() {
		f.mu.Lock()
		f.closed = true
		f.mu.Unlock()
		f.some.Signal()
		<-f.ended
		file.Close()
	})
	return f
}

func (f *floor) append(turn int, body []byte, done func(error)) {
	f.mu.Lock()
	f.queue = append(f.queue, floorItem{turn, body, done})
	f.mu.Unlock()
	f.some.Signal()
}

func (f *floor) run() {
	defer close(f.ended)
	var spare []floorItem
	var buf []byte
	table := crc32.MakeTable(crc32.Castagnoli)
	for {
		f.mu.Lock()
		for len(f.queue) == 0 && !f.closed {
			f.some.Wait()
		}
		batch := f.queue
		f.queue = spare
		f.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		buf = buf[:0]
		for _, it := range batch {
			buf = binary.LittleEndian.AppendUint32(buf, uint32(len(it.body)))
			buf = binary.LittleEndian.AppendUint32(buf, crc32.Checksum(it.body, table))
			buf = binary.LittleEndian.AppendUint64(buf, uint64(it.turn))
			buf = append(buf, it.body...)
		}
		_, err := f.file.Write(buf)
		if err == nil {
			err = syscall.Fdatasync(int(f.file.Fd()))
		}
		for _, it := range batch {
			it.done(err)
		}
		spare = batch[:0]
	}
}
