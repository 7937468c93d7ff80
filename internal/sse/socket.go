package sse

import "net"

// socket is a connection that can be tried without waiting.
type socket interface {
	// tryWrite writes as much of b as fits now. Less than all of b without
	// an error means that the socket is full.
	tryWrite(a *attempt, b []byte) (int, error)
	// tryDiscard takes what the peer sent and throws it away; io.EOF when
	// the peer has closed its side.
	tryDiscard(a *attempt) error
}

// trier is a connection that is no file of the system but can be tried too,
// such as one in memory.
type trier interface {
	// TryWrite writes as much of b as fits now.
	TryWrite(b []byte) (int, error)
	// TryRead reads what is there: 0 and no error when nothing is, io.EOF
	// behind the end.
	TryRead(b []byte) (int, error)
}

// socketOf returns nil for a connection that can't be tried; its follower
// always has a goroutine of its own.
func socketOf(c net.Conn) socket {
	if t, ok := c.(trier); ok {
		return triedSocket{t}
	}
	return fileSocket(c)
}

type triedSocket struct{ trier }

func (t triedSocket) tryWrite(_ *attempt, b []byte) (int, error) { return t.TryWrite(b) }

func (t triedSocket) tryDiscard(*attempt) error {
	var b [512]byte
	for range discardReads {
		n, err := t.TryRead(b[:])
		if n == 0 || err != nil {
			return err
		}
	}
	return nil
}

// discardReads bounds what one look takes from a client that keeps sending.
const discardReads = 32
