//go:build unix

package blob

import (
	"errors"
	"syscall"
)

// isFull reports whether there was no room, on the disk or in the quota.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// ignoreUnsupported passes over the answer of file systems that can't sync a
// directory.
func ignoreUnsupported(err error) error {
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}
