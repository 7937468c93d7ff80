package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math"
	"slices"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// Erase puts tombstones in the place of records; see turnlog.Store. What is
// kept about the conversation is folded anew from what is left, so it takes time
// in proportion to its structural records. When it returns, no reader can see
// the text any more; it is gone from the files after the next Upkeep (see
// Scrubbed).
func (d *DB) Erase(ctx context.Context, name id.Conversation, e turnlog.Erasure) (blobs []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	erased := false
	err = d.transact(func() (err error) {
		blobs, erased, err = d.erase(name, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("erase records of %s: %w", name, err)
	}
	if erased {
		d.scrub.Store(int32(scrubLog))
	}
	return blobs, nil
}

func (d *DB) erase(name id.Conversation, e turnlog.Erasure) (blobs []string, erased bool, err error) {
	key, ok, err := d.writer.integer(selectConversation, string(name))
	if err != nil || !ok {
		return nil, false, err
	}
	c := &conversation{key: key}
	// Then all its records are in one table.
	if err := d.sortIn(name); err != nil {
		return nil, false, err
	}
	seqs, err := d.erasable(c, e)
	if err != nil {
		return nil, false, err
	}
	posted, erased, err := d.erasePosted(c, name, e, seqs)
	if err != nil {
		return nil, false, err
	}
	if len(seqs) > 0 {
		if blobs, err = d.eraseRecords(c, name, seqs); err != nil {
			return nil, false, err
		}
	}
	if !erased && len(seqs) == 0 {
		return nil, false, nil
	}
	if err := d.stain(); err != nil {
		return nil, false, err
	}
	blobs, err = d.unreferenced(sorted(append(blobs, posted...)))
	return blobs, true, err
}

// eraseRecords puts the tombstones in their place, and returns the blobs that the
// records referred to.
func (d *DB) eraseRecords(c *conversation, name id.Conversation, seqs []int64) ([]string, error) {
	if err := d.unindex(c, seqs); err != nil {
		return nil, err
	}
	held, err := d.blobsOf(c, seqs)
	if err != nil {
		return nil, err
	}
	if err := d.entomb(c, name, seqs); err != nil {
		return nil, err
	}
	return held, d.refold(c)
}

// sorted returns names in order, each once.
func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// entomb writes the tombstones. Answers that were kept about the conversation may
// repeat its text.
func (d *DB) entomb(c *conversation, name id.Conversation, seqs []int64) error {
	err := d.writer.exec(`UPDATE event SET kind = 'erased', marks = NULL,
		body = CAST(json_object('kind', kind, 'bytes', length(body)) AS BLOB)
		WHERE conv = ? AND seq IN (SELECT value FROM json_each(?))`, c.key, keyList(seqs))
	if err != nil {
		return err
	}
	return d.writer.exec("DELETE FROM answer WHERE conv = ?", string(name))
}

// erasable returns the seqs that an erasure names and that are no tombstones
// yet, in order.
func (d *DB) erasable(c *conversation, e turnlog.Erasure) ([]int64, error) {
	seqs, err := d.seqs("SELECT seq FROM event WHERE conv = ? AND seq IN (SELECT value FROM json_each(?)) AND kind <> 'erased'",
		c.key, keyList(e.Seqs))
	if err != nil {
		return nil, err
	}
	through, err := d.seqs("SELECT seq FROM event WHERE conv = ? AND seq <= ? AND "+notMarker, c.key, e.Through)
	if err != nil {
		return nil, err
	}
	ofRuns, err := d.ofRuns(c, e.Runs)
	if err != nil {
		return nil, err
	}
	seqs = append(append(seqs, through...), ofRuns...)
	slices.Sort(seqs)
	return slices.Compact(seqs), nil
}

// ofRuns returns the seqs of all records of runs, those of the queue included.
func (d *DB) ofRuns(c *conversation, names []id.Run) (seqs []int64, err error) {
	for _, name := range names {
		run, err := d.findRun(name)
		if err != nil {
			return nil, err
		}
		if run == nil || run.conv != c.key {
			continue
		}
		last := run.last
		if last == 0 {
			last = math.MaxInt64
		}
		own, err := d.seqs("SELECT seq FROM event WHERE conv = ? AND seq BETWEEN ? AND ? AND run = ? AND kind <> 'erased'",
			c.key, run.first, last, run.key)
		if err != nil {
			return nil, err
		}
		seqs = append(seqs, own...)
	}
	if len(names) == 0 {
		return nil, nil
	}
	waited, err := d.ofQueue(c, names)
	return append(seqs, waited...), err
}

func (d *DB) ofQueue(c *conversation, names []id.Run) (seqs []int64, err error) {
	kind := (event.Queue{}).Kind()
	err = d.writer.each(func(row []driver.Value) (bool, error) {
		body, _ := row[1].([]byte)
		e, err := event.Decode(kind, body)
		if err != nil {
			return false, err
		}
		if q, ok := e.(event.Queue); ok && slices.Contains(names, q.Run) {
			seqs = append(seqs, asInt(row[0]))
		}
		return true, nil
	}, "SELECT seq, body FROM event INDEXED BY event_fact WHERE conv = ? AND fact = 1 AND kind = ?", c.key, string(kind))
	return seqs, err
}

func (d *DB) seqs(query string, args ...driver.Value) (seqs []int64, err error) {
	err = d.writer.each(func(row []driver.Value) (bool, error) {
		seqs = append(seqs, asInt(row[0]))
		return true, nil
	}, query, args...)
	return seqs, err
}

// Import writes a conversation's first records; see turnlog.Store.
func (d *DB) Import(ctx context.Context, g turnlog.Group) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.transact(func() error {
		c, err := d.conversation(g.Conversation)
		if err != nil {
			return err
		}
		if c.head != 0 {
			return fmt.Errorf("import %s: %w", g.Conversation, turnlog.ErrExists)
		}
		return d.put(g)
	})
}
