package store

import (
	"context"
	"database/sql/driver"
)

// BlobInUse reports whether any record, also of a message that waits, refers
// to a blob.
func (d *DB) BlobInUse(ctx context.Context, blob string) (used bool, err error) {
	err = d.read(ctx, func(c *conn) error {
		_, used, err = c.integer(selectBlob, blob)
		return err
	})
	return used, err
}

// Blobs returns every blob that a record refers to, once each, sorted.
func (d *DB) Blobs(ctx context.Context) (blobs []string, err error) {
	err = d.read(ctx, func(c *conn) error {
		blobs, err = c.texts("SELECT DISTINCT blob FROM blob_ref ORDER BY blob")
		return err
	})
	return blobs, err
}

const selectBlob = "SELECT 1 FROM blob_ref WHERE blob = ? LIMIT 1"

// blobsOf returns the blobs that records refer to.
func (d *DB) blobsOf(c *conversation, seqs []int64) ([]string, error) {
	return d.writer.texts(`SELECT DISTINCT blob FROM blob_ref
		WHERE conv = ? AND seq IN (SELECT value FROM json_each(?)) ORDER BY blob`, c.key, keyList(seqs))
}

// unreferenced returns those of some blobs that nothing refers to.
func (d *DB) unreferenced(blobs []string) (free []string, err error) {
	for _, blob := range blobs {
		_, used, err := d.writer.integer(selectBlob, blob)
		if err != nil {
			return nil, err
		}
		if !used {
			free = append(free, blob)
		}
	}
	return free, nil
}

// texts returns the first column of all rows of a query.
func (c *conn) texts(query string, args ...driver.Value) (all []string, err error) {
	err = c.each(func(row []driver.Value) (bool, error) {
		all = append(all, asText(row[0]))
		return true, nil
	}, query, args...)
	return all, err
}
