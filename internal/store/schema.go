package store

import (
	"fmt"

	"verbatim/internal/id"
)

// The marks in the file's header by which a database is known to be ours and
// of which layout it is.
const (
	applicationID = 0x56657242 // "VerB"
	schemaVersion = 1
)

// schema is the layout. The event table and the recent table, which holds what
// came last (see recent), are the truth; turn, run's seqs and request, and all
// but the names in conversation can be rebuilt from them (Reindex).
//
// event.first_seq and event.marks are reserved: a row with first_seq stands
// for the merged deltas first_seq..seq, and marks maps the seqs inside to
// offsets, so that every cursor between still reads. Nothing writes them yet.
// event.msg is null where it is the message of the run. event.fact is 1 on
// structural records, null on the others, which the small index leaves out.
const schema = `
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE setting(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE conversation(
	id INTEGER PRIMARY KEY,
	cid TEXT NOT NULL UNIQUE,
	title TEXT NOT NULL DEFAULT '',
	title_set INTEGER NOT NULL DEFAULT 0,
	project TEXT NOT NULL DEFAULT '',
	updated INTEGER NOT NULL DEFAULT 0,
	rows INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX conversation_newest ON conversation(updated DESC, id DESC) WHERE rows > 0;
CREATE TABLE run(
	id INTEGER PRIMARY KEY,
	run_id TEXT NOT NULL UNIQUE,
	msg_id TEXT NOT NULL,
	conv INTEGER NOT NULL,
	request TEXT NOT NULL DEFAULT '',
	first_seq INTEGER,
	last_seq INTEGER
);
CREATE INDEX run_unfinished ON run(id) WHERE first_seq IS NOT NULL AND last_seq IS NULL;
CREATE TABLE turn(
	conv INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	msg_id TEXT NOT NULL,
	answered INTEGER NOT NULL DEFAULT 0,
	deleted INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY(conv, seq)
) WITHOUT ROWID;
CREATE TABLE event(
	conv INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	first_seq INTEGER,
	marks BLOB,
	at INTEGER NOT NULL,
	kind TEXT NOT NULL,
	fact INTEGER,
	run INTEGER,
	msg TEXT,
	body BLOB NOT NULL,
	PRIMARY KEY(conv, seq)
) WITHOUT ROWID;
CREATE INDEX event_fact ON event(conv, seq) WHERE fact = 1;
CREATE TABLE recent(
	id INTEGER PRIMARY KEY,
	conv INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	at INTEGER NOT NULL,
	kind TEXT NOT NULL,
	fact INTEGER,
	run INTEGER,
	msg TEXT,
	body BLOB NOT NULL
);
`

// checkSchema reports whether the database is new and empty. One that is not
// ours, or of a layout that this version does not know, is an error.
func checkSchema(c *conn) (fresh bool, err error) {
	version, _, err := c.integer("PRAGMA user_version")
	if err != nil {
		return false, err
	}
	app, _, err := c.integer("PRAGMA application_id")
	if err != nil {
		return false, err
	}
	tables, _, err := c.integer("SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return false, err
	}
	switch {
	case app == 0 && version == 0 && tables == 0:
		return true, nil
	case app != applicationID:
		return false, ErrForeign
	case version > schemaVersion:
		return false, fmt.Errorf("%w (layout %d, this one knows %d)", ErrNewer, version, schemaVersion)
	case version < 1:
		return false, fmt.Errorf("%w: it has no layout version", ErrCorrupt)
	}
	return false, nil
}

// createSchema runs inside the transaction that begins the database, so that
// there is never half of one.
func createSchema(c *conn, epoch id.Epoch) error {
	if err := c.once(schema); err != nil {
		return err
	}
	if err := c.exec("INSERT INTO meta(key, value) VALUES('epoch', ?), ('start', 0)", string(epoch)); err != nil {
		return err
	}
	if err := c.once(fmt.Sprintf("PRAGMA application_id=%d", applicationID)); err != nil {
		return err
	}
	return c.once(fmt.Sprintf("PRAGMA user_version=%d", schemaVersion))
}
