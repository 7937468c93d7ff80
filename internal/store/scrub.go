package store

import (
	"errors"
	"fmt"
)

// scrubbing is what an erasure has left to do before nothing of it is in the
// files any more, in this order.
type scrubbing int32

const (
	// scrubbed: nothing.
	scrubbed scrubbing = iota
	// scrubLog: empty the write-ahead log, which holds the pages as they were.
	scrubLog
	// scrubWords: take entries out of the index of words.
	scrubWords
	// scrubPages: clear what is left over on the pages of the database.
	scrubPages
	// scrubAgain: empty the log again, for what the last two have changed.
	scrubAgain
)

// heldPatience is how many calls of Upkeep pass before the write-ahead log is
// tried again that a copying process held, which takes a sync.
const heldPatience = 100

// Scrubbed reports whether everything that was erased is gone from the files. It
// is after some calls of Upkeep, unless a copy of the database is being made:
// then it is when the copying has ended.
func (d *DB) Scrubbed() bool { return scrubbing(d.scrub.Load()) == scrubbed }

// tidy does the next piece of what an erasure has left to do, and reports
// whether there is more. What can't be done now, because a copy is being made,
// is no reason to come again at once. d.mu is held.
func (d *DB) tidy() (more bool, err error) {
	switch scrubbing(d.scrub.Load()) {
	case scrubbed:
	case scrubLog:
		return d.step(scrubWords, d.overwrite)
	case scrubWords:
		return d.step(scrubPages, func() (bool, error) {
			more, err := d.sweep()
			return !more, err
		})
	case scrubPages:
		return d.step(scrubAgain, func() (bool, error) {
			more, err := d.closeGaps()
			return !more, err
		})
	case scrubAgain:
		more, err = d.step(scrubbed, d.overwrite)
		if err != nil || !d.Scrubbed() {
			return more, err
		}
		return false, d.transact(func() error { return d.writer.exec("DELETE FROM meta WHERE key = 'scrub'") })
	}
	return false, nil
}

// step does a piece and, when that was the last of its kind, goes on to the
// next.
func (d *DB) step(next scrubbing, piece func() (done bool, err error)) (more bool, err error) {
	if d.patience > 0 {
		d.patience--
		return false, nil
	}
	done, err := piece()
	if err != nil {
		return false, err
	}
	if done {
		d.scrub.Store(int32(next))
		d.nextPage = 1
	}
	return d.patience == 0, nil
}

// overwrite empties the write-ahead log; in the database itself the old pages
// are overwritten when the new ones are moved there. It waits for no one but the
// readers of this process, which are short. d.mu is held.
func (d *DB) overwrite() (done bool, err error) {
	defer d.pause()()
	if err := d.writer.once("PRAGMA busy_timeout=0"); err != nil {
		return false, err
	}
	busy, err := d.truncate()
	err = errors.Join(err, d.writer.once(fmt.Sprintf("PRAGMA busy_timeout=%d", busyMillis)))
	if err == nil && busy {
		d.patience = heldPatience
	}
	if err == nil && !busy {
		d.unmoved = 0
	}
	return err == nil && !busy, err
}

func (d *DB) truncate() (busy bool, err error) {
	row, err := d.writer.first("PRAGMA wal_checkpoint(TRUNCATE)")
	if err != nil {
		return false, explain(err)
	}
	return asInt(row[0]) != 0, nil
}

// tidyLater tries again at once what a copy was in the way of.
func (d *DB) tidyLater() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.writer == nil || d.Scrubbed() {
		return
	}
	d.patience = 0
	if _, err := d.tidy(); err != nil {
		d.options.Logger.Warn("erased text is still in the files; it is tried again after the next commit", "err", err)
	}
}

// stain notes in the open transaction that the files are going to hold what was
// erased.
func (d *DB) stain() error {
	return d.writer.exec("INSERT OR REPLACE INTO meta(key, value) VALUES('scrub', 1)")
}

// findStains reads whether the last opening left anything to do.
func (d *DB) findStains() error {
	_, stained, err := d.writer.integer("SELECT value FROM meta WHERE key = 'scrub'")
	if stained {
		d.scrub.Store(int32(scrubLog))
	}
	return err
}
