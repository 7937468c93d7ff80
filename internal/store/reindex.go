package store

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// Reindex builds the derived tables and the index of words anew from the
// events, in one transaction. On a database without a bug behind it, nothing
// changes. It holds up commits while it runs, in time proportional to what is
// stored.
func (d *DB) Reindex(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.move(d.recent.order); err != nil {
		return err
	}
	err := d.transact(func() error { return d.rebuild(ctx) })
	d.known.reset()
	return err
}

// rebuild needs all records in the event table.
func (d *DB) rebuild(ctx context.Context) error {
	if err := d.clear("", ""); err != nil {
		return err
	}
	if err := d.foldAll(ctx, fact{}, math.MaxInt64); err != nil {
		return err
	}
	return d.reindexText(ctx)
}

// refold builds what is derived of one conversation anew, but for the index of
// words. Its records must be in the event table.
func (d *DB) refold(c *conversation) error {
	if err := d.clear(" WHERE conv = ?1", " WHERE id = ?1", c.key); err != nil {
		return err
	}
	return d.foldAll(context.Background(), fact{conv: c.key}, c.key)
}

// clear empties the derived tables where a condition holds, which has two forms:
// for tables with the conversation's key, and for that of conversations. Whether
// a run waited is not to be seen in tombstones, so there it is kept.
func (d *DB) clear(where, whereID string, args ...driver.Value) error {
	d.known.reset()
	for _, q := range []string{
		"DELETE FROM turn" + where,
		"DELETE FROM approval" + where,
		"DELETE FROM doomed" + where,
		"DELETE FROM blob_ref" + where,
		`UPDATE run SET first_seq = NULL, last_seq = NULL, request = '', waiting = NULL, turn_seq = NULL,
			queued_seq = (SELECT e.seq FROM event e WHERE e.conv = run.conv AND e.seq = run.queued_seq AND e.kind = 'erased'),
			dropped_seq = (SELECT e.seq FROM event e WHERE e.conv = run.conv AND e.seq = run.dropped_seq AND e.kind = 'erased')` + where,
		`UPDATE conversation SET title = '', title_set = 0, project = '', pinned = 0, archived = 0, model = '',
			updated = 0, rows = 0, news_seq = 0, read_seq = 0, queued = 0, running = NULL, deleted = 0,
			was_title = NULL, was_project = '', was_pinned = 0, was_archived = 0, was_model = ''` + whereID,
	} {
		if err := d.writer.exec(q, args...); err != nil {
			return err
		}
	}
	return nil
}

// fact is a structural record with the keys it is stored under.
type fact struct {
	conv, run int64
	record    event.Record
}

// foldAll projects the facts that follow one, up to those of a last
// conversation.
func (d *DB) foldAll(ctx context.Context, at fact, last int64) error {
	// In pages: a statement that reads must not be open while rows it may
	// come to are written.
	const page = 500
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		facts, err := d.factsAfter(at, last, page)
		if err != nil {
			return err
		}
		for _, f := range facts {
			if err := d.fold(f); err != nil {
				return fmt.Errorf("record %d of conversation %d: %w", f.record.Seq, f.conv, err)
			}
		}
		if len(facts) < page {
			return nil
		}
		at = facts[len(facts)-1]
	}
}

func (d *DB) factsAfter(at fact, last, limit int64) (facts []fact, err error) {
	err = d.writer.each(func(row []driver.Value) (bool, error) {
		body, _ := row[5].([]byte)
		facts = append(facts, fact{conv: asInt(row[0]), run: asInt(row[4]), record: event.Record{
			Seq: asInt(row[1]), At: time.UnixMilli(asInt(row[2])).UTC(), Kind: kindOf(row[3]), Body: json.RawMessage(body),
		}})
		return true, nil
	}, `SELECT conv, seq, at, kind, run, body FROM event INDEXED BY event_fact
		WHERE fact = 1 AND (conv, seq) > (?, ?) AND conv <= ? ORDER BY conv, seq LIMIT ?`, at.conv, at.record.Seq, last, limit)
	return facts, err
}

func (d *DB) fold(f fact) error {
	e, err := f.record.Event()
	if err != nil {
		return err
	}
	c := &conversation{key: f.conv}
	if f.run == 0 {
		return d.project(c, nil, f.record, e)
	}
	name, found, err := d.writer.text("SELECT run_id FROM run WHERE id = ?", f.run)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("%w: a run is missing", ErrCorrupt)
	}
	run, err := d.findRun(id.Run(name))
	if err != nil {
		return err
	}
	return d.project(c, run, f.record, e)
}

// Check reads the whole database and returns what is wrong with it, nil when
// nothing is. It takes time in proportion to what is stored; writing goes on.
func (d *DB) Check(ctx context.Context) error {
	return d.read(ctx, checkIntegrity)
}

func checkIntegrity(c *conn) error {
	found, _, err := c.text("PRAGMA integrity_check(1)")
	if err != nil {
		return explain(err)
	}
	if found != "ok" {
		return fmt.Errorf("%w: %s", ErrCorrupt, found)
	}
	return nil
}
