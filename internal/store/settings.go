package store

import (
	"context"
	"database/sql/driver"
)

// Setting returns the value that is stored under a key, and false when there
// is none.
func (d *DB) Setting(ctx context.Context, key string) (value string, ok bool, err error) {
	err = d.read(ctx, func(c *conn) error {
		value, ok, err = c.text("SELECT value FROM setting WHERE key = ?", key)
		return err
	})
	return value, ok, err
}

// Settings returns all that is stored, by key.
func (d *DB) Settings(ctx context.Context) (map[string]string, error) {
	all := map[string]string{}
	err := d.read(ctx, func(c *conn) error {
		return c.each(func(row []driver.Value) (bool, error) {
			all[asText(row[0])] = asText(row[1])
			return true, nil
		}, "SELECT key, value FROM setting")
	})
	return all, err
}

// SetSetting stores a value under a key, or removes the key when value is nil.
// It is durable on return.
func (d *DB) SetSetting(ctx context.Context, key string, value *string) error {
	return d.SetSettings(ctx, map[string]*string{key: value})
}

// SetSettings does what SetSetting does for several keys, all or none of them.
func (d *DB) SetSettings(ctx context.Context, changes map[string]*string) error {
	return d.change(ctx, func() error {
		for key, value := range changes {
			if err := d.setOne(key, value); err != nil {
				return err
			}
		}
		return nil
	})
}

// change writes what is no part of the log, in a transaction of its own between
// those of the log.
func (d *DB) change(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unmoved += 8
	return d.transact(f)
}

func (d *DB) setOne(key string, value *string) error {
	if value == nil {
		return d.writer.exec("DELETE FROM setting WHERE key = ?", key)
	}
	return d.writer.exec("INSERT INTO setting(key, value) VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value", key, *value)
}
