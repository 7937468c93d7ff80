//go:build unix && !linux

package sse

import (
	"errors"
	"syscall"
)

// writeNow writes to a descriptor that never waits.
func writeNow(fd uintptr, b []byte) (n int, err syscall.Errno) {
	n, e := syscall.Write(int(fd), b)
	if e == nil {
		return n, 0
	}
	if errors.As(e, &err) {
		return 0, err
	}
	return 0, syscall.EIO
}
