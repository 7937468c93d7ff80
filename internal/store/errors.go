package store

import (
	"errors"
	"fmt"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"verbatim/internal/turnlog"
)

// What Open, Backup and Restore are asked to tell apart.
var (
	// ErrInUse means that another process has the data directory.
	ErrInUse = errors.New("another verbatim process uses this data directory; stop it, or name another directory with --data")
	// ErrCorrupt means that the database is damaged.
	ErrCorrupt = errors.New("the database is damaged; nothing was changed. Restore a backup with `verbatim restore FILE --force`, which keeps the damaged file beside it")
	// ErrForeign means that the file is an SQLite database of some other
	// program.
	ErrForeign = errors.New("this is not a verbatim database; nothing was changed. Name another directory with --data")
	// ErrNewer means that a newer version wrote the database.
	ErrNewer = errors.New("a newer version of verbatim wrote this database; nothing was changed. Run that version, or restore an older backup with `verbatim restore FILE`")
	// ErrExists means that a file is in the way. It was left alone.
	ErrExists = errors.New("the file exists already and was left alone")
)

// explain gives the driver's errors the names that callers branch on. The
// driver's own words stay in the message.
func explain(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		if errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("%w: %w", turnlog.ErrFull, err)
		}
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: %w", turnlog.ErrFull, err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return fmt.Errorf("the database can't be opened for writing; check the owner and mode of the directory and its files: %w", err)
	case sqlite3.SQLITE_BUSY:
		return fmt.Errorf("the database stayed locked for %d ms by another process; nothing was written: %w", busyMillis, err)
	}
	return err
}
