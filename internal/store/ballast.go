package store

import (
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"time"
)

// ballastRetry is how long after the disk was full the ballast is first made
// again, and how long after each attempt that fails.
const ballastRetry = 10 * time.Second

// ballast is a file that only takes space. When the disk is full it makes room
// for closing what runs.
type ballast struct {
	path string
	size int64
	now  func() time.Time
	log  *slog.Logger

	mu    sync.Mutex
	there bool
	next  time.Time // when to try again
}

func newBallast(path string, o Options) *ballast {
	return &ballast{path: path, size: o.BallastBytes, now: o.Now, log: o.Logger}
}

// fill makes the ballast where it is missing. A disk without room for it is no
// error: HasRoom says so.
func (b *ballast) fill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.size < 0 {
		return
	}
	info, err := os.Stat(b.path)
	b.there = err == nil && info.Size() >= b.size
	if !b.there {
		b.try(b.size)
	}
}

// try takes room bytes from the disk and gives all but the ballast back.
func (b *ballast) try(room int64) {
	err := take(b.path, room)
	if err == nil {
		err = os.Truncate(b.path, b.size)
	}
	if err != nil {
		_ = os.Remove(b.path)
		b.next = b.now().Add(ballastRetry)
		b.log.Warn("no room for the ballast file; new runs are refused until there is", "path", b.path, "bytes", room, "error", err)
		return
	}
	b.there = true
}

// take writes a file that no file system can shrink behind our back: what is
// in it can't be compressed, and it is written out.
func take(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	noise := rand.NewChaCha8([32]byte{})
	buf := make([]byte, 256<<10)
	for left := size; left > 0 && err == nil; left -= int64(len(buf)) {
		_, _ = noise.Read(buf)
		_, err = f.Write(buf[:min(left, int64(len(buf)))])
	}
	return errors.Join(err, f.Close())
}

// MakeRoom removes the ballast and reports whether there was any. Until it is
// made again, HasRoom is false.
func (d *DB) MakeRoom() bool {
	b := d.ballast
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.there {
		return false
	}
	if err := os.Remove(b.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.log.Error("the ballast file can't be removed", "path", b.path, "error", err)
		return false
	}
	b.there = false
	b.next = b.now().Add(ballastRetry)
	b.log.Warn("the disk is full; the ballast file was removed", "path", b.path)
	return true
}

// HasRoom reports whether new runs may begin. While the ballast is gone it
// tries to make it again, at most every 10 s and only if the disk has room for
// twice its size, so that what closing runs need is not taken from them. With
// Options.BallastBytes below 0 it is always true.
func (d *DB) HasRoom() bool {
	b := d.ballast
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.size < 0 || b.there {
		return true
	}
	if b.now().Before(b.next) {
		return false
	}
	b.try(2 * b.size)
	return b.there
}
