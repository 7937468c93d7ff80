package store

import (
	"database/sql/driver"
	"io"
	"os"
	"path/filepath"
	"strings"

	"verbatim/internal/blob"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/search"
)

// fulltextSchema is the layout of what is searched.
//
// document holds a row for every text that can be found, in the order in which
// they were committed: a question, a run's text, a call's output. seq is the
// record that completed it, turn the seq of its question, 0 for none; run and
// call are null for a question.
//
// words is the index: for each document the fingerprints of its words (see
// search.Keys), and nothing of its text. secure-delete takes an entry out of
// the pages it is on, instead of adding that it is gone.
//
// unindexed names records whose text is still to be made findable; see
// postponeText.
//
// unlisted holds the keys of documents that are gone and still have entries in
// words; see sweep.
const fulltextSchema = `
CREATE TABLE document(
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	conv INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	turn INTEGER NOT NULL,
	run INTEGER,
	call TEXT,
	role INTEGER NOT NULL,
	at INTEGER NOT NULL,
	text TEXT NOT NULL
);
CREATE INDEX document_record ON document(conv, seq);
CREATE VIRTUAL TABLE words USING fts5(keys, content='', columnsize=0, detail=none, tokenize='ascii');
INSERT INTO words(words, rank) VALUES('secure-delete', 1);
CREATE TABLE unlisted(id INTEGER PRIMARY KEY, keys BLOB NOT NULL);
CREATE TABLE unindexed(conv INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY(conv, seq)) WITHOUT ROWID;
`

// document is a row of that table.
type document struct {
	conv, seq, turn int64
	run             int64 // 0 for none
	call            id.Call
	role            search.Role
	at              int64 // in Unix milliseconds
	text            string
}

// indexQuestion makes a person's message findable.
func (d *DB) indexQuestion(c *conversation, r event.Record, e event.UserMessage) error {
	return d.index(c, r, document{turn: r.Seq, role: search.RoleQuestion, text: e.Text})
}

// indexAnswer makes a run's text findable, whose terminal r is.
func (d *DB) indexAnswer(c *conversation, run *run, r event.Record) error {
	text, err := d.answerText(c, run, r)
	if err != nil {
		return err
	}
	return d.index(c, r, document{turn: run.turn, run: run.key, role: search.RoleAnswer, text: text})
}

// maxIndexedOutput is how much of an output is findable that is too long to be
// shown, in bytes from its beginning; what is shown of it, its end, always is.
const maxIndexedOutput = 256 << 10

// indexOutput makes the output of a call findable: all of it where it is in the
// record, else what the record shows of its end and the beginning of the whole,
// which is in a blob. A blob that can't be read leaves what is shown.
func (d *DB) indexOutput(c *conversation, run *run, r event.Record, e event.ToolResult) error {
	if run == nil {
		return nil
	}
	return d.index(c, r, document{turn: run.turn, run: run.key, call: e.Call, role: search.RoleOutput, text: d.wholeOutput(e)})
}

func (d *DB) wholeOutput(e event.ToolResult) string {
	if !e.Truncated || !blob.Valid(e.Blob) {
		return e.Output
	}
	f, err := os.Open(filepath.Join(d.dir, blobsName, e.Blob))
	if err != nil {
		return e.Output
	}
	defer func() { _ = f.Close() }()
	head, err := io.ReadAll(io.LimitReader(f, maxIndexedOutput))
	if err != nil {
		return e.Output
	}
	text := strings.ToValidUTF8(string(head), "")
	if int64(len(head)) < e.OutputBytes {
		text += "\n" + e.Output
	}
	return text
}

// index adds a document, in the open transaction. One without a word is left
// out.
func (d *DB) index(c *conversation, r event.Record, doc document) error {
	doc.conv, doc.seq, doc.at = c.key, r.Seq, r.At.UnixMilli()
	keys := doc.keys()
	if keys == "" {
		return nil
	}
	var run, call driver.Value
	if doc.run != 0 {
		run = doc.run
	}
	if doc.call != "" {
		call = string(doc.call)
	}
	err := d.writer.exec("INSERT INTO document(conv, seq, turn, run, call, role, at, text) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
		doc.conv, doc.seq, doc.turn, run, call, int64(doc.role), doc.at, doc.text)
	if err != nil {
		return err
	}
	// The row of the text, and its words on pages of their own.
	d.unmoved += 8 + (len(doc.text)+len(keys))/pageBytes
	return d.writer.exec("INSERT INTO words(rowid, keys) VALUES(last_insert_rowid(), ?)", keys)
}

// keys returns what the document is found by, empty when it has no word.
func (doc document) keys() string {
	return search.Keys(doc.text, search.Place{Conversation: doc.conv, Output: doc.role == search.RoleOutput})
}

// answerText returns the text that a run said, as it is shown in one piece. Its
// records are in both tables, and in rows that the open transaction wrote.
func (d *DB) answerText(c *conversation, run *run, r event.Record) (string, error) {
	if run.first == 0 {
		return "", nil
	}
	var said search.Answer
	err := d.writer.each(func(row []driver.Value) (bool, error) {
		body, _ := row[1].([]byte)
		e, err := event.Decode((event.Delta{}).Kind(), body)
		if e, ok := e.(event.Delta); ok && err == nil {
			said.Add(e.Segment, e.Text)
		}
		return true, err
	}, selectSaid, c.key, run.first, r.Seq, run.key, keyList(d.recentKeys(r.Conversation, run.first)))
	return said.Text(), err
}

const selectSaid = `SELECT seq, body FROM event WHERE conv = ?1 AND seq BETWEEN ?2 AND ?3 AND run = ?4 AND kind = 'delta'
	UNION ALL
	SELECT r.seq, r.body FROM json_each(?5) k CROSS JOIN recent r ON r.id = k.value
	WHERE r.conv = ?1 AND r.seq BETWEEN ?2 AND ?3 AND r.run = ?4 AND r.kind = 'delta'
	ORDER BY seq`

// recentKeys returns the keys of a conversation's rows in the recent table from
// a seq on, those of the open transaction included.
func (d *DB) recentKeys(name id.Conversation, first int64) []int64 {
	var keys []int64
	if s, ok := d.recent.of[name]; ok {
		rows := s.after(first-1, len(s.keys))
		keys = append(keys, rows...)
	}
	for _, a := range d.recent.added {
		if a.conversation == name && a.seq >= first {
			keys = append(keys, a.key)
		}
	}
	return keys
}
