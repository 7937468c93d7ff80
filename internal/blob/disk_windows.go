package blob

import (
	"errors"
	"syscall"
)

const (
	errorHandleDiskFull = syscall.Errno(39)
	errorDiskFull       = syscall.Errno(112)
)

// isFull reports whether there was no room.
func isFull(err error) bool {
	return errors.Is(err, errorHandleDiskFull) || errors.Is(err, errorDiskFull)
}

// ignoreUnsupported: Windows has no sync of a directory.
func ignoreUnsupported(error) error { return nil }
