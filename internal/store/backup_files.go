package store

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"verbatim/internal/blob"
)

// blobsName is the directory of blobs inside a data directory.
const blobsName = "blobs"

// A backup is one file: beside the tables of the database it has one with the
// blobs that are in use, in pieces.
const (
	backupFileTable = `CREATE TABLE backup_file(
	blob TEXT NOT NULL,
	piece INTEGER NOT NULL,
	data BLOB NOT NULL,
	PRIMARY KEY(blob, piece)
)`
	backupPieceBytes = 1 << 20
)

// addFiles puts the blobs of a directory into a copy of its database. One that
// is gone was erased while the copy was made: its record is left without it.
func addFiles(copied, dir string) (err error) {
	c, err := dial(copied, "", readWrite, "synchronous=OFF;journal_mode=OFF;cache_size=-4096")
	if err != nil {
		return explain(err)
	}
	defer func() { err = errors.Join(err, c.close()) }()
	version, _, err := c.integer("PRAGMA user_version")
	if err != nil || version < 2 {
		// A database of the first layout has no files.
		return explain(err)
	}
	query := selectBlobs
	if version < schemaVersion {
		query = selectRefBlobs + " GROUP BY 1"
	}
	names, err := c.texts(query)
	if err != nil || len(names) == 0 {
		return explain(err)
	}
	if err := c.exec(backupFileTable); err != nil {
		return explain(err)
	}
	for _, name := range names {
		if !blob.Valid(name) {
			continue
		}
		if err := addFile(c, name, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func addFile(c *conn, name, path string) (err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	piece := make([]byte, backupPieceBytes)
	for i := int64(0); ; i++ {
		n, err := io.ReadFull(f, piece)
		if n > 0 || i == 0 {
			if err := c.exec("INSERT INTO backup_file(blob, piece, data) VALUES(?, ?, ?)", name, i, piece[:n]); err != nil {
				return explain(err)
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the file %s: %w", name, err)
		}
	}
}

// takeFiles puts the blobs that a copy brought along into a directory and takes
// them out of the copy. A blob that is there with other content stays as it is,
// and is an error: names are random, so it can't be another's.
func takeFiles(copied, dir string) (err error) {
	c, err := dial(copied, "", readWrite, "synchronous=EXTRA;cache_size=-4096")
	if err != nil {
		return explain(err)
	}
	defer func() { err = errors.Join(err, c.close()) }()
	_, there, err := c.integer("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'backup_file'")
	if err != nil || !there {
		return explain(err)
	}
	files, err := blob.Open(dir)
	if err != nil {
		return err
	}
	names, err := c.texts("SELECT DISTINCT blob FROM backup_file ORDER BY blob")
	if err != nil {
		return explain(err)
	}
	for _, name := range names {
		if err := files.Import(name, &pieces{conn: c, name: name}); err != nil {
			return fmt.Errorf("put back the file %s: %w", name, err)
		}
	}
	if err := c.exec("DROP TABLE backup_file"); err != nil {
		return explain(err)
	}
	return explain(c.exec("VACUUM"))
}

// pieces reads a blob out of a copy.
type pieces struct {
	conn *conn
	name string
	next int64
	rest []byte
}

// Read returns more of the blob.
func (p *pieces) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		row, err := p.conn.first("SELECT data FROM backup_file WHERE blob = ? AND piece = ?", p.name, p.next)
		if err != nil {
			return 0, explain(err)
		}
		if row == nil {
			return 0, io.EOF
		}
		p.next++
		p.rest = asBytes(row[0])
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func asBytes(v driver.Value) []byte {
	b, _ := v.([]byte)
	return b
}
