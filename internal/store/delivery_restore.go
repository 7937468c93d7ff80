package store

import (
	"time"
)

// beginAnew is for a copy that becomes a new life of the database. What was shown
// in chats, and received from them, after the copy was made is not known, so
// nothing of before is shown again: each open binding is closed, and one like it
// begins at the head of its conversation; of what was planned or under way nobody
// can tell whether it arrived, so it is unknown, which a person can ask for again;
// received messages that were at work are done, and how far surfaces had read is
// forgotten, as is the last id of each chat. In a copy of an older layout there is
// nothing of this.
func (c *conn) beginAnew(now time.Time) error {
	version, _, err := c.integer("PRAGMA user_version")
	if err != nil || version < 3 {
		return err
	}
	for _, q := range anew {
		if err := c.exec(q); err != nil {
			return err
		}
	}
	return c.exec("UPDATE inbound SET state = 'done', done = ?, text = x'', files = NULL WHERE state <> 'done'", nanos(now))
}

const lostCall = "the database was restored from a backup that was made before it was known whether this arrived"

var anew = []string{
	// The run under way is over for the chat, and so is what has posts.
	`INSERT OR IGNORE INTO run_shown(run, binding, reasoning, tools, commentary)
		SELECT r.run_id, b.id, 0, 0, 0 FROM binding b CROSS JOIN conversation c ON c.cid = b.conv CROSS JOIN run r ON r.id = c.running
		WHERE b.closed = 0 OR b.done < b.until
		UNION SELECT p.run, p.binding, 0, 0, 0 FROM placement p CROSS JOIN binding b ON b.id = p.binding WHERE p.run <> ''`,
	`UPDATE placement SET state = 'unknown', error = '` + lostCall + `' WHERE open = 1 AND state IN ('planned', 'in_flight')`,
	`UPDATE placement SET open = 0, edit_to = 0, again = 0 WHERE open = 1`,
	`UPDATE placement SET body = NULL, text = NULL, files = NULL WHERE body IS NOT NULL AND state NOT IN ('unknown', 'refused')`,
	`CREATE TEMP TABLE head AS SELECT c.cid AS conv, coalesce(max(
			coalesce((SELECT max(seq) FROM event WHERE conv = c.id), 0),
			coalesce((SELECT max(seq) FROM recent WHERE conv = c.id), 0)), 0) AS seq
		FROM conversation c WHERE c.cid IN (SELECT conv FROM binding WHERE closed = 0)`,
	`CREATE TEMP TABLE bound AS SELECT b.id, b.lane, b.conv, coalesce(h.seq, 0) AS seq FROM binding b LEFT JOIN head h ON h.conv = b.conv WHERE b.closed = 0`,
	`UPDATE binding SET closed = 1, until = (SELECT seq FROM bound WHERE bound.id = binding.id) WHERE closed = 0`,
	`UPDATE binding SET done = max(done, until)`,
	`INSERT INTO binding(lane, conv, from_seq, done) SELECT lane, conv, seq, seq FROM bound ORDER BY id`,
	`UPDATE lane SET last_id = ''`,
	`DELETE FROM mark`,
}
