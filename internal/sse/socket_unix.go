//go:build unix

package sse

import (
	"io"
	"net"
	"syscall"
)

// attempt is one call on a socket. It is used again for the next, by the one
// goroutine that owns it, so that a call allocates nothing.
type attempt struct {
	buf         []byte
	n           int
	err         error
	write, read func(fd uintptr) bool
	waste       [512]byte
}

// fdSocket is a connection with a file descriptor. It is only used through
// RawConn, which holds the descriptor open during the call.
type fdSocket struct{ syscall.RawConn }

func fileSocket(c net.Conn) socket {
	file, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return nil
	}
	return fdSocket{raw}
}

func (s fdSocket) tryWrite(a *attempt, b []byte) (int, error) {
	if a.write == nil {
		a.write = a.writeOnce
	}
	a.buf, a.n, a.err = b, 0, nil
	err := s.Write(a.write)
	a.buf = nil
	if a.err != nil {
		err = a.err
	}
	return a.n, err
}

// writeOnce always says that it is done: a full socket is not waited for.
func (a *attempt) writeOnce(fd uintptr) bool {
	for {
		n, err := writeNow(fd, a.buf)
		switch err {
		case 0:
			a.n = n
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
		default:
			a.err = err
		}
		return true
	}
}

func (s fdSocket) tryDiscard(a *attempt) error {
	if a.read == nil {
		a.read = a.readSome
	}
	a.err = nil
	if err := s.Read(a.read); err != nil {
		return err
	}
	return a.err
}

func (a *attempt) readSome(fd uintptr) bool {
	for range discardReads {
		n, err := syscall.Read(int(fd), a.waste[:])
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return true
		case err != nil:
			a.err = err
			return true
		case n == 0:
			a.err = io.EOF
			return true
		}
	}
	return true
}
