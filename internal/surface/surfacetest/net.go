package surfacetest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"verbatim/internal/memnet"
)

// Net is a network in memory with one server on it, which answers for every
// host name and port.
type Net struct {
	listener *memnet.Listener
	mu       sync.Mutex
	down     bool
}

// NewNet serves h until the test ends. Over it, "http://far.example/…" is an
// address as good as any.
func NewNet(t testing.TB, h http.Handler) *Net {
	t.Helper()
	n := &Net{listener: memnet.Listen(0)}
	server := &http.Server{Handler: h, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(n.listener); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("the far end: %v", err)
		}
	}()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("the far end: %v", err)
		}
		<-done
		// The server lingers on connections that it had to close by itself.
		<-time.After(time.Second)
	})
	return n
}

// Client returns a client as a surface is given one: it follows no redirect and
// keeps connections.
func (n *Net) Client(t testing.TB) *http.Client {
	t.Helper()
	transport := &http.Transport{DialContext: n.dial}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Down lets no new connection be made while on is set.
func (n *Net) Down(on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = on
}

func (n *Net) dial(ctx context.Context, network, address string) (net.Conn, error) {
	n.mu.Lock()
	down := n.down
	n.mu.Unlock()
	if down {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("connection refused")}
	}
	conn, err := n.listener.Dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", address, err)
	}
	return conn, nil
}

// Log keeps the lines of a logger.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// NewLog returns an empty log.
func NewLog() *Log { return &Log{} }

// Logger returns a logger that writes to l, at every level.
func (l *Log) Logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Write adds a line.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns all lines.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
