package store

import (
	"context"
	"fmt"

	"verbatim/internal/turnlog"
)

// Sizes of the write-ahead log at which something is done, in pages. The first
// keeps a start after kill -9 fast, which reads what was not moved; the second
// is reached only while readers follow each other so closely that the log can
// never begin anew.
const (
	pageBytes    = 4096
	movePages    = 1000
	restartPages = 3 * movePages
)

// Upkeep sorts recent records into their conversations, and moves the
// write-ahead log into the database when it has grown. It belongs between
// commits, when nobody waits for one. Readers go on meanwhile; only when the log
// has reached 12 MiB, or holds erased text, new ones wait until it is moved
// whole, so that the next commit begins it anew.
//
// After an erasure there is more to do, a piece at a time (see tidy), and after a
// full disk (see indexLate).
func (d *DB) Upkeep(context.Context) (more bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.writer == nil {
		return false, turnlog.ErrClosed
	}
	if d.ballast.lost() {
		// What room the ballast gave is for closing runs.
		return false, nil
	}
	if err := d.move(d.recent.oldest()); err != nil {
		return false, fmt.Errorf("sort recent records: %w", err)
	}
	if more, err = d.tidy(); err != nil {
		return false, fmt.Errorf("take erased text out of the files: %w", err)
	}
	late, err := d.indexLate()
	if err != nil {
		return false, fmt.Errorf("index what was stored while the disk was full: %w", err)
	}
	return more || late, d.moveLog()
}

// moveLog moves the write-ahead log into the database when it is long enough.
// d.mu is held.
func (d *DB) moveLog() error {
	if d.unmoved < movePages {
		return nil
	}
	pages, moved, err := d.checkpoint("NOOP")
	if err != nil || pages-moved < movePages {
		d.unmoved = int(pages - moved)
		return err
	}
	if pages >= restartPages {
		defer d.pause()()
	}
	pages, moved, err = d.checkpoint("PASSIVE")
	// What a reader held back is not tried again at every commit.
	d.unmoved = min(int(pages-moved), movePages/2)
	return err
}

// pause waits until the reads that are under way have ended, which are short,
// and holds new ones back until resume is called.
func (d *DB) pause() (resume func()) {
	var held []*conn
	for range readers {
		select {
		case c := <-d.pool:
			held = append(held, c)
		case <-d.closed:
		}
	}
	return func() {
		for _, c := range held {
			d.pool <- c
		}
	}
}

// checkpoint returns the pages in the write-ahead log and how many of them are
// in the database.
func (d *DB) checkpoint(mode string) (pages, moved int64, err error) {
	row, err := d.writer.first("PRAGMA wal_checkpoint(" + mode + ")")
	if err != nil {
		return 0, 0, fmt.Errorf("move the write-ahead log: %w", explain(err))
	}
	return max(0, asInt(row[1])), max(0, asInt(row[2])), nil
}
