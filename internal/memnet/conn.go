package memnet

import (
	"errors"
	"io"
	"net"
	"time"
)

// Conn is one end of a connection. Safe for concurrent use, as a net.Conn is.
type Conn struct {
	in, out *half
}

var _ net.Conn = (*Conn)(nil)

// Pipe returns the two ends of a connection that holds buffer bytes each way.
func Pipe(buffer int) (client, server *Conn) {
	up, down := newHalf(buffer), newHalf(buffer)
	return &Conn{in: down, out: up}, &Conn{in: up, out: down}
}

// Read waits for bytes. It returns io.EOF behind what was sent before the peer
// closed its side.
func (c *Conn) Read(b []byte) (int, error) { return c.in.read(b, true) }

// Write waits until all of b is in the buffer.
func (c *Conn) Write(b []byte) (int, error) { return c.out.write(b, true) }

// TryRead reads what is there: 0 and no error when nothing is.
func (c *Conn) TryRead(b []byte) (int, error) { return c.in.read(b, false) }

// TryWrite writes as much of b as there is room for.
func (c *Conn) TryWrite(b []byte) (int, error) { return c.out.write(b, false) }

// Close ends both directions; the peer's writes fail. The peer can still read
// what was sent before, but as with TCP only if nothing that it sent was left
// unread: else that is lost and its reads fail.
func (c *Conn) Close() error {
	if c.in.len() > 0 {
		c.out.end(errReset, true)
	}
	c.out.end(io.EOF, false)
	c.out.endWrites(net.ErrClosed)
	c.in.end(net.ErrClosed, true)
	c.in.endWrites(errReset)
	return nil
}

// CloseWrite ends the direction to the peer, which reads io.EOF behind what was
// sent.
func (c *Conn) CloseWrite() error {
	c.out.end(io.EOF, false)
	c.out.endWrites(net.ErrClosed)
	return nil
}

// Break makes the connection fail with err at both ends at once, as when the
// system gives up on a peer that does not answer. What is in the buffers is
// lost.
func (c *Conn) Break(err error) {
	for _, h := range []*half{c.in, c.out} {
		h.end(err, true)
		h.endWrites(err)
	}
}

// Buffered returns how many bytes wait to be read from c.
func (c *Conn) Buffered() int { return c.in.len() }

// SetDeadline sets both deadlines; the zero time means none.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline makes waiting reads, now and later, end at t.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.in.setReadDeadline(t) }

// SetWriteDeadline makes waiting writes, now and later, end at t.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.out.setWriteDeadline(t) }

// LocalAddr returns the network's one address.
func (c *Conn) LocalAddr() net.Addr { return addr{} }

// RemoteAddr returns the network's one address.
func (c *Conn) RemoteAddr() net.Addr { return addr{} }

var errReset = errors.New("the peer closed the connection")
