package store

import (
	"context"
	"database/sql/driver"
)

// Projects returns the instructions of every project that has an entry, by its
// name.
func (d *DB) Projects(ctx context.Context) (map[string]string, error) {
	all := map[string]string{}
	err := d.read(ctx, func(c *conn) error {
		return c.each(func(row []driver.Value) (bool, error) {
			all[asText(row[0])] = asText(row[1])
			return true, nil
		}, "SELECT name, instructions FROM project")
	})
	return all, err
}

// SetProject stores a project's instructions, which may be empty, in the place
// of those it had. It is durable on return.
func (d *DB) SetProject(ctx context.Context, name, instructions string) error {
	return d.change(ctx, func() error {
		return d.writer.exec(`INSERT INTO project(name, instructions) VALUES(?, ?)
			ON CONFLICT(name) DO UPDATE SET instructions = excluded.instructions`, name, instructions)
	})
}
