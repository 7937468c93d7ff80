package store

import (
	"database/sql/driver"
	"encoding/json"

	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// What an erasure takes from chats: of the posts of its runs, and of those that
// show one of its records, the body, and what else was made of the text; of
// received messages whose runs it takes, what a person wrote.
const (
	ofRunPosts = "run <> '' AND run IN (SELECT value FROM json_each(?1))"
	ofRecords  = `run = '' AND binding IN (SELECT id FROM binding WHERE conv = ?1) AND +seq IN (SELECT value FROM json_each(?2))`

	blankPosts = `UPDATE placement SET body = NULL, text = NULL, files = NULL, shown = '', error = '',
		open = (state IN ('planned', 'in_flight') OR edit_to <> 0 OR again = 1) WHERE (body IS NOT NULL OR shown <> '' OR error <> '') AND `
	ofRunMessages = "run <> '' AND run IN (SELECT value FROM json_each(?1))"
	blankMessages = "UPDATE inbound SET text = x'', files = NULL, sender = '{}' WHERE (length(text) > 0 OR files IS NOT NULL OR sender <> '{}') AND "
)

// erasePosted takes what an erasure names out of posts and received messages, in
// the open transaction. It returns the blobs that these named, and whether
// anything was there.
func (d *DB) erasePosted(c *conversation, name id.Conversation, e turnlog.Erasure, seqs []int64) (blobs []string, changed bool, err error) {
	names, err := d.runsErased(c, e, seqs)
	if err != nil {
		return nil, false, err
	}
	runs, err := json.Marshal(append([]string{}, names...))
	if err != nil {
		return nil, false, err
	}
	for _, what := range []struct {
		blobs, blank, where string
		args                []driver.Value
	}{
		{selectPostBlobs, blankPosts, ofRunPosts, []driver.Value{string(runs)}},
		{selectPostBlobs, blankPosts, ofRecords, []driver.Value{string(name), keyList(seqs)}},
		{selectMessageBlobs, blankMessages, ofRunMessages, []driver.Value{string(runs)}},
	} {
		held, err := d.writer.texts(what.blobs+" AND "+what.where, what.args...)
		if err != nil {
			return nil, false, err
		}
		blobs = append(blobs, held...)
		if err := d.writer.exec(what.blank+what.where, what.args...); err != nil {
			return nil, false, err
		}
		rows, _, err := d.writer.integer("SELECT changes()")
		if err != nil {
			return nil, false, err
		}
		d.unmoved += 8 * int(rows)
		changed = changed || rows > 0
	}
	return blobs, changed, nil
}

// runsErased returns the runs of a conversation that an erasure names, those that
// it takes a record of, and those that only waited within it: what the queue says
// of these is no record of theirs.
func (d *DB) runsErased(c *conversation, e turnlog.Erasure, seqs []int64) ([]string, error) {
	asked, err := json.Marshal(append([]id.Run{}, e.Runs...))
	if err != nil {
		return nil, err
	}
	return d.writer.texts(`SELECT run_id FROM run WHERE run_id IN (SELECT value FROM json_each(?2)) AND conv = ?1
		UNION SELECT run_id FROM run WHERE id IN (SELECT run FROM event WHERE conv = ?1 AND seq IN (SELECT value FROM json_each(?3)))
		UNION SELECT run_id FROM run INDEXED BY run_conv WHERE conv = ?1 AND first_seq IS NULL AND queued_seq <= ?4`,
		c.key, string(asked), keyList(seqs), e.Through)
}

// Blobs that posts name, and those of received messages.
const (
	selectPostBlobs    = "SELECT f.value FROM placement INDEXED BY placement_files CROSS JOIN json_each(files) f WHERE files IS NOT NULL"
	selectMessageBlobs = "SELECT f.value ->> 'blob' FROM inbound INDEXED BY inbound_files CROSS JOIN json_each(files) f WHERE files IS NOT NULL AND f.value ->> 'blob' <> ''"
)
