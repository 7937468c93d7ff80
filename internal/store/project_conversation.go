package store

import (
	"database/sql/driver"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
)

// set takes what a settings record names and leaves the rest.
func (d *DB) set(c *conversation, e event.Settings) error {
	return d.writer.exec(`UPDATE conversation SET project = coalesce(?, project), pinned = coalesce(?, pinned),
		archived = coalesce(?, archived), model = coalesce(?, model), read_seq = coalesce(?, read_seq) WHERE id = ?`,
		maybeText(e.Project), maybeBool(e.Pinned), maybeBool(e.Archived), maybeText(e.Model), maybeInt(e.Read), c.key)
}

// hide takes a turn off the list, and puts it on that of what is to be erased.
// Doing the same twice, or to a message that is not there, changes nothing.
func (d *DB) hide(c *conversation, r event.Record, m id.Message) error {
	turn, err := d.named(c, m)
	if err != nil || turn == nil || turn.deleted {
		return err
	}
	if err := d.writer.exec("UPDATE turn SET deleted = 1 WHERE conv = ? AND seq = ?", c.key, turn.seq); err != nil {
		return err
	}
	if err := d.doom(c, r, m); err != nil {
		return err
	}
	return d.recount(c)
}

// unhide is the way back.
func (d *DB) unhide(c *conversation, m id.Message) error {
	turn, err := d.named(c, m)
	if err != nil || turn == nil || !turn.deleted {
		return err
	}
	if err := d.writer.exec("UPDATE turn SET deleted = 0 WHERE conv = ? AND seq = ?", c.key, turn.seq); err != nil {
		return err
	}
	if err := d.writer.exec("DELETE FROM doomed WHERE conv = ? AND msg_id = ?", c.key, string(m)); err != nil {
		return err
	}
	return d.recount(c)
}

// emptied hides all turns, and keeps beside them what had been set.
func (d *DB) emptied(c *conversation, r event.Record) error {
	if err := d.writer.exec("UPDATE turn SET gone = ? WHERE conv = ? AND gone = 0", r.Seq, c.key); err != nil {
		return err
	}
	left, err := d.leftBefore(c, r.Seq)
	if err != nil {
		return err
	}
	if left {
		if err := d.doom(c, r, ""); err != nil {
			return err
		}
	}
	return d.writer.exec(`UPDATE conversation SET deleted = ?, rows = 0, updated = max(updated, ?),
		was_title = CASE title_set WHEN 1 THEN title END, title = '', title_set = 0,
		was_project = project, project = '', was_pinned = pinned, pinned = 0,
		was_archived = archived, archived = 0, was_model = model, model = '' WHERE id = ?`,
		r.Seq, r.At.UnixMilli(), c.key)
}

// refilled undoes the last emptied: its turns are shown again, before those
// that came since, and what was set counts again unless it was set since.
func (d *DB) refilled(c *conversation) error {
	deleted, _, err := d.writer.integer("SELECT deleted FROM conversation WHERE id = ?", c.key)
	if err != nil || deleted == 0 {
		return err
	}
	if err := d.writer.exec("UPDATE turn SET gone = 0 WHERE conv = ? AND gone = ?", c.key, deleted); err != nil {
		return err
	}
	if err := d.writer.exec("DELETE FROM doomed WHERE conv = ? AND seq = ?", c.key, deleted); err != nil {
		return err
	}
	err = d.writer.exec(`UPDATE conversation SET deleted = 0,
		title = CASE WHEN title_set = 0 AND was_title IS NOT NULL THEN was_title ELSE title END,
		title_set = title_set = 1 OR was_title IS NOT NULL,
		project = CASE project WHEN '' THEN was_project ELSE project END,
		model = CASE model WHEN '' THEN was_model ELSE model END,
		pinned = max(pinned, was_pinned), archived = max(archived, was_archived),
		was_title = NULL, was_project = '', was_pinned = 0, was_archived = 0, was_model = '' WHERE id = ?`, c.key)
	if err != nil {
		return err
	}
	return d.recount(c)
}

// recount counts the rows that are shown, and names a conversation that has no
// name of its own after the first question among them.
func (d *DB) recount(c *conversation) error {
	return d.writer.exec(`UPDATE conversation SET
		rows = (SELECT coalesce(sum(1 + answered), 0) FROM turn WHERE conv = ?1 AND deleted = 0 AND gone = 0),
		title = CASE title_set WHEN 1 THEN title ELSE coalesce(
			(SELECT title FROM turn WHERE conv = ?1 AND deleted = 0 AND gone = 0 AND title <> '' ORDER BY seq LIMIT 1), '') END
		WHERE id = ?1`, c.key)
}

// doom notes what is to be erased unless it is restored.
func (d *DB) doom(c *conversation, r event.Record, m id.Message) error {
	return d.writer.exec("INSERT INTO doomed(conv, seq, msg_id, at) VALUES(?, ?, ?, ?)", c.key, r.Seq, string(m), r.At.UnixMilli())
}

// leftBefore reports whether anything before a deletion is not erased yet.
func (d *DB) leftBefore(c *conversation, seq int64) (bool, error) {
	for _, query := range []string{
		"SELECT 1 FROM event WHERE conv = ? AND seq < ? AND " + notMarker + " LIMIT 1",
		"SELECT 1 FROM recent WHERE conv = ? AND seq < ? AND " + notMarker + " LIMIT 1",
	} {
		if _, found, err := d.writer.integer(query, c.key, seq); err != nil || found {
			return found, err
		}
	}
	return false, nil
}

// notMarker holds for the records of which an erasure leaves a tombstone.
const notMarker = "kind NOT IN ('erased', 'conversation_deleted', 'conversation_restored')"

// turn is a row of that table.
type turn struct {
	seq               int64
	answered, deleted bool
}

// turnOf finds the turn of a user message, the last turn when m is empty; nil
// when there is none. What went with the whole conversation is not there.
func (d *DB) turnOf(c *conversation, m id.Message) (*turn, error) {
	if m != "" {
		return d.named(c, m)
	}
	return d.turn("SELECT seq, answered, deleted FROM turn WHERE conv = ? AND gone = 0 ORDER BY seq DESC LIMIT 1", c.key)
}

// named is turnOf for a message that must have a name: an erased one has none.
func (d *DB) named(c *conversation, m id.Message) (*turn, error) {
	if m == "" {
		return nil, nil
	}
	return d.turn("SELECT seq, answered, deleted FROM turn WHERE conv = ? AND msg_id = ? AND gone = 0 ORDER BY seq DESC LIMIT 1", c.key, string(m))
}

func (d *DB) turn(query string, args ...driver.Value) (*turn, error) {
	row, err := d.writer.first(query, args...)
	if err != nil || row == nil {
		return nil, err
	}
	return &turn{seq: asInt(row[0]), answered: asInt(row[1]) == 1, deleted: asInt(row[2]) == 1}, nil
}

func titleOf(e event.UserMessage) string { return transcript.DefaultTitle(e.Text) }

// maybeText, maybeBool and maybeInt are values to bind, null for nil.
func maybeText(s *string) driver.Value {
	if s == nil {
		return nil
	}
	return *s
}

func maybeBool(b *bool) driver.Value {
	if b == nil {
		return nil
	}
	return asFlag(*b)
}

func maybeInt(n *int64) driver.Value {
	if n == nil {
		return nil
	}
	return *n
}

func asFlag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
