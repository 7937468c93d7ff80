package store

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"math"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// Head returns the seq of a conversation's last record, 0 for none.
func (d *DB) Head(ctx context.Context, name id.Conversation) (head int64, err error) {
	if s, ok := d.recent.get(name); ok {
		return s.last, nil
	}
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

// The two tables are read in one statement: between two, rows could be moved
// from the one not read yet to the one read already.
const (
	selectConversation = "SELECT id FROM conversation WHERE cid = ?"

	sortedEvents = "SELECT seq, at, kind, run, msg, body FROM event WHERE conv = ?1 AND seq > ?2"
	sortedFacts  = "SELECT seq, at, kind, run, msg, body FROM event INDEXED BY event_fact WHERE conv = ?1 AND seq > ?2 AND fact = 1"
	recentEvents = " UNION ALL SELECT r.seq, r.at, r.kind, r.run, r.msg, r.body FROM json_each(?4) k CROSS JOIN recent r ON r.id = k.value WHERE r.conv = ?1"
	recentFacts  = recentEvents + " AND r.fact = 1"
	inOrder      = " ORDER BY seq LIMIT ?3"
)

// Read returns the records after a seq; see turnlog.Store. The transaction it
// reads in ends before it returns, however slow the caller is.
func (d *DB) Read(ctx context.Context, name id.Conversation, after int64, limit turnlog.Limit, facts bool) ([]event.Record, error) {
	limit = limit.Bounded()
	// Asked before the read: a row that is not there any more is in the other
	// table.
	s, recent := d.recent.get(name)
	query := selectRecords(facts, recent)
	var records []event.Record
	err := d.read(ctx, func(c *conn) error {
		key, ok, err := c.integer(selectConversation, string(name))
		if err != nil || !ok {
			return err
		}
		args := []driver.Value{key, after, int64(limit.Records)}
		if recent {
			args = append(args, keyList(s.after(after, most(limit, facts))))
		}
		records, err = readEvents(c, name, limit, query, args...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

// most is how many rows of the recent table a read may need: facts have others
// between them.
func most(limit turnlog.Limit, facts bool) int {
	if facts {
		return math.MaxInt
	}
	return limit.Records
}

// selectRecords is the statement for a read, with or without the recent table.
func selectRecords(facts, recent bool) string {
	switch {
	case facts && recent:
		return sortedFacts + recentFacts + inOrder
	case facts:
		return sortedFacts + inOrder
	case recent:
		return sortedEvents + recentEvents + inOrder
	}
	return sortedEvents + inOrder
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
