package store

import "verbatim/internal/event"

// queue notes what became of a message that waits. Sending it says nothing by
// itself: the start of its run, in the same unit, does. What does not fit is
// left to the fold, but for a run id that is taken.
func (d *DB) queue(c *conversation, r event.Record, e event.Queue) error {
	if e.Op == event.QueueAdd && e.Run != "" {
		run, err := d.runOrNew(c, e.Run, "")
		if err != nil {
			return err
		}
		return d.queued(c, run, r, e)
	}
	run, err := d.findRun(e.Run)
	if err != nil || run == nil || run.conv != c.key {
		return err
	}
	switch {
	case e.Op == event.QueueEdit && run.waiting:
		if err := d.referWaiting(c, r, e); err != nil {
			return err
		}
		return d.writer.exec("UPDATE run SET request = ? WHERE id = ?", e.Request, run.key)
	case e.Op == event.QueueRemove && run.queued != 0 && run.first == 0 && run.dropped == 0:
		return d.dropped(c, run, r)
	}
	return nil
}

func (d *DB) queued(c *conversation, run *run, r event.Record, e event.Queue) error {
	if run.conv != c.key || run.queued != 0 || run.first != 0 {
		return errRunUsed
	}
	run.queued, run.waiting = r.Seq, true
	if err := d.writer.exec("UPDATE run SET queued_seq = ?, waiting = 1, request = ? WHERE id = ?", r.Seq, e.Request, run.key); err != nil {
		return err
	}
	if err := d.referWaiting(c, r, e); err != nil {
		return err
	}
	return d.writer.exec("UPDATE conversation SET queued = queued + 1 WHERE id = ?", c.key)
}

func (d *DB) dropped(c *conversation, run *run, r event.Record) error {
	waited := asFlag(run.waiting)
	run.dropped, run.waiting = r.Seq, false
	if err := d.writer.exec("UPDATE run SET dropped_seq = ?, waiting = NULL WHERE id = ?", r.Seq, run.key); err != nil {
		return err
	}
	return d.writer.exec("UPDATE conversation SET queued = queued - ? WHERE id = ?", waited, c.key)
}

// referWaiting is for the files of a message that waits; an answer that is to be
// given again has no message.
func (d *DB) referWaiting(c *conversation, r event.Record, e event.Queue) error {
	if e.Message == nil {
		return nil
	}
	return d.referAll(c, r, e.Message.Attachments)
}

// refer notes that a record needs a blob; an empty name is none.
func (d *DB) refer(c *conversation, r event.Record, blob string) error {
	if blob == "" {
		return nil
	}
	return d.writer.exec("INSERT OR IGNORE INTO blob_ref(conv, seq, blob) VALUES(?, ?, ?)", c.key, r.Seq, blob)
}

func (d *DB) referAll(c *conversation, r event.Record, files []event.Attachment) error {
	for _, f := range files {
		if err := d.refer(c, r, f.Blob); err != nil {
			return err
		}
	}
	return nil
}
