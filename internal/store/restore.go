package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"verbatim/internal/id"
)

// RestoreOptions are the choices of a Restore.
type RestoreOptions struct {
	// Force moves a database that is in the way aside: its files get the
	// suffix .before-restore-<time> and are never deleted.
	Force bool
	// Mint makes the new epoch.
	Mint id.Mint
	// Now names what is moved aside; nil means time.Now.
	Now func() time.Time
}

// Restore makes the copy that Backup wrote the database of dir, and puts its
// blobs beside it. The copy is
// read whole and checked first, and is not changed. The restored database has
// an epoch of its own, so that no cursor of a later life is taken for one of
// this, and its start number is above that of the database it replaces, where
// that one can be read. Chats begin anew at the heads of their conversations
// (see beginAnew).
//
// Errors: ErrInUse while a process has dir; ErrExists when dir holds a database
// and Force is not set; ErrCorrupt, ErrForeign and ErrNewer for what is wrong
// with the copy. On an error dir keeps the database it had.
func Restore(ctx context.Context, file, dir string, options RestoreOptions) (err error) {
	if options.Now == nil {
		options.Now = time.Now
	}
	if err := checkCopy(file); err != nil {
		return fmt.Errorf("restore %s: %w", file, err)
	}
	if err := makeDir(dir); err != nil {
		return err
	}
	lock, err := acquire(filepath.Join(dir, lockName))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	path := filepath.Join(dir, databaseName)
	inTheWay, err := present(path)
	if err != nil {
		return err
	}
	if len(inTheWay) > 0 && !options.Force {
		return fmt.Errorf("restore to %s: %w: %s; with --force it is moved aside", dir, ErrExists, filepath.Base(inTheWay[0]))
	}
	return restore(ctx, file, path, inTheWay, options)
}

func restore(ctx context.Context, file, path string, inTheWay []string, options RestoreOptions) error {
	next := path + ".restoring"
	if err := copyFile(ctx, file, next); err != nil {
		return errors.Join(fmt.Errorf("restore %s: %w", file, err), os.Remove(next))
	}
	if err := renew(next, lastStart(path, inTheWay), options.Mint.Epoch(), options.Now()); err != nil {
		return errors.Join(fmt.Errorf("restore %s: %w", file, err), os.Remove(next))
	}
	if err := takeFiles(next, filepath.Join(filepath.Dir(path), blobsName)); err != nil {
		return errors.Join(fmt.Errorf("restore %s: %w", file, err), os.Remove(next))
	}
	suffix := ".before-restore-" + options.Now().UTC().Format("20060102T150405.000Z")
	for _, old := range inTheWay {
		if err := os.Rename(old, old+suffix); err != nil {
			return errors.Join(fmt.Errorf("move %s aside: %w", old, err), os.Remove(next))
		}
	}
	return errors.Join(os.Rename(next, path), syncDir(filepath.Dir(path)))
}

// checkCopy refuses a file that is not all of a database.
func checkCopy(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		return fmt.Errorf("%w: the file is empty", ErrCorrupt)
	}
	if wal, err := os.Stat(file + "-wal"); err == nil && wal.Size() > 0 {
		return fmt.Errorf("%s-wal holds a part of it; this is a live database and no backup: make one with `verbatim backup FILE`", filepath.Base(file))
	}
	return checkFile(file)
}

// present lists what there is of a database.
func present(path string) (found []string, err error) {
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		_, err := os.Lstat(name)
		if err == nil {
			found = append(found, name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return found, nil
}

func copyFile(ctx context.Context, from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, contextReader{ctx, in})
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// contextReader ends with the context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// lastStart is the start number of the database that is replaced, 0 when there
// is none that can be read.
func lastStart(path string, inTheWay []string) int64 {
	if len(inTheWay) == 0 || inTheWay[0] != path || checkFile(path) != nil {
		return 0
	}
	c, err := dial(path, "", lookOnly, readerPragmas)
	if err != nil {
		return 0
	}
	// What can't be read has no start number to stay above; it is moved
	// aside in any case.
	start, _, _ := c.integer("SELECT value FROM meta WHERE key = 'start'")
	_ = c.close()
	return start
}

// renew checks a copy and makes it a new life of the database.
func renew(path string, above int64, epoch id.Epoch, now time.Time) (err error) {
	c, err := dial(path, "", readWrite, "synchronous=EXTRA;cache_size=-4096;temp_store=MEMORY;secure_delete=ON")
	if err != nil {
		return explain(err)
	}
	defer func() { err = errors.Join(err, c.close()) }()
	fresh, err := checkSchema(c)
	if err != nil {
		return explain(err)
	}
	if fresh {
		return ErrForeign
	}
	if err := checkIntegrity(c); err != nil {
		return err
	}
	if err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return explain(err)
	}
	err = c.exec(`UPDATE meta SET value = CASE key WHEN 'start' THEN max(value, ?) ELSE ? END
		WHERE key IN ('start', 'epoch')`, above, string(epoch))
	if err == nil {
		err = c.beginAnew(now)
	}
	if err != nil {
		return explain(errors.Join(err, c.exec("ROLLBACK")))
	}
	return explain(c.exec("COMMIT"))
}
