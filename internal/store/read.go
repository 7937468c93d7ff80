package store

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// Head returns the seq of a conversation's last record, 0 for none.
func (d *DB) Head(ctx context.Context, name id.Conversation) (head int64, err error) {
	err = d.read(ctx, func(c *conn) error {
		key, ok, err := c.integer(selectConversation, string(name))
		if err != nil || !ok {
			return err
		}
		head, _, err = c.integer(selectHead, key)
		return err
	})
	return head, err
}

const (
	selectConversation = "SELECT id FROM conversation WHERE cid = ?"
	selectEvents       = "SELECT seq, at, kind, run, msg, body FROM event WHERE conv = ? AND seq > ? ORDER BY seq LIMIT ?"
	selectFacts        = "SELECT seq, at, kind, run, msg, body FROM event INDEXED BY event_fact WHERE conv = ? AND seq > ? AND fact = 1 ORDER BY seq LIMIT ?"
)

// Read returns the records after a seq; see turnlog.Store. The transaction it
// reads in ends before it returns, however slow the caller is.
func (d *DB) Read(ctx context.Context, name id.Conversation, after int64, limit turnlog.Limit, facts bool) ([]event.Record, error) {
	limit = limit.Bounded()
	query := selectEvents
	if facts {
		query = selectFacts
	}
	var records []event.Record
	err := d.read(ctx, func(c *conn) error {
		key, ok, err := c.integer(selectConversation, string(name))
		if err != nil || !ok {
			return err
		}
		records, err = readEvents(c, name, limit, query, key, after, int64(limit.Records))
		return err
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

func readEvents(c *conn, name id.Conversation, limit turnlog.Limit, query string, args ...driver.Value) ([]event.Record, error) {
	var records []event.Record
	var runs []int64
	size := 0
	err := c.each(func(row []driver.Value) (bool, error) {
		body, _ := row[5].([]byte)
		if size += len(body); size > limit.Bytes && len(records) > 0 {
			return false, nil
		}
		records = append(records, event.Record{
			Conversation: name, Seq: asInt(row[0]), At: time.UnixMilli(asInt(row[1])).UTC(),
			Kind: kindOf(row[2]), Message: id.Message(asText(row[4])), Body: json.RawMessage(body),
		})
		runs = append(runs, asInt(row[3]))
		return len(records) < limit.Records, nil
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return records, nameRuns(c, records, runs)
}

// kindOf gives known kinds the one string that all records share.
func kindOf(v driver.Value) event.Kind {
	k := event.Kind(asText(v))
	if spec, ok := event.Lookup(k); ok {
		return spec.Kind
	}
	return k
}

// nameRuns puts the names of run and message to the keys that rows have in
// their place. Neighbours mostly share one.
func nameRuns(c *conn, records []event.Record, keys []int64) error {
	names := map[int64][2]string{}
	for i, key := range keys {
		if key == 0 {
			continue
		}
		name, ok := names[key]
		if !ok {
			row, err := c.first("SELECT run_id, msg_id FROM run WHERE id = ?", key)
			if err != nil {
				return err
			}
			if row != nil {
				name = [2]string{asText(row[0]), asText(row[1])}
			}
			names[key] = name
		}
		records[i].Run = id.Run(name[0])
		// An empty message on the record of a run is stored as null too;
		// the log lets no such record in.
		if records[i].Message == "" {
			records[i].Message = id.Message(name[1])
		}
	}
	return nil
}
