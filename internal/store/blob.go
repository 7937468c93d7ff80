package store

import (
	"context"
	"database/sql/driver"
)

// BlobInUse reports whether anything refers to a blob: a record, also of a message
// that waits, a post that can still be sent, or a received message that is not
// done.
func (d *DB) BlobInUse(ctx context.Context, blob string) (used bool, err error) {
	err = d.read(ctx, func(c *conn) error {
		used, err = c.blobInUse(blob)
		return err
	})
	return used, err
}

// Blobs returns every blob that is in use (see BlobInUse), once each, sorted.
func (d *DB) Blobs(ctx context.Context) (blobs []string, err error) {
	err = d.read(ctx, func(c *conn) error {
		blobs, err = c.texts(selectBlobs)
		return err
	})
	return blobs, err
}

const (
	selectRefBlobs = "SELECT blob FROM blob_ref"
	// Of the two others there are few rows: those of what is not settled.
	selectBlobs = selectRefBlobs + " UNION " + selectPostBlobs + " UNION " + selectMessageBlobs + " ORDER BY 1"
	selectBlob  = "SELECT 1 FROM blob_ref WHERE blob = ?1 UNION ALL " + selectPostBlobs + " AND f.value = ?1 UNION ALL " +
		selectMessageBlobs + " AND f.value ->> 'blob' = ?1 LIMIT 1"
)

func (c *conn) blobInUse(blob string) (bool, error) {
	_, used, err := c.integer(selectBlob, blob)
	return used, err
}

// blobsOf returns the blobs that records refer to.
func (d *DB) blobsOf(c *conversation, seqs []int64) ([]string, error) {
	return d.writer.texts(`SELECT DISTINCT blob FROM blob_ref
		WHERE conv = ? AND seq IN (SELECT value FROM json_each(?)) ORDER BY blob`, c.key, keyList(seqs))
}

// unreferenced returns those of some blobs that nothing refers to.
func (d *DB) unreferenced(blobs []string) (free []string, err error) {
	for _, blob := range blobs {
		used, err := d.writer.blobInUse(blob)
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
