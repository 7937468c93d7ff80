package store

import (
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
)

// project brings the derived tables up to a structural record that was just
// inserted. run is nil for a fact about the conversation.
func (d *DB) project(c *conversation, run *run, r event.Record) error {
	e, err := r.Event()
	if err != nil {
		return err
	}
	switch e := e.(type) {
	case event.UserMessage:
		return d.asked(c, r, e)
	case event.Start:
		return d.started(c, run, r, e)
	case event.Cancelled, event.Error, event.End:
		return d.ended(c, run, r)
	case event.Title:
		return d.writer.exec("UPDATE conversation SET title = ?, title_set = 1 WHERE id = ?", e.Title, c.key)
	case event.Settings:
		if e.Project == nil {
			return nil
		}
		return d.writer.exec("UPDATE conversation SET project = ? WHERE id = ?", *e.Project, c.key)
	case event.MessageDeleted:
		return d.hide(c, e.Message, true)
	case event.MessageRestored:
		return d.hide(c, e.Message, false)
	case event.ConversationDeleted:
		return d.emptied(c)
	case event.Erased:
		return d.erased(c, r, e)
	}
	return nil
}

func (d *DB) asked(c *conversation, r event.Record, e event.UserMessage) error {
	err := d.writer.exec("INSERT INTO turn(conv, seq, msg_id) VALUES(?, ?, ?)", c.key, r.Seq, string(e.Message))
	if err != nil {
		return err
	}
	return d.writer.exec(`UPDATE conversation SET rows = rows + 1, updated = max(updated, ?),
		title = CASE WHEN title_set = 0 AND title = '' THEN ? ELSE title END
		WHERE id = ?`, r.At.UnixMilli(), transcript.DefaultTitle(e.Text), c.key)
}

// started notes the run's first start. A later one is its retry, which is no
// row and no run of its own.
func (d *DB) started(c *conversation, run *run, r event.Record, e event.Start) error {
	if run.first != 0 {
		if !e.Retry {
			return errRunUsed
		}
		return nil
	}
	run.first = r.Seq
	if err := d.writer.exec("UPDATE run SET first_seq = ?, request = ? WHERE id = ?", r.Seq, e.Request, run.key); err != nil {
		return err
	}
	if err := d.touched(c, r); err != nil {
		return err
	}
	turn, err := d.turnOf(c, e.RegenerateOf)
	if err != nil || turn == nil || turn.answered {
		return err
	}
	if err := d.writer.exec("UPDATE turn SET answered = 1 WHERE conv = ? AND seq = ?", c.key, turn.seq); err != nil {
		return err
	}
	if turn.deleted {
		return nil
	}
	return d.addRows(c, 1)
}

func (d *DB) ended(c *conversation, run *run, r event.Record) error {
	if run == nil {
		return nil
	}
	run.last = r.Seq
	if err := d.writer.exec("UPDATE run SET last_seq = ? WHERE id = ?", r.Seq, run.key); err != nil {
		return err
	}
	return d.touched(c, r)
}

func (d *DB) touched(c *conversation, r event.Record) error {
	return d.writer.exec("UPDATE conversation SET updated = max(updated, ?) WHERE id = ?", r.At.UnixMilli(), c.key)
}

func (d *DB) addRows(c *conversation, n int64) error {
	return d.writer.exec("UPDATE conversation SET rows = rows + ? WHERE id = ?", n, c.key)
}

// hide takes a turn's rows from the count, or gives them back. Doing the same
// twice, or to a message that is not there, changes nothing.
func (d *DB) hide(c *conversation, m id.Message, deleted bool) error {
	turn, err := d.turnOf(c, m)
	if err != nil || turn == nil || m == "" || turn.deleted == deleted {
		return err
	}
	rows, mark := int64(1), int64(0)
	if turn.answered {
		rows = 2
	}
	if deleted {
		rows, mark = -rows, 1
	}
	if err := d.writer.exec("UPDATE turn SET deleted = ? WHERE conv = ? AND seq = ?", mark, c.key, turn.seq); err != nil {
		return err
	}
	return d.addRows(c, rows)
}

// erased keeps the place of a question that is gone, so that the run after it
// does not count as the answer of the question before.
func (d *DB) erased(c *conversation, r event.Record, e event.Erased) error {
	if e.Was != (event.UserMessage{}).Kind() {
		return nil
	}
	return d.writer.exec("INSERT INTO turn(conv, seq, msg_id, deleted) VALUES(?, ?, '', 1)", c.key, r.Seq)
}

func (d *DB) emptied(c *conversation) error {
	if err := d.writer.exec("DELETE FROM turn WHERE conv = ?", c.key); err != nil {
		return err
	}
	return d.writer.exec("UPDATE conversation SET rows = 0, title = '', title_set = 0, project = '' WHERE id = ?", c.key)
}

// turn is a row of that table.
type turn struct {
	seq               int64
	answered, deleted bool
}

// turnOf finds the turn of a user message, the last turn when m is empty; nil
// when there is none.
func (d *DB) turnOf(c *conversation, m id.Message) (*turn, error) {
	const columns = "SELECT seq, answered, deleted FROM turn WHERE conv = ?1 "
	query := columns + "ORDER BY seq DESC LIMIT 1"
	if m != "" {
		query = columns + "AND msg_id = ?2 ORDER BY seq DESC LIMIT 1"
	}
	row, err := d.writer.first(query, c.key, string(m))
	if err != nil || row == nil {
		return nil, err
	}
	return &turn{seq: asInt(row[0]), answered: asInt(row[1]) == 1, deleted: asInt(row[2]) == 1}, nil
}
