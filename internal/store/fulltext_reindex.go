package store

import (
	"context"
	"database/sql/driver"
)

// reindexText builds what is searched anew from the events, in the open
// transaction and in the order of time. It comes after the fold that rebuilds
// runs and turns, when all records are in the event table, and takes time in
// proportion to the whole text.
func (d *DB) reindexText(ctx context.Context) error {
	for _, q := range []string{
		"INSERT INTO words(words) VALUES('delete-all')",
		"DELETE FROM unlisted",
		"DELETE FROM unindexed",
		"DELETE FROM document",
	} {
		if err := d.writer.exec(q); err != nil {
			return err
		}
	}
	sources, err := d.textSources()
	if err != nil {
		return err
	}
	for _, s := range sources {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.indexStored(s.conv, s.seq, ""); err != nil {
			return err
		}
	}
	return nil
}

// source names a record that completes a document.
type source struct{ conv, seq int64 }

func (d *DB) textSources() (sources []source, err error) {
	err = d.writer.each(func(row []driver.Value) (bool, error) {
		sources = append(sources, source{asInt(row[0]), asInt(row[1])})
		return true, nil
	}, `SELECT conv, seq FROM event INDEXED BY event_fact WHERE fact = 1
		AND kind IN ('user_message', 'tool_result', 'cancelled', 'error', 'end') ORDER BY at, conv, seq`)
	return sources, err
}
