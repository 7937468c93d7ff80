package store

import (
	"database/sql/driver"

	"verbatim/internal/event"
)

// project brings the derived tables up to a structural record that was just
// inserted. run is nil for a fact about the conversation.
func (d *DB) project(c *conversation, run *run, r event.Record, e event.Event) error {
	if run != nil {
		return d.projectRun(c, run, r, e)
	}
	switch e := e.(type) {
	case event.UserMessage:
		return d.asked(c, r, e)
	case event.Queue:
		return d.queue(c, r, e)
	case event.Title:
		return d.writer.exec("UPDATE conversation SET title = ?, title_set = 1 WHERE id = ?", e.Title, c.key)
	case event.ForkedFrom:
		return d.news(c, r)
	case event.Settings:
		return d.set(c, e)
	case event.MessageDeleted:
		return d.hide(c, r, e.Message)
	case event.MessageRestored:
		return d.unhide(c, e.Message)
	case event.ConversationDeleted:
		return d.emptied(c, r)
	case event.ConversationRestored:
		return d.refilled(c)
	case event.Erased:
		return d.erasedFact(c, r, e)
	}
	return nil
}

func (d *DB) projectRun(c *conversation, run *run, r event.Record, e event.Event) error {
	switch e := e.(type) {
	case event.Start:
		return d.started(c, run, r, e)
	case event.ApprovalRequest:
		return d.writer.exec("INSERT INTO approval(conv, seq, approval_id, run) VALUES(?, ?, ?, ?)",
			c.key, r.Seq, string(e.Approval), run.key)
	case event.ApprovalResolved:
		return d.writer.exec(`UPDATE approval SET resolved_seq = ?, decision = ?
			WHERE approval_id = ? AND conv = ? AND run = ? AND resolved_seq IS NULL`,
			r.Seq, string(e.Decision), string(e.Approval), c.key, run.key)
	case event.ToolResult:
		return d.refer(c, r, e.Blob)
	case event.Cancelled, event.Error, event.End:
		return d.ended(c, run, r)
	case event.Erased:
		return d.erasedOfRun(c, run, r, e)
	}
	return nil
}

// asked notes a question. Without a name of its own, a conversation is called
// after its first one that is shown.
func (d *DB) asked(c *conversation, r event.Record, e event.UserMessage) error {
	title := titleOf(e)
	err := d.writer.exec("INSERT INTO turn(conv, seq, msg_id, title) VALUES(?, ?, ?, ?)", c.key, r.Seq, string(e.Message), title)
	if err != nil {
		return err
	}
	if err := d.referAll(c, r, e.Attachments); err != nil {
		return err
	}
	return d.writer.exec(`UPDATE conversation SET rows = rows + 1, updated = max(updated, ?), news_seq = ?,
		title = CASE WHEN title_set = 0 AND title = '' THEN ? ELSE title END
		WHERE id = ?`, r.At.UnixMilli(), r.Seq, title, c.key)
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
	turn, err := d.turnOf(c, e.RegenerateOf)
	if err != nil {
		return err
	}
	rows := int64(0)
	var turnSeq driver.Value
	if turn != nil {
		run.turn, turnSeq = turn.seq, turn.seq
		if rows, err = d.answered(c, turn); err != nil {
			return err
		}
	}
	if err := d.writer.exec("UPDATE run SET request = ?, turn_seq = ? WHERE id = ?", e.Request, turnSeq, run.key); err != nil {
		return err
	}
	return d.begun(c, run, r, rows)
}

// answered notes that a turn has an answer, and returns how many rows that adds.
func (d *DB) answered(c *conversation, turn *turn) (rows int64, err error) {
	if turn.answered {
		return 0, nil
	}
	if !turn.deleted {
		rows = 1
	}
	return rows, d.writer.exec("UPDATE turn SET answered = 1 WHERE conv = ? AND seq = ?", c.key, turn.seq)
}

// begun notes where a run begins, and that its message waits no longer.
func (d *DB) begun(c *conversation, run *run, r event.Record, rows int64) error {
	waited := asFlag(run.waiting)
	run.first, run.waiting = r.Seq, false
	if err := d.writer.exec("UPDATE run SET first_seq = ?, waiting = NULL WHERE id = ?", r.Seq, run.key); err != nil {
		return err
	}
	at, news := newsOf(r)
	return d.writer.exec(`UPDATE conversation SET updated = max(updated, ?), news_seq = max(news_seq, ?), running = ?,
		queued = queued - ?, rows = rows + ? WHERE id = ?`, at, news, run.key, waited, rows, c.key)
}

func (d *DB) ended(c *conversation, run *run, r event.Record) error {
	run.last = r.Seq
	if err := d.writer.exec("UPDATE run SET last_seq = ? WHERE id = ?", r.Seq, run.key); err != nil {
		return err
	}
	at, news := newsOf(r)
	return d.writer.exec(`UPDATE conversation SET updated = max(updated, ?), news_seq = max(news_seq, ?),
		running = CASE WHEN running = ? THEN NULL ELSE running END WHERE id = ?`, at, news, run.key, c.key)
}

// erasedFact keeps the place of a question that is gone, so that the run after
// it does not count as the answer of the question before.
func (d *DB) erasedFact(c *conversation, r event.Record, e event.Erased) error {
	if e.Was != (event.UserMessage{}).Kind() {
		return nil
	}
	return d.writer.exec("INSERT INTO turn(conv, seq, msg_id, deleted) VALUES(?, ?, '', 1)", c.key, r.Seq)
}

// erasedOfRun keeps where a run began and ended, so that its id stays used and
// it is not taken for one under way.
func (d *DB) erasedOfRun(c *conversation, run *run, r event.Record, e event.Erased) error {
	spec, _ := event.Lookup(e.Was)
	switch {
	case spec.Terminal:
		return d.ended(c, run, r)
	case e.Was == (event.Start{}).Kind() && run.first == 0:
		return d.begun(c, run, r, 0)
	}
	return nil
}

// news notes the time and the seq of what a person would call news.
func (d *DB) news(c *conversation, r event.Record) error {
	return d.writer.exec("UPDATE conversation SET updated = max(updated, ?), news_seq = ? WHERE id = ?", r.At.UnixMilli(), r.Seq, c.key)
}

// newsOf is the time and the seq of a record that is news; a tombstone is none.
func newsOf(r event.Record) (at, seq int64) {
	if r.Kind == (event.Erased{}).Kind() {
		return 0, 0
	}
	return r.At.UnixMilli(), r.Seq
}
