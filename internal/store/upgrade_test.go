package store_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"modernc.org/sqlite"

	"verbatim/internal/event"
	"verbatim/internal/faultfs"
	"verbatim/internal/id"
	"verbatim/internal/store"
	"verbatim/internal/turnlog"
)

// layoutOne is the schema as it was.
const layoutOne = `
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
INSERT INTO meta VALUES('epoch', 'e_old'), ('start', 7);
INSERT INTO setting VALUES('system_prompt', '"kept"');
PRAGMA application_id=0x56657242;
PRAGMA user_version=1;
`

// raw is a connection of the test's own.
type raw struct {
	t *testing.T
	c driver.Conn
}

func dialRaw(t *testing.T, path string) raw {
	t.Helper()
	var d sqlite.Driver
	c, err := d.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw{t, c}
}

func (r raw) exec(query string, args ...driver.Value) {
	r.t.Helper()
	if _, err := r.c.(driver.ExecerContext).ExecContext(context.Background(), query, named(args)); err != nil {
		r.t.Fatalf("%s: %v", query, err)
	}
}

// texts returns the first column of a query.
func (r raw) texts(query string) (all []string) {
	r.t.Helper()
	rows, err := r.c.(driver.QueryerContext).QueryContext(context.Background(), query, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	row := make([]driver.Value, len(rows.Columns()))
	for err = rows.Next(row); err == nil; err = rows.Next(row) {
		s, _ := row[0].(string)
		all = append(all, s)
	}
	if !errors.Is(err, io.EOF) {
		r.t.Fatal(err)
	}
	if err := rows.Close(); err != nil {
		r.t.Fatal(err)
	}
	return all
}

func (r raw) close() {
	r.t.Helper()
	if err := r.c.Close(); err != nil {
		r.t.Fatal(err)
	}
}

func named(args []driver.Value) (values []driver.NamedValue) {
	for i, a := range args {
		values = append(values, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return values
}

// oldDatabase makes a database of layout 1 with a conversation, part of which
// is in the recent table, and returns its records.
func oldDatabase(t *testing.T, dir string) []event.Record {
	t.Helper()
	project := "Ops"
	drafts := []turnlog.Draft{
		{Event: event.UserMessage{Message: "q1", Text: "first\nquestion"}},
		{Run: "r1", Message: "a1", Event: event.Start{Version: 1, Request: "h1"}},
		{Run: "r1", Message: "a1", Event: event.Delta{Segment: "s1", Text: "an answer of old"}},
		{Run: "r1", Message: "a1", Event: event.End{Finish: event.FinishStop}},
		{Event: event.Settings{Project: &project}},
		{Event: event.UserMessage{Message: "q2", Text: "second"}},
		{Run: "r2", Message: "a2", Event: event.Start{Version: 1, Request: "h2"}},
		{Event: event.MessageDeleted{Message: "q1"}},
	}
	c := dialRaw(t, filepath.Join(dir, "verbatim.db"))
	defer c.close()
	c.exec(layoutOne)
	c.exec("INSERT INTO conversation(id, cid, title, rows, updated) VALUES(1, 'c', 'first question', 2, 1)")
	c.exec("INSERT INTO run(id, run_id, msg_id, conv, first_seq, last_seq) VALUES(1, 'r1', 'a1', 1, 2, 4), (2, 'r2', 'a2', 1, 7, NULL)")
	c.exec("INSERT INTO turn(conv, seq, msg_id, answered, deleted) VALUES(1, 1, 'q1', 1, 1), (1, 6, 'q2', 1, 0)")
	keys := map[id.Run]driver.Value{"": nil, "r1": int64(1), "r2": int64(2)}
	var records []event.Record
	for i, d := range drafts {
		r, err := event.NewRecord("c", d.Run, d.Message, d.Event)
		if err != nil {
			t.Fatal(err)
		}
		r.Seq, r.At = int64(i+1), time.UnixMilli(1_700_000_000_000+int64(i)).UTC()
		var fact driver.Value
		if spec, _ := event.Lookup(r.Kind); spec.Structural {
			fact = int64(1)
		}
		table := "event"
		if i > 3 {
			table = "recent"
		}
		c.exec("INSERT INTO "+table+"(conv, seq, at, kind, fact, run, body) VALUES(1, ?, ?, ?, ?, ?, ?)",
			r.Seq, r.At.UnixMilli(), string(r.Kind), fact, keys[r.Run], []byte(r.Body))
		records = append(records, r)
	}
	return records
}

func holdsOld(t *testing.T, db *store.DB, records []event.Record) {
	t.Helper()
	got, err := db.Read(t.Context(), "c", 0, turnlog.Limit{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(records, got, cmpopts.IgnoreUnexported(event.Record{})); d != "" {
		t.Errorf("records (-written +read):\n%s", d)
	}
	list, err := db.Conversations(t.Context(), turnlog.Query{})
	want := []turnlog.ConversationInfo{{
		Conversation: "c", Title: "second", Project: "Ops", Updated: 1_700_000_000_006, Rows: 2, Key: 1, News: 7, Running: "r2",
	}}
	if d := cmp.Diff(want, list); d != "" || err != nil {
		t.Errorf("list %v (-want +got):\n%s", err, d)
	}
	run, err := db.Run(t.Context(), "r1")
	if want := (turnlog.RunInfo{Run: "r1", Conversation: "c", Message: "a1", Request: "h1", First: 2, Last: 4}); run != want || err != nil {
		t.Errorf("run %+v, %v; want %+v", run, err, want)
	}
	doomed, err := db.Doomed(t.Context())
	if want := []turnlog.Doomed{{Conversation: "c", Message: "q1", Seq: 8, At: 1_700_000_000_007}}; !cmp.Equal(doomed, want) || err != nil {
		t.Errorf("doomed %+v, %v; want %+v", doomed, err, want)
	}
	if v, _, err := db.Setting(t.Context(), "system_prompt"); v != `"kept"` || err != nil {
		t.Errorf("setting %q, %v", v, err)
	}
	if db.Epoch() != "e_old" {
		t.Errorf("epoch %q", db.Epoch())
	}
	if err := db.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestLayoutOneIsBroughtUpToDate(t *testing.T) {
	dir := t.TempDir()
	records := oldDatabase(t, dir)
	for start := int64(8); start < 10; start++ {
		db := mustOpen(t, dir)
		holdsOld(t, db, records)
		if db.Start() != start {
			t.Errorf("start number %d, want %d", db.Start(), start)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	hasThisLayout(t, dir)
}

// hasThisLayout compares a database with a new one.
func hasThisLayout(t *testing.T, dir string) {
	t.Helper()
	fresh := t.TempDir()
	if err := mustOpen(t, fresh).Close(); err != nil {
		t.Fatal(err)
	}
	const schema = "SELECT coalesce(sql, name) FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%' ORDER BY name"
	var got [2][]string
	for i, d := range []string{fresh, dir} {
		c := dialRaw(t, filepath.Join(d, "verbatim.db"))
		got[i] = c.texts(schema)
		c.close()
	}
	if d := cmp.Diff(got[0], got[1]); d != "" {
		t.Errorf("schema (-made +brought up to date):\n%s", d)
	}
}

// toLayoutTwo makes a closed database of this layout one of layout 2, which had
// nothing about chats.
func toLayoutTwo(t *testing.T, dir string) {
	t.Helper()
	c := dialRaw(t, filepath.Join(dir, "verbatim.db"))
	defer c.close()
	for _, table := range []string{"lane", "binding", "placement", "run_shown", "inbound", "mark"} {
		c.exec("DROP TABLE " + table)
	}
	c.exec("PRAGMA user_version=2")
	c.exec("VACUUM")
}

// layoutTwo makes such a database with a turn in it, and returns its records.
func layoutTwo(t *testing.T, dir string) []event.Record {
	t.Helper()
	db := mustOpen(t, dir)
	l := turnlog.New(db, turnlog.Options{})
	(&writer{t: t, log: l}).turn("c", "text", 5000)
	records, err := l.After(t.Context(), "c", 0, turnlog.Limit{})
	if err := errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	toLayoutTwo(t, dir)
	return records
}

func holdsTwo(t *testing.T, db *store.DB, records []event.Record) {
	t.Helper()
	got, err := db.Read(t.Context(), "c", 0, turnlog.Limit{}, false)
	if d := cmp.Diff(records, got, cmpopts.IgnoreUnexported(event.Record{})); d != "" || err != nil {
		t.Errorf("%v (-written +read):\n%s", err, d)
	}
	list, err := db.Conversations(t.Context(), turnlog.Query{})
	if err != nil || len(list) != 1 || list[0].Rows != 2 {
		t.Errorf("list %+v, %v", list, err)
	}
	if all, err := db.Addresses(t.Context()); len(all) != 0 || err != nil {
		t.Errorf("chats %+v, %v", all, err)
	}
	if err := db.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestLayoutTwoIsBroughtUpToDate(t *testing.T) {
	dir := t.TempDir()
	records := layoutTwo(t, dir)
	for start := int64(2); start < 4; start++ {
		db := mustOpen(t, dir)
		holdsTwo(t, db, records)
		if b, err := db.Bind(t.Context(), chat("1"), "c"); b.From != int64(len(records)) || err != nil {
			t.Errorf("bound %+v, %v", b, err)
		}
		if _, err := db.Bind(t.Context(), chat("1"), "d"); err != nil || db.Start() != start {
			t.Errorf("start number %d, want %d; %v", db.Start(), start, err)
		}
		c := dialRaw(t, filepath.Join(dir, "verbatim.db"))
		c.exec("DELETE FROM binding")
		c.exec("DELETE FROM lane")
		c.close()
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	hasThisLayout(t, dir)
}

// A backup of layout 2 has its files, and can be restored.
func TestABackupOfLayoutTwo(t *testing.T) {
	dir := t.TempDir()
	records := layoutTwo(t, dir)
	file, other := filepath.Join(t.TempDir(), "copy"), t.TempDir()
	if err := store.BackupDir(t.Context(), dir, file); err != nil {
		t.Fatal(err)
	}
	if err := store.Restore(t.Context(), file, other, store.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	holdsTwo(t, mustOpen(t, other), records)
}

// A step that fails in the middle leaves the old layout whole.
func TestAnUpgradeIsWholeOrNot(t *testing.T) {
	for after := range 12 {
		dir := t.TempDir()
		records := oldDatabase(t, dir)
		upgradeFails(t, dir, after, func(db *store.DB) { holdsOld(t, db, records) })
	}
	old := t.TempDir()
	records := layoutTwo(t, old)
	data, err := os.ReadFile(filepath.Join(old, "verbatim.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []int{0, 1, 2, 4, 7} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "verbatim.db"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		upgradeFails(t, dir, after, func(db *store.DB) { holdsTwo(t, db, records) })
	}
}

// upgradeFails brings a database up to date on a disk that fails after so many
// writes, and then on one that doesn't.
func upgradeFails(t *testing.T, dir string, after int, holds func(*store.DB)) {
	t.Helper()
	disk, err := faultfs.New()
	if err != nil {
		t.Fatal(err)
	}
	disk.Fail(faultfs.Fault{Op: faultfs.Write, After: after})
	options := store.Options{BallastBytes: -1, VFS: disk.Name()}
	if db, err := store.Open(dir, options); err == nil {
		// So many writes were enough.
		holds(db)
		disk.Heal()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	disk.Heal()
	db, err := store.Open(dir, options)
	if err != nil {
		t.Fatalf("after write %d failed: %v", after, err)
	}
	holds(db)
	if err := errors.Join(db.Close(), disk.Close()); err != nil {
		t.Error(err)
	}
}

// A backup of an older layout can be restored.
func TestAnOldBackupIsRestored(t *testing.T) {
	old := t.TempDir()
	records := oldDatabase(t, old)
	dir := filepath.Join(t.TempDir(), "data")
	file := filepath.Join(old, "verbatim.db")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Restore(t.Context(), file, dir, store.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	db := mustOpen(t, dir)
	got, err := db.Read(t.Context(), "c", 0, turnlog.Limit{}, false)
	if err != nil || len(got) != len(records) {
		t.Errorf("%d records, %v; want %d", len(got), err, len(records))
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("the backup was changed (%v)", err)
	}
}
