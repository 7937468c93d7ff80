package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Backup writes a copy of the database as it is at one moment, and of the blobs
// that it refers to, to a new file (0600), while reading and writing go on. The file is complete and durable
// when it appears under its name. One that is there already is left alone:
// ErrExists. ctx is looked at before the copying begins.
//
// While it copies, the write-ahead log can't begin anew and grows by what is
// written meanwhile.
func (d *DB) Backup(ctx context.Context, file string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("back up to %s: %w; name a new file", file, ErrExists)
	}
	partial := file + ".partial"
	err := d.copyTo(partial)
	d.tidyLater()
	if err != nil {
		return fmt.Errorf("back up to %s: %w; the data is unharmed", file, err)
	}
	if err := publish(partial, file); err != nil {
		return fmt.Errorf("back up to %s: %w; the data is unharmed", file, errors.Join(err, os.Remove(partial)))
	}
	return nil
}

// copyTo writes the copy on a connection of its own, so that no reader waits.
func (d *DB) copyTo(partial string) (err error) {
	f, err := os.OpenFile(partial, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s, perhaps of a backup that was cut off; remove it if so", ErrExists, partial)
	}
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			err = errors.Join(err, os.Remove(partial))
		}
	}()
	c, err := dial(d.path(), d.options.VFS, readWrite, backupPragmas)
	if err != nil {
		return explain(err)
	}
	err = c.exec("VACUUM INTO ?", partial)
	if err = errors.Join(explain(err), c.close()); err != nil {
		return err
	}
	if err := addFiles(partial, filepath.Join(d.dir, blobsName)); err != nil {
		return err
	}
	return f.Sync()
}

const backupPragmas = "busy_timeout=5000;cache_size=-2048"

// publish gives a complete file its name, which must be free, durably.
func publish(partial, file string) error {
	err := os.Link(partial, file)
	if errors.Is(err, fs.ErrExist) {
		return ErrExists
	}
	if err != nil {
		// A file system without links.
		err = os.Rename(partial, file)
	} else {
		err = os.Remove(partial)
	}
	return errors.Join(err, syncDir(filepath.Dir(file)))
}
