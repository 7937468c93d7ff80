package store

import (
	"context"
	"fmt"
)

// upgrade brings a database of an older layout up to this one, in the open
// transaction: whoever is stopped in the middle has the old one. Nothing is
// changed when the layout is this version's. Layout 3 has what is kept about chats
// besides what 2 has.
func (d *DB) upgrade() error {
	version, _, err := d.writer.integer("PRAGMA user_version")
	if err != nil || version == schemaVersion {
		return err
	}
	d.options.Logger.Info("the database is of an older layout and is brought up to date", "from", version, "to", schemaVersion)
	if version < 2 {
		if err := d.fromOne(); err != nil {
			return err
		}
	}
	if err := d.writer.once(deliverySchema); err != nil {
		return err
	}
	return d.writer.once(fmt.Sprintf("PRAGMA user_version=%d", schemaVersion))
}

// fromOne makes layout 2 of layout 1. It reads all events.
func (d *DB) fromOne() error {
	for _, q := range oneToTwo {
		if err := d.writer.once(q); err != nil {
			return err
		}
	}
	return d.rebuild(context.Background())
}

// oneToTwo: the derived tables have other columns. Only the names in them are
// kept, the rest is folded anew.
var oneToTwo = []string{
	`INSERT INTO event(conv, seq, at, kind, fact, run, msg, body) SELECT conv, seq, at, kind, fact, run, msg, body FROM recent;
	DELETE FROM recent;
	DROP INDEX conversation_newest; DROP INDEX run_unfinished; DROP TABLE turn;
	ALTER TABLE conversation RENAME TO conversation_1;
	ALTER TABLE run RENAME TO run_1;`,
	derivedSchema + ownSchema + fulltextSchema,
	`INSERT INTO conversation(id, cid) SELECT id, cid FROM conversation_1;
	INSERT INTO run(id, run_id, msg_id, conv) SELECT id, run_id, msg_id, conv FROM run_1;
	DROP TABLE conversation_1; DROP TABLE run_1;`,
}
