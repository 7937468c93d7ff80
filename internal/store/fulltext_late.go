package store

import (
	"encoding/json"
	"errors"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// lost reports whether the ballast was given up and is not there again.
func (b *ballast) lost() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.size >= 0 && !b.there
}

// postponeText notes in the open transaction that a record's text is not
// findable yet. While the disk is full the room that the ballast gave is for
// closing runs: the index would need as much again as their whole text.
func (d *DB) postponeText(c *conversation, r event.Record, e event.Event) error {
	switch e.(type) {
	case event.UserMessage, event.ToolResult, event.Cancelled, event.Error, event.End:
	default:
		return nil
	}
	d.late = true
	return d.writer.exec("INSERT OR IGNORE INTO unindexed(conv, seq) VALUES(?, ?)", c.key, r.Seq)
}

// findLate reads whether the last opening left anything to index.
func (d *DB) findLate() (err error) {
	_, d.late, err = d.writer.integer("SELECT 1 FROM unindexed LIMIT 1")
	return err
}

// indexLate makes one of the records findable that came while the disk was full,
// once there is room again. A disk that is full once more leaves it for later.
// d.mu is held.
func (d *DB) indexLate() (more bool, err error) {
	if !d.late || d.ballast.lost() {
		return false, nil
	}
	err = d.transact(d.indexOneLate)
	if errors.Is(err, turnlog.ErrFull) {
		return false, nil
	}
	return d.late && err == nil, err
}

func (d *DB) indexOneLate() error {
	row, err := d.writer.first(`SELECT u.conv, u.seq, c.cid FROM unindexed u JOIN conversation c ON c.id = u.conv LIMIT 1`)
	if err != nil || row == nil {
		d.late = err != nil
		return err
	}
	conv, seq := asInt(row[0]), asInt(row[1])
	if err := d.indexStored(conv, seq, id.Conversation(asText(row[2]))); err != nil {
		return err
	}
	return d.writer.exec("DELETE FROM unindexed WHERE conv = ? AND seq = ?", conv, seq)
}

// indexStored indexes a record that is stored, wherever it is.
func (d *DB) indexStored(conv, seq int64, name id.Conversation) error {
	row, err := d.writer.first(`SELECT at, kind, run, body FROM event WHERE conv = ?1 AND seq = ?2
		UNION ALL SELECT at, kind, run, body FROM recent WHERE conv = ?1 AND seq = ?2 LIMIT 1`, conv, seq)
	if err != nil || row == nil {
		return err
	}
	body, _ := row[3].([]byte)
	r := event.Record{
		Conversation: name, Seq: seq, At: time.UnixMilli(asInt(row[0])).UTC(), Kind: kindOf(row[1]), Body: json.RawMessage(body),
	}
	e, err := r.Event()
	if err != nil {
		return err
	}
	var of *run
	if key := asInt(row[2]); key != 0 {
		found, err := d.writer.first(selectRun+" WHERE id = ?", key)
		if err != nil || found == nil {
			return err
		}
		of = runOf(found)
	}
	return d.indexText(&conversation{key: conv}, of, r, e)
}
