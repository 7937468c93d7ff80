package sse

import (
	"syscall"
	"unsafe"
)

// writeNow writes to a descriptor that never waits, and so does not tell the
// scheduler of the call: with many followers one write follows the other, and
// each would have the goroutine's processor given away and asked for again. It
// lasts as long as a page takes to copy.
func writeNow(fd uintptr, b []byte) (n int, err syscall.Errno) {
	r, _, err := syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	if err != 0 {
		return 0, err
	}
	return int(r), 0
}
