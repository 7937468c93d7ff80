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
	// first, last, queued and dropped are seqs, 0 when there is none yet.
	first, last, queued, dropped int64
	waiting                      bool
	// turn is the seq of the question it answers, 0 for none.
	turn int64
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
	found, err := d.runOrNew(c, r.Run, r.Message)
	if err != nil {
		return nil, err
	}
	if found.conv != c.key {
		return nil, errRunUsed
	}
	if found.last != 0 || found.dropped != 0 {
		if r.Kind == (event.Start{}).Kind() || found.last == 0 {
			return nil, errRunUsed
		}
		return nil, errRunOver
	}
	if found.message == "" {
		// Its message waited, and nobody knew the answer's id yet.
		found.message = r.Message
		err = d.writer.exec("UPDATE run SET msg_id = ? WHERE id = ?", string(r.Message), found.key)
	}
	return found, err
}

// findRun finds a run by its id; nil when there is none.
func (d *DB) findRun(name id.Run) (*run, error) {
	if found := d.known.runs[name]; found != nil {
		return found, nil
	}
	row, err := d.writer.first(selectRun+" WHERE run_id = ?", string(name))
	if err != nil || row == nil {
		return nil, err
	}
	if len(d.known.runs) >= maxKnown {
		clear(d.known.runs)
	}
	found := runOf(row)
	d.known.runs[name] = found
	return found, nil
}

// runOrNew finds a run by its id, or makes it in this conversation.
func (d *DB) runOrNew(c *conversation, name id.Run, message id.Message) (*run, error) {
	found, err := d.findRun(name)
	if err != nil || found != nil {
		return found, err
	}
	if err := d.writer.exec("INSERT INTO run(run_id, msg_id, conv) VALUES(?, ?, ?)", string(name), string(message), c.key); err != nil {
		return nil, err
	}
	return d.findRun(name)
}

const selectRun = "SELECT id, conv, msg_id, first_seq, last_seq, queued_seq, dropped_seq, waiting, turn_seq FROM run"

func runOf(row []driver.Value) *run {
	return &run{
		key: asInt(row[0]), conv: asInt(row[1]), message: id.Message(asText(row[2])),
		first: asInt(row[3]), last: asInt(row[4]), queued: asInt(row[5]), dropped: asInt(row[6]),
		waiting: asInt(row[7]) == 1, turn: asInt(row[8]),
	}
}
