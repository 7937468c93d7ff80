package app

import (
	"context"
	"net"
	"sync"
)

// pipe is a listener inside the process: what Dial returns comes out of Accept.
type pipe struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipe() *pipe {
	return &pipe{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Dial connects; net.ErrClosed after Close.
func (p *pipe) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept waits for the other end of a Dial.
func (p *pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and Dial. A second call does nothing.
func (p *pipe) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr names no place; its text passes for an address that the gate knows.
func (p *pipe) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "inside" }
func (pipeAddr) String() string  { return "localhost:80" }
