package sse

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"verbatim/internal/event"
)

// floor is the least that the same shape costs: a shared log of bytes without a
// protocol, a store or a policy for slow clients.
type floor struct {
	l      net.Listener
	http   *http.Server
	frame  []byte
	fans   atomic.Int64
	bytes  atomic.Int64
	wake   chan struct{}
	mu     chan struct{}
	buf    []byte
	base   int64
	starts []int64
	ended  bool
	subs   []*floorSub
}

type floorSub struct {
	fd   int
	conn net.Conn
	cur  int64
}

func newFloor(tb testing.TB) *floor {
	tb.Helper()
	frame := NewEncoder(testEpoch, testRun, nil).piece(nil, event.Record{Message: testMessage, Seq: 1000}, nameDelta, "s1", 24000, benchText)
	f := &floor{l: listenLoopback(tb), frame: frame, wake: make(chan struct{}, 1), mu: make(chan struct{}, 1)}
	f.http = &http.Server{Handler: http.HandlerFunc(f.subscribe)}
	done := make(chan struct{}, 2)
	go func() { _ = f.http.Serve(f.l); done <- struct{}{} }()
	go func() { f.write(); done <- struct{}{} }()
	tb.Cleanup(func() {
		_ = f.http.Close()
		close(f.wake)
		<-done
		<-done
		for _, s := range f.subs {
			_ = s.conn.Close()
		}
	})
	return f
}

func (f *floor) addr() string     { return f.l.Addr().String() }
func (f *floor) followers() int64 { return f.fans.Load() }
func (f *floor) sent() int64      { return f.bytes.Load() }
func (f *floor) lock()            { f.mu <- struct{}{} }
func (f *floor) unlock()          { <-f.mu }

func (f *floor) publish() {
	chunk := appendChunk(nil, f.frame)
	f.lock()
	f.starts = append(f.starts, f.base+int64(len(f.buf)))
	if len(f.buf)+len(chunk) > cap(f.buf) && len(f.buf) > 4<<20 {
		cut := len(f.buf) - 2<<20
		f.buf = append(make([]byte, 0, 8<<20), f.buf[cut:]...)
		f.base += int64(cut)
	}
	f.buf = append(f.buf, chunk...)
	f.unlock()
	f.signal()
}

func (f *floor) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *floor) finish() {
	f.lock()
	f.buf = append(f.buf, lastChunk...)
	f.ended = true
	f.unlock()
	f.signal()
}

func (f *floor) subscribe(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.Atoi(strings.TrimPrefix(r.Header.Get("Last-Event-ID"), "e1-"))
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	s := &floorSub{conn: conn}
	raw, _ := conn.(*net.TCPConn).SyscallConn()
	_ = raw.Control(func(fd uintptr) { s.fd = int(fd) })
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
	f.lock()
	s.cur = f.base + int64(len(f.buf))
	if after > 0 {
		s.cur = f.starts[after-1]
	}
	f.subs = append(f.subs[:len(f.subs):len(f.subs)], s)
	f.unlock()
	f.fans.Add(1)
	f.signal()
}

func (f *floor) write() {
	for range f.wake {
		for busy := true; busy; {
			busy = false
			f.lock()
			subs, buf, base, ended := f.subs, f.buf, f.base, f.ended
			f.unlock()
			var sent int64
			for _, s := range subs {
				if s.cur >= base+int64(len(buf)) {
					continue
				}
				n, err := unix.Write(s.fd, buf[s.cur-base:])
				if err != nil {
					busy = busy || err == unix.EAGAIN
					continue
				}
				sent += int64(n)
				s.cur += int64(n)
				busy = busy || s.cur < base+int64(len(buf))
				if ended && s.cur == base+int64(len(buf)) {
					_ = unix.Shutdown(s.fd, unix.SHUT_WR)
				}
			}
			f.bytes.Add(sent)
		}
	}
}
