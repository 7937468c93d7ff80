package store

import (
	"database/sql/driver"
	"fmt"

	"verbatim/internal/search"
)

// sweepAtOnce is how many entries leave the index at a time. Each takes a look
// into all its segments, about 0.1 ms; commits wait meanwhile.
const sweepAtOnce = 500

// unindex takes the text of records out of what is searched, in the open
// transaction: the documents that these records completed, and the answers that
// they are a part of. The text is gone with the transaction; the index, which
// holds fingerprints of words, loses the first entries at once and the others in
// the calls of Upkeep that follow. It is called before
// the records are changed, all of which are in the event table.
func (d *DB) unindex(c *conversation, seqs []int64) error {
	docs, err := d.documentsOf(c, seqs)
	if err != nil {
		return err
	}
	for _, doc := range docs {
		if err := d.writer.exec("INSERT INTO unlisted(id, keys) VALUES(?, ?)", doc.id, []byte(doc.keys())); err != nil {
			return err
		}
		if err := d.writer.exec("DELETE FROM document WHERE id = ?", doc.id); err != nil {
			return err
		}
		d.unmoved += 2 + len(doc.text)/pageBytes
	}
	return d.sweepSome()
}

// listed is a document with its key.
type listed struct {
	id int64
	document
}

func (d *DB) documentsOf(c *conversation, seqs []int64) (docs []listed, err error) {
	err = d.writer.each(func(row []driver.Value) (bool, error) {
		docs = append(docs, listed{asInt(row[0]), document{
			conv: c.key, role: search.Role(asInt(row[1])), text: asText(row[2]),
		}})
		return true, nil
	}, `SELECT id, role, text FROM document WHERE conv = ?1 AND (seq IN (SELECT value FROM json_each(?2))
		OR role = ?3 AND run IN (SELECT run FROM event
			WHERE conv = ?1 AND seq IN (SELECT value FROM json_each(?2)) AND kind = 'delta'))`,
		c.key, keyList(seqs), int64(search.RoleAnswer))
	return docs, err
}

// sweep takes entries of documents that are gone out of the index, some at a
// time, and reports whether there are more. d.mu is held.
func (d *DB) sweep() (more bool, err error) {
	row, err := d.writer.first("SELECT 1 FROM unlisted LIMIT 1")
	if err != nil || row == nil {
		return false, err
	}
	if err := d.transact(d.sweepSome); err != nil {
		return false, fmt.Errorf("take erased words out of the index: %w", err)
	}
	row, err = d.writer.first("SELECT 1 FROM unlisted LIMIT 1")
	return row != nil, err
}

// sweepSome is a piece of sweep, in the open transaction.
func (d *DB) sweepSome() error {
	for left := sweepAtOnce; left > 0; {
		row, err := d.writer.first("SELECT id, keys FROM unlisted ORDER BY id LIMIT 1")
		if err != nil || row == nil {
			return err
		}
		keys, _ := row[1].([]byte)
		some, rest := search.CutKeys(string(keys), left)
		if err := d.writer.exec("INSERT INTO words(words, rowid, keys) VALUES('delete', ?, ?)", row[0], some); err != nil {
			return err
		}
		if err := d.unlist(row[0], rest); err != nil {
			return err
		}
		if rest != "" {
			// FTS5 counts rows, one less at each 'delete': this one is still
			// there.
			if err := d.writer.exec("INSERT INTO words(rowid, keys) VALUES(?, '')", row[0]); err != nil {
				return err
			}
		}
		n := search.CountKeys(some)
		left -= n
		// Each is on a page of its own.
		d.unmoved += n
	}
	return nil
}

// unlist notes which keys of a document are still in the index.
func (d *DB) unlist(doc driver.Value, keys string) error {
	if keys == "" {
		return d.writer.exec("DELETE FROM unlisted WHERE id = ?", doc)
	}
	return d.writer.exec("UPDATE unlisted SET keys = ? WHERE id = ?", []byte(keys), doc)
}
