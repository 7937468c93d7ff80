//go:build unix

package sse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/memnet"
)

// TestThousandAtOnce opens 1,000 streams while their run is written.
func TestThousandAtOnce(t *testing.T) {
	testAtOnce(t, ways()[0], 1000)
}

// TestTinyReceiveBuffer is TestSlowDelaysNobody over real sockets: the slow
// client has a receive buffer of a few KiB and reads nothing before the fast one
// has all of a run that fills every buffer between.
func TestTinyReceiveBuffer(t *testing.T) {
	for name, size := range caches() {
		t.Run("cache of "+name, func(t *testing.T) {
			var addr string
			b := newBench(t, way{listen: func(t testing.TB, h http.Handler) getter {
				srv := httptest.NewUnstartedServer(h)
				srv.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
					if err := c.(*net.TCPConn).SetWriteBuffer(16 << 10); err != nil {
						t.Error(err)
					}
					return ctx
				}
				srv.Start()
				t.Cleanup(srv.Close)
				addr = srv.Listener.Addr().String()
				return nil
			}}, Options{CacheBytes: size})
			events := story(4000)
			b.log.add(testRun, events[:2]...)
			slow, fast := dialSmall(t, addr, 4<<10), dialSmall(t, addr, 1<<20)
			for b.srv.Stats().Followers < 2 {
				runtime.Gosched()
			}
			go func() {
				for i := 2; i < len(events); i += 500 {
					b.log.add(testRun, events[i:min(i+500, len(events))]...)
				}
			}()
			want := strings.Join(readRaw(t, fast), "")
			if n := b.srv.Stats().Bytes; n > int64(2*len(want)) {
				t.Errorf("%d bytes were taken: no socket was full, the test shows nothing", n)
			}
			if got := strings.Join(readRaw(t, slow), ""); got != want {
				t.Errorf("the slow follower got %d other bytes than the fast one's %d", len(got), len(want))
			}
			if got := strings.Join(b.log.whole(t, testRun), ""); got != want {
				t.Error("the fast follower got something else than the log has")
			}
		})
	}
}

func dialSmall(t *testing.T, addr string, bytes int) net.Conn {
	t.Helper()
	d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		if e := raw.Control(func(fd uintptr) { err = setReceiveBuffer(fd, bytes) }); e != nil {
			return e
		}
		return err
	}}
	c, err := d.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	return c
}

func setReceiveBuffer(fd uintptr, bytes int) error {
	return syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, bytes)
}

func readRaw(t *testing.T, c net.Conn) []string {
	t.Helper()
	got, err := framesOf(bodyOf(t, c)).rest()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestBytesOnTheWire is the answer as it goes over a connection that left
// net/http.
func TestBytesOnTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryBench(t, virtualWays()[0], 0, Options{})
		b.log.add(testRun, story(1)...)
		got, err := io.ReadAll(dialWith("HTTP/1.1")(t, b, ""))
		if err != nil {
			t.Fatal(err)
		}
		head, body, _ := bytes.Cut(got, []byte("\r\n\r\n"))
		wantHead := strings.Join([]string{
			"HTTP/1.1 200 OK", "Cache-Control: no-cache, no-transform", "Connection: close", "Content-Type: text/event-stream",
			"Date: Sat, 01 Jan 2000 00:00:00 GMT", "Transfer-Encoding: chunked", "X-Accel-Buffering: no", "X-Content-Type-Options: nosniff",
		}, "\r\n")
		if diff := cmp.Diff(wantHead, string(head)); diff != "" {
			t.Errorf("head (-want +got):\n%s", diff)
		}
		want := appendChunk(nil, []byte(Head))
		for _, f := range b.log.whole(t, testRun) {
			want = appendChunk(want, []byte(f))
		}
		want = append(want, lastChunk...)
		if diff := cmp.Diff(string(want), string(body)); diff != "" {
			t.Errorf("body (-want +got):\n%s", diff)
		}
	})
}

// TestPlainWriter is a writer that lets nobody have its connection.
func TestPlainWriter(t *testing.T) {
	b := newBench(t, way{listen: func(testing.TB, http.Handler) getter { return nil }}, Options{})
	b.log.add(testRun, story(30)...)
	w := httptest.NewRecorder()
	handler(b.srv, b.log).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	got, err := framesOf(w.Body).rest()
	if err != nil {
		t.Fatal(err)
	}
	sameFrames(t, got, b.log.whole(t, testRun))
}

// TestErrorBeforeTheAnswer: what fails before anything was written is the
// caller's to answer.
func TestErrorBeforeTheAnswer(t *testing.T) {
	b := newBench(t, way{listen: func(testing.TB, http.Handler) getter { return nil }}, Options{})
	b.log.add(testRun, story(3)...)
	b.log.breakReads(errors.New("disk"))
	for _, cursor := range []string{"e1-3", "e2-3"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Last-Event-ID", cursor)
		handler(b.srv, b.log).ServeHTTP(w, r)
		if w.Code != http.StatusServiceUnavailable {
			t.Errorf("cursor %s: status %d", cursor, w.Code)
		}
	}
}

// TestDeliverAllocatesNothing: a token costs no memory for each follower.
func TestDeliverAllocatesNothing(t *testing.T) {
	l := newMemoryLog()
	l.add(testRun, story(1)[:2]...)
	srv := New(Options{Log: l, Logger: quietLogger()})
	s := newStream(srv, l.info(testRun))
	for range 100 {
		client, server := memnet.Pipe(1 << 20)
		defer client.Close()
		s.join(&follower{srv: srv, conn: server, sock: socketOf(sink{server}), after: 1})
	}
	s.read()
	s.adopt()
	s.deliver()
	frame := bytes.Repeat([]byte("x"), 200)
	seq := s.seq
	n := testing.AllocsPerRun(100, func() {
		seq++
		s.bytes.add(seq, frame)
		s.deliver()
	})
	if n > 1 {
		t.Errorf("%v allocations for a frame and 100 followers", n)
	}
}

// TestTryWrite: a write takes what fits and never waits, and says when the peer
// is gone.
func TestTryWrite(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client := dialSmall(t, ln.Addr().String(), 4<<10)
	server, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	sock := socketOf(server)
	var try attempt
	full := make([]byte, 1<<20)
	sent := 0
	for n := -1; n != 0; sent += n {
		if n, err = sock.tryWrite(&try, full); err != nil {
			t.Fatal(err)
		}
	}
	if sent == 0 {
		t.Error("an empty socket takes nothing")
	}
	if n, err := sock.tryWrite(&try, nil); n != 0 || err != nil {
		t.Errorf("nothing to write: %d, %v", n, err)
	}
	_ = client.(*net.TCPConn).SetLinger(0)
	_ = client.Close()
	for err == nil {
		runtime.Gosched()
		_, err = sock.tryWrite(&try, full)
	}
	if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the peer is gone: %v", err)
	}
	_ = server.Close()
	if _, err := sock.tryWrite(&try, full); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the connection is closed: %v", err)
	}
}

// sink is a socket that takes everything.
type sink struct{ net.Conn }

func (sink) TryWrite(b []byte) (int, error) { return len(b), nil }
func (sink) TryRead([]byte) (int, error)    { return 0, nil }
