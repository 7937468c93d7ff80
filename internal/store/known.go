package store

import (
	"database/sql/driver"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// maxKnown bounds the memory of what the writer knows, in entries of a kind.
const maxKnown = 4096

// known is what the writer remembers of rows it has read or written, so that
// the next record of a running answer costs one insert. It holds what is in
// the open transaction and is emptied when one fails.
type known struct {
	conversations map[id.Conversation]*conversation
	runs          map[id.Run]*run
}

func (k *known) reset() {
	k.conversations = map[id.Conversation]*conversation{}
	k.runs = map[id.Run]*run{}
}

// conversation is a row of that table, with the seq of its last record.
type conversation struct {
	key  int64
	head int64
}

// run is a row of that table.
type run struct {
	key     int64
	conv    int64
	message id.Message
	// first and last are seqs, 0 when there is none yet.
	first, last int64
}

// conversation finds a conversation, or makes it.
func (d *DB) conversation(name id.Conversation) (*conversation, error) {
	if c := d.known.conversations[name]; c != nil {
		return c, nil
	}
	const find = "SELECT id FROM conversation WHERE cid = ?"
	key, ok, err := d.writer.integer(find, string(name))
	if err != nil {
		return nil, err
	}
	c := &conversation{key: key}
	if ok {
		c.head, err = d.headOf(name, key)
	} else {
		if err = d.writer.exec("INSERT INTO conversation(cid) VALUES(?)", string(name)); err == nil {
			c.key, _, err = d.writer.integer(find, string(name))
		}
	}
	if err != nil {
		return nil, err
	}
	if len(d.known.conversations) >= maxKnown {
		clear(d.known.conversations)
	}
	d.known.conversations[name] = c
	return c, nil
}

// headOf returns the seq of a conversation's last record, 0 for none.
func (d *DB) headOf(name id.Conversation, key int64) (int64, error) {
	if seq, ok := d.recent.head(name); ok {
		return seq, nil
	}
	seq, _, err := d.writer.integer(selectHead, key)
	return seq, err
}

const selectHead = "SELECT seq FROM event WHERE conv = ? ORDER BY seq DESC LIMIT 1"

// run finds the run of a record, or makes it, and refuses a record that the
// run can't have.
func (d *DB) run(c *conversation, r event.Record) (*run, error) {
	found, err := d.findRun(c, r)
	if err != nil {
		return nil, err
	}
	if found.conv != c.key {
		return nil, errRunUsed
	}
	if found.last != 0 {
		if r.Kind == (event.Start{}).Kind() {
			return nil, errRunUsed
		}
		return nil, errRunOver
	}
	return found, nil
}

func (d *DB) findRun(c *conversation, r event.Record) (*run, error) {
	if found := d.known.runs[r.Run]; found != nil {
		return found, nil
	}
	const find = "SELECT id, conv, msg_id, first_seq, last_seq FROM run WHERE run_id = ?"
	row, err := d.writer.first(find, string(r.Run))
	if err == nil && row == nil {
		if err = d.writer.exec("INSERT INTO run(run_id, msg_id, conv) VALUES(?, ?, ?)", string(r.Run), string(r.Message), c.key); err == nil {
			row, err = d.writer.first(find, string(r.Run))
		}
	}
	if err != nil {
		return nil, err
	}
	if len(d.known.runs) >= maxKnown {
		clear(d.known.runs)
	}
	found := runOf(row)
	d.known.runs[r.Run] = found
	return found, nil
}

func runOf(row []driver.Value) *run {
	return &run{
		key: asInt(row[0]), conv: asInt(row[1]), message: id.Message(asText(row[2])),
		first: asInt(row[3]), last: asInt(row[4]),
	}
}
