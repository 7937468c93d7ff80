package store

// deliverySchema is what is kept about chats. It is no part of the log and is
// not derived from it.
//
// lane is a chat: not_before, interval and quiet are its pace, last_id is the
// platform's id that became known last.
//
// binding: conv is a conversation's name, which may have no records yet. The
// index binding_left has those in which something may be left to do.
//
// placement: binding is 0 for a post of no conversation. open is 1 while something may be left to do about it,
// however far its binding is settled. The body is in two columns: text as it is,
// and the rest as JSON, which is null where there is none. files are the blobs
// that the body names, a JSON array, null for none.
//
// run_shown says that a run is shown in a binding, with what was withheld.
//
// inbound: id is the order of receipt, msg the platform's id. done is when it was
// done, null until then. files are attachments, a JSON array, null for none.
//
// Times are in nanoseconds since 1970, null for none.
const deliverySchema = `
CREATE TABLE lane(
	id INTEGER PRIMARY KEY,
	surface TEXT NOT NULL,
	chat TEXT NOT NULL,
	thread TEXT NOT NULL,
	not_before INTEGER,
	interval INTEGER NOT NULL DEFAULT 0,
	quiet INTEGER,
	last_id TEXT NOT NULL DEFAULT '',
	UNIQUE(surface, chat, thread)
);
CREATE TABLE binding(
	id INTEGER PRIMARY KEY,
	lane INTEGER NOT NULL,
	conv TEXT NOT NULL,
	from_seq INTEGER NOT NULL,
	done INTEGER NOT NULL,
	closed INTEGER NOT NULL DEFAULT 0,
	until INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX binding_open ON binding(lane) WHERE closed = 0;
CREATE INDEX binding_left ON binding(lane) WHERE (closed = 0 OR done < until);
CREATE INDEX binding_conv ON binding(conv);
CREATE TABLE placement(
	id INTEGER PRIMARY KEY,
	post TEXT NOT NULL UNIQUE,
	lane INTEGER NOT NULL,
	binding INTEGER NOT NULL,
	run TEXT NOT NULL,
	item TEXT NOT NULL,
	segment TEXT NOT NULL,
	part INTEGER NOT NULL,
	from_byte INTEGER NOT NULL,
	to_byte INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	state TEXT NOT NULL,
	platform_id TEXT NOT NULL,
	edit_to INTEGER NOT NULL,
	shown TEXT NOT NULL,
	attempts INTEGER NOT NULL,
	start INTEGER NOT NULL,
	at INTEGER,
	first INTEGER,
	not_before INTEGER,
	wait INTEGER NOT NULL,
	plain INTEGER NOT NULL,
	sealed INTEGER NOT NULL,
	again INTEGER NOT NULL,
	open INTEGER NOT NULL,
	error TEXT NOT NULL,
	files TEXT,
	body TEXT,
	text BLOB
);
CREATE INDEX placement_seq ON placement(binding, seq);
CREATE INDEX placement_run ON placement(run, binding) WHERE run <> '';
CREATE INDEX placement_open ON placement(lane, binding) WHERE open = 1;
CREATE INDEX placement_unsure ON placement(lane) WHERE state IN ('unknown', 'refused') AND body IS NOT NULL AND run <> '';
CREATE INDEX placement_files ON placement(id) WHERE files IS NOT NULL;
CREATE TABLE run_shown(
	run TEXT NOT NULL,
	binding INTEGER NOT NULL,
	reasoning INTEGER NOT NULL,
	tools INTEGER NOT NULL,
	commentary INTEGER NOT NULL,
	PRIMARY KEY(run, binding)
) WITHOUT ROWID;
CREATE TABLE inbound(
	id INTEGER PRIMARY KEY,
	delivery TEXT NOT NULL UNIQUE,
	surface TEXT NOT NULL,
	chat TEXT NOT NULL,
	thread TEXT NOT NULL,
	msg TEXT NOT NULL,
	conv TEXT NOT NULL,
	run TEXT NOT NULL,
	state TEXT NOT NULL,
	at INTEGER,
	sender TEXT NOT NULL,
	done INTEGER,
	files TEXT,
	text BLOB NOT NULL
);
CREATE UNIQUE INDEX inbound_known ON inbound(surface, chat, msg) WHERE msg <> '';
CREATE INDEX inbound_open ON inbound(id) WHERE state <> 'done';
CREATE INDEX inbound_done ON inbound(done) WHERE done IS NOT NULL;
CREATE INDEX inbound_run ON inbound(run) WHERE run <> '';
CREATE INDEX inbound_files ON inbound(id) WHERE files IS NOT NULL;
CREATE TABLE mark(
	surface TEXT NOT NULL,
	name TEXT NOT NULL,
	value TEXT NOT NULL,
	PRIMARY KEY(surface, name)
) WITHOUT ROWID;
`
