package sse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/memnet"
)

// TestPartingClients: a connection whose stream has ended is closed soon after
// its client closed it, or when the client has had its time.
func TestPartingClients(t *testing.T) {
	tests := map[string]struct {
		leaves time.Duration // 0 for never
		within time.Duration
	}{
		"at once":        {time.Millisecond, partingTick},
		"after a second": {time.Second, time.Second + lingerFor/2},
		"never":          {0, lingerFor},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newMemoryBench(t, virtualWays()[0], 0, Options{})
				events := story(10)
				b.log.add(testRun, events[:2]...)
				var clients []*memnet.Conn
				for range 20 {
					clients = append(clients, virtualWays()[0].dial(t, b, ""))
				}
				synctest.Wait()
				b.log.add(testRun, events[2:]...)
				synctest.Wait()
				if n := b.srv.Stats(); n.Followers != 20 || n.Streams != 0 {
					t.Fatalf("at the end: %+v", n)
				}
				begin := time.Now()
				for _, c := range clients {
					go func() {
						if _, err := io.Copy(io.Discard, c); err != nil {
							t.Error(err)
						}
						if test.leaves > 0 {
							time.Sleep(test.leaves)
							_ = c.Close()
						}
					}()
				}
				time.Sleep(test.leaves)
				for b.srv.Stats().Followers > 0 {
					time.Sleep(time.Millisecond)
				}
				if took := time.Since(begin); took > test.within+2*partingTick || took < test.leaves {
					t.Errorf("closed after %v, want %v at most", took, test.within)
				}
				if n := b.srv.Stats().Dropped; n != 0 {
					t.Errorf("%d dropped", n)
				}
			})
		})
	}
}

// TestPartingIsCutOff: who has not closed when Stop's time is over is closed
// then.
func TestPartingIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := virtualWays()[0]
		b := newMemoryBench(t, w, 0, Options{})
		events := story(10)
		b.log.add(testRun, events[:2]...)
		w.dial(t, b, "")
		synctest.Wait()
		b.log.add(testRun, events[2:]...)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		begin := time.Now()
		if err := b.srv.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stop: %v", err)
		}
		if took := time.Since(begin); took != 500*time.Millisecond || b.srv.Stats().Followers != 0 {
			t.Errorf("%d followers after %v", b.srv.Stats().Followers, took)
		}
	})
}

// counted is a connection that counts what is written to it and takes at most
// so much at a time.
type counted struct {
	net.Conn
	most   int
	writes []string
	ended  int
}

func (c *counted) TryWrite(b []byte) (int, error) {
	n := len(b)
	if c.most > 0 {
		n = min(n, c.most)
	}
	c.writes = append(c.writes, string(b[:n]))
	return n, nil
}

func (*counted) TryRead([]byte) (int, error) { return 0, io.EOF }

func (c *counted) CloseWrite() error {
	c.ended++
	return nil
}

func (*counted) Close() error { return nil }

// TestEndTakesOneWrite: what a follower lacks when the run ends and the last
// chunk go out together, but for more than is worth a copy.
func TestEndTakesOneWrite(t *testing.T) {
	for pieces, writes := range map[int]int{10: 1, 300: 2} {
		t.Run(fmt.Sprint(pieces, " pieces"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newMemoryLog()
				events := story(pieces)
				l.add(testRun, events[:2]...)
				srv := New(Options{Log: l, Logger: quietLogger()})
				s := newStream(srv, l.info(testRun))
				s.read()
				var sockets []*counted
				for range 3 {
					c := &counted{}
					sockets = append(sockets, c)
					s.join(&follower{srv: srv, conn: c, sock: socketOf(c), after: s.seq})
				}
				s.adopt()
				s.deliver()
				l.add(testRun, events[2:]...)
				s.readOn()
				s.deliver()
				var want []byte
				for _, f := range l.whole(t, testRun)[1:] {
					want = appendChunk(want, []byte(f))
				}
				want = append(want, lastChunk...)
				for _, c := range sockets {
					if len(c.writes) != writes || c.ended != 1 {
						t.Errorf("%d writes, closed %d times; want %d and one", len(c.writes), c.ended, writes)
					}
					if strings.Join(c.writes, "") != string(want) {
						t.Error("the bytes are not those of the run")
					}
				}
				srv.work.Wait()
			})
		})
	}
}

// TestManyRecordsTakeFewWrites: what came since the last delivery goes out in
// one write, however many records and reads of the log it was, but for the end
// of a page.
func TestManyRecordsTakeFewWrites(t *testing.T) {
	l := newMemoryLog()
	events := story(1400)
	l.add(testRun, events[:2]...)
	srv := New(Options{Log: l, Logger: quietLogger()})
	s := newStream(srv, l.info(testRun))
	s.read()
	c := &counted{}
	s.join(&follower{srv: srv, conn: c, sock: socketOf(c), after: s.seq})
	s.adopt()
	l.add(testRun, events[2:1302]...)
	if !s.readOn() || s.seq != 1302 {
		t.Fatalf("read as far as record %d", s.seq)
	}
	s.deliver()
	if size := s.bytes.end; size > maxPageBytes {
		t.Fatalf("%d bytes are more than a page", size)
	}
	if len(c.writes) != 1 {
		t.Errorf("%d writes for a batch that fits a page", len(c.writes))
	}
}
