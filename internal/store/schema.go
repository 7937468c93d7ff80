package store

import (
	"fmt"

	"verbatim/internal/id"
)

// The marks in the file's header by which a database is known to be ours and
// of which layout it is.
const (
	applicationID = 0x56657242 // "VerB"
	schemaVersion = 3
)

// schema is the layout. The event table and the recent table, which holds what
// came last (see recent), are the truth, beside what is no part of the log:
// meta, setting, rule, project, answer and what deliverySchema has. The rest is
// derived and can be rebuilt (Reindex), but for names: conversation.cid, run.run_id and msg_id, and the
// place in the queue of a run whose queue facts are erased.
//
// event.first_seq and event.marks are reserved: a row with first_seq stands
// for the merged deltas first_seq..seq, and marks maps the seqs inside to
// offsets, so that every cursor between still reads. Nothing writes them yet.
// event.msg is null where it is the message of the run. event.fact is 1 on
// structural records, null on the others, which the small index leaves out; a
// tombstone has what its record had.
//
// conversation: deleted is the seq of the deletion that a restoring would undo,
// 0 for none, and was_* hold what had been set before it; was_title is null when
// it had no name of its own. running is the key of the run under way, null for
// none.
//
// turn: title is what the conversation would be called after this message;
// msg_id is empty where the message is erased. A turn is shown when deleted and
// gone, the seq of the conversation's deletion that took it, are both 0.
//
// run: turn_seq is the seq of the question it answers, null for none. waiting
// is 1 while its message waits in the queue.
const schema = `
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE setting(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
` + eventSchema + derivedSchema + ownSchema + deliverySchema

const eventSchema = `
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

const derivedSchema = `
CREATE TABLE conversation(
	id INTEGER PRIMARY KEY,
	cid TEXT NOT NULL UNIQUE,
	title TEXT NOT NULL DEFAULT '',
	title_set INTEGER NOT NULL DEFAULT 0,
	project TEXT NOT NULL DEFAULT '',
	pinned INTEGER NOT NULL DEFAULT 0,
	archived INTEGER NOT NULL DEFAULT 0,
	model TEXT NOT NULL DEFAULT '',
	updated INTEGER NOT NULL DEFAULT 0,
	rows INTEGER NOT NULL DEFAULT 0,
	news_seq INTEGER NOT NULL DEFAULT 0,
	read_seq INTEGER NOT NULL DEFAULT 0,
	queued INTEGER NOT NULL DEFAULT 0,
	running INTEGER,
	deleted INTEGER NOT NULL DEFAULT 0,
	was_title TEXT,
	was_project TEXT NOT NULL DEFAULT '',
	was_pinned INTEGER NOT NULL DEFAULT 0,
	was_archived INTEGER NOT NULL DEFAULT 0,
	was_model TEXT NOT NULL DEFAULT ''
);
CREATE INDEX conversation_newest ON conversation(updated DESC, id DESC) WHERE rows > 0;
CREATE INDEX conversation_project ON conversation(project, updated DESC, id DESC) WHERE rows > 0 AND project <> '';
CREATE INDEX conversation_archived ON conversation(updated DESC, id DESC) WHERE rows > 0 AND archived = 1;
CREATE TABLE run(
	id INTEGER PRIMARY KEY,
	run_id TEXT NOT NULL UNIQUE,
	msg_id TEXT NOT NULL,
	conv INTEGER NOT NULL,
	request TEXT NOT NULL DEFAULT '',
	first_seq INTEGER,
	last_seq INTEGER,
	queued_seq INTEGER,
	dropped_seq INTEGER,
	waiting INTEGER,
	turn_seq INTEGER
);
CREATE INDEX run_conv ON run(conv);
CREATE INDEX run_unfinished ON run(id) WHERE first_seq IS NOT NULL AND last_seq IS NULL;
CREATE INDEX run_waiting ON run(id) WHERE waiting = 1;
CREATE TABLE turn(
	conv INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	msg_id TEXT NOT NULL,
	title TEXT NOT NULL DEFAULT '',
	answered INTEGER NOT NULL DEFAULT 0,
	deleted INTEGER NOT NULL DEFAULT 0,
	gone INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY(conv, seq)
) WITHOUT ROWID;
CREATE TABLE approval(
	conv INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	approval_id TEXT NOT NULL,
	run INTEGER NOT NULL,
	resolved_seq INTEGER,
	decision TEXT NOT NULL DEFAULT '',
	PRIMARY KEY(conv, seq)
) WITHOUT ROWID;
CREATE INDEX approval_named ON approval(approval_id);
CREATE TABLE doomed(
	conv INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	msg_id TEXT NOT NULL,
	at INTEGER NOT NULL,
	PRIMARY KEY(conv, seq)
) WITHOUT ROWID;
CREATE TABLE blob_ref(
	conv INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	blob TEXT NOT NULL,
	PRIMARY KEY(conv, seq, blob)
) WITHOUT ROWID;
CREATE INDEX blob_ref_named ON blob_ref(blob);
`

const ownSchema = `
CREATE TABLE rule(
	id TEXT PRIMARY KEY,
	tool TEXT NOT NULL,
	words TEXT NOT NULL,
	exact INTEGER NOT NULL,
	created INTEGER NOT NULL,
	by TEXT NOT NULL,
	approval_id TEXT NOT NULL,
	UNIQUE(tool, words, exact)
);
CREATE TABLE project(name TEXT PRIMARY KEY, instructions TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE answer(
	key TEXT PRIMARY KEY,
	hash TEXT NOT NULL,
	status INTEGER NOT NULL,
	type TEXT NOT NULL,
	body BLOB NOT NULL,
	conv TEXT NOT NULL,
	at INTEGER NOT NULL
);
CREATE INDEX answer_age ON answer(at);
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
	if err := c.once(schema + fulltextSchema); err != nil {
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
