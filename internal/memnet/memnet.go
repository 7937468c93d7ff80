// Package memnet is a network in memory for tests: a listener and connections
// whose waiting is visible to testing/synctest, so that servers run in virtual
// time. Connections have a bounded buffer each way, deadlines and half-close,
// like TCP. A peer that vanished is one that is not read any more (see also
// Conn.Break).
package memnet

import (
	"context"
	"errors"
	"net"
	"sync"
)

// DefaultBufferBytes is what a connection holds each way before a writer
// waits.
const DefaultBufferBytes = 64 << 10

// Listener accepts what Dial connects. Make it with Listen.
type Listener struct {
	buffer int
	queue  chan net.Conn
	once   sync.Once
	done   chan struct{}
}

// Listen returns a listener whose connections hold buffer bytes each way, 0
// for DefaultBufferBytes.
func Listen(buffer int) *Listener {
	if buffer <= 0 {
		buffer = DefaultBufferBytes
	}
	return &Listener{buffer: buffer, queue: make(chan net.Conn), done: make(chan struct{})}
}

// Accept waits for the next connection; net.ErrClosed after Close.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.queue:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and Dial. Connections live on. A second call does nothing.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr returns an address that names the network and nothing else.
func (l *Listener) Addr() net.Addr { return addr{} }

// Dial connects and waits until the connection is accepted.
func (l *Listener) Dial(ctx context.Context) (*Conn, error) {
	client, server := Pipe(l.buffer)
	select {
	case l.queue <- server:
		return client, nil
	case <-l.done:
		return nil, errors.New("dial: the listener is closed")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// DialContext is Dial in the form that http.Transport wants; network and
// address are not looked at.
func (l *Listener) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	c, err := l.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return c, nil
}

type addr struct{}

func (addr) Network() string { return "memory" }
func (addr) String() string  { return "memory" }
