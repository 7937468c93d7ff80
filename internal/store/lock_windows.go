package store

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// acquire takes the data directory for this process. The lock ends with the
// process, however it ends; the file stays and means nothing by itself.
func acquire(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w; it must be writable, or name another with --data", err)
	}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if err == nil {
		return f, nil
	}
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		err = ErrInUse
	}
	return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
}

// ignoreUnsupported: Windows has no sync of a directory.
func ignoreUnsupported(error) error { return nil }
