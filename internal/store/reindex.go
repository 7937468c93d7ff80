package store

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"verbatim/internal/event"
)

// Reindex builds the derived tables anew from the events, in one transaction:
// turns, what is known of runs, and the list of conversations. On a database
// without a bug behind it, nothing changes. It holds up commits while it runs,
// in time proportional to the structural records.
func (d *DB) Reindex(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known.reset()
	if err := d.move(d.recent.order); err != nil {
		return err
	}
	return d.transact(func() error {
		for _, q := range []string{
			"DELETE FROM turn",
			"UPDATE run SET first_seq = NULL, last_seq = NULL, request = ''",
			"UPDATE conversation SET title = '', title_set = 0, project = '', updated = 0, rows = 0",
		} {
			if err := d.writer.exec(q); err != nil {
				return err
			}
		}
		return d.foldAll(ctx)
	})
}

// fact is a structural record with the keys it is stored under.
type fact struct {
	conv, run int64
	record    event.Record
}

func (d *DB) foldAll(ctx context.Context) error {
	// In pages: a statement that reads must not be open while rows it may
	// come to are written.
	const page = 500
	at := fact{}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		facts, err := d.factsAfter(at, page)
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

func (d *DB) factsAfter(at fact, limit int64) (facts []fact, err error) {
	err = d.writer.each(func(row []driver.Value) (bool, error) {
		body, _ := row[5].([]byte)
		facts = append(facts, fact{conv: asInt(row[0]), run: asInt(row[4]), record: event.Record{
			Seq: asInt(row[1]), At: time.UnixMilli(asInt(row[2])).UTC(), Kind: kindOf(row[3]), Body: json.RawMessage(body),
		}})
		return true, nil
	}, `SELECT conv, seq, at, kind, run, body FROM event INDEXED BY event_fact
		WHERE fact = 1 AND (conv, seq) > (?, ?) ORDER BY conv, seq LIMIT ?`, at.conv, at.record.Seq, limit)
	return facts, err
}

func (d *DB) fold(f fact) error {
	c := &conversation{key: f.conv}
	if f.run == 0 {
		return d.project(c, nil, f.record)
	}
	row, err := d.writer.first("SELECT id, conv, msg_id, first_seq, last_seq FROM run WHERE id = ?", f.run)
	if err != nil {
		return err
	}
	if row == nil {
		return fmt.Errorf("%w: a run is missing", ErrCorrupt)
	}
	return d.project(c, runOf(row), f.record)
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
