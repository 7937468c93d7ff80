package sse

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience sets how long the peer may leave what was sent unanswered, or keep
// its window shut, before the connection fails. A connection that has no such
// setting keeps the kernel's.
func patience(c net.Conn, d time.Duration) {
	file, ok := bottom(c).(syscall.Conn)
	if !ok {
		return
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
	})
}
