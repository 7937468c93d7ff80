package sse

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/memnet"
)

// virtualWay is a way to be connected in virtual time. dial returns a client
// end that has sent its request and read nothing.
type virtualWay struct {
	name string
	dial func(t *testing.T, b *memoryBench, cursor string) *memnet.Conn
	// leaves is set where the connection leaves net/http.
	leaves bool
	wrap   func(net.Listener) net.Listener
}

func virtualWays() []virtualWay {
	same := func(l net.Listener) net.Listener { return l }
	return []virtualWay{
		{name: "hijacked", dial: dialWith("HTTP/1.1"), leaves: true, wrap: same},
		{name: "connection without tries", dial: dialWith("HTTP/1.1"), leaves: true, wrap: func(l net.Listener) net.Listener { return bareListener{l} }},
		{name: "response writer", dial: dialWith("HTTP/1.0"), wrap: same},
	}
}

type memoryBench struct {
	*bench
	net *memnet.Listener
}

func newMemoryBench(t *testing.T, w virtualWay, buffer int, o Options) *memoryBench {
	l := memnet.Listen(buffer)
	b := newBench(t, way{listen: func(t testing.TB, h http.Handler) getter {
		serveOn(t, w.wrap(l), h)
		return nil
	}}, o)
	return &memoryBench{bench: b, net: l}
}

func dialWith(proto string) func(*testing.T, *memoryBench, string) *memnet.Conn {
	return func(t *testing.T, b *memoryBench, cursor string) *memnet.Conn {
		t.Helper()
		c, err := b.net.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		header := ""
		if cursor != "" {
			header = "Last-Event-ID: " + cursor + "\r\n"
		}
		fmt.Fprintf(c, "GET / %s\r\nHost: x\r\n%s\r\n", proto, header)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
}

func eachVirtualWay(t *testing.T, test func(t *testing.T, w virtualWay)) {
	for _, w := range virtualWays() {
		t.Run(w.name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { test(t, w) }) })
	}
}

// TestKeepAlive is about a stream on which nothing happens for two minutes.
func TestKeepAlive(t *testing.T) {
	eachVirtualWay(t, func(t *testing.T, w virtualWay) {
		b := newMemoryBench(t, w, 0, Options{})
		events := story(3)
		b.log.add(testRun, events[:2]...)
		time.Sleep(700 * time.Millisecond)
		f := framesOf(bodyOf(t, w.dial(t, b, "")))
		if _, err := f.next(); err != nil {
			t.Fatal(err)
		}
		begin, last := time.Now(), time.Now()
		for i := range 8 {
			block, err := f.block()
			if err != nil || block != KeepAlive {
				t.Fatalf("block %q, %v", block, err)
			}
			silence := time.Since(last)
			last = time.Now()
			if silence > 15*time.Second || silence < 14*time.Second {
				t.Errorf("comment %d after %v of silence", i, silence)
			}
		}
		if time.Since(begin) < 110*time.Second {
			t.Errorf("8 comments in %v", time.Since(begin))
		}
		b.log.add(testRun, events[2:]...)
		got, err := f.rest()
		if err != nil {
			t.Fatal(err)
		}
		if want := b.log.whole(t, testRun); len(got) != len(want)-1 {
			t.Errorf("%d frames after the silence, want %d", len(got), len(want)-1)
		}
	})
}

// TestNoKeepAliveWhileBusy: a stream on which something comes every ten seconds
// gets no comments.
func TestNoKeepAliveWhileBusy(t *testing.T) {
	eachVirtualWay(t, func(t *testing.T, w virtualWay) {
		b := newMemoryBench(t, w, 0, Options{})
		events := story(12)
		b.log.add(testRun, events[:11]...)
		f := framesOf(bodyOf(t, w.dial(t, b, "")))
		go func() {
			for _, e := range events[11:] {
				time.Sleep(10 * time.Second)
				b.log.add(testRun, e)
			}
		}()
		got, err := f.rest()
		if err != nil {
			t.Fatal(err)
		}
		sameFrames(t, got, b.log.whole(t, testRun))
		// segment_end has no frame, so one silence lasts 20 seconds.
		if f.comments != 1 {
			t.Errorf("%d comments", f.comments)
		}
	})
}

// TestPeerStopsReading: a client that takes nothing is dropped after 30 seconds
// and the run is told nothing of it.
func TestPeerStopsReading(t *testing.T) {
	eachVirtualWay(t, func(t *testing.T, w virtualWay) {
		b := newMemoryBench(t, w, 4<<10, Options{})
		b.log.add(testRun, story(2000)[:1500]...)
		w.dial(t, b, "")
		synctest.Wait()
		if n := b.srv.Stats().Followers; n != 1 {
			t.Fatalf("%d followers", n)
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if n := b.srv.Stats(); n.Followers != 0 || n.Dropped != 1 {
			t.Errorf("after 31 s: %d followers, %d dropped", n.Followers, n.Dropped)
		}
	})
}

// TestPeerVanishes: the kernel gives up on a peer that answers nothing 14
// seconds after something was sent to it. Within 30 seconds of the last sign of
// life the follower is gone.
func TestPeerVanishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := virtualWays()[0]
		b := newMemoryBench(t, w, 0, Options{})
		b.log.add(testRun, story(3)[:5]...)
		c := w.dial(t, b, "")
		body := framesOf(bodyOf(t, c))
		if _, err := body.next(); err != nil {
			t.Fatal(err)
		}
		seen := time.Now()
		if block, err := body.block(); err != nil || len(block) == 0 {
			t.Fatal(block, err)
		}
		for c.Buffered() == 0 && time.Since(seen) < 15*time.Second {
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(ackWithin)
		c.Break(errors.New("connection timed out"))
		for b.srv.Stats().Followers > 0 {
			time.Sleep(100 * time.Millisecond)
		}
		if gone := time.Since(seen); gone > 30*time.Second {
			t.Errorf("noticed after %v", gone)
		}
	})
}

// TestClientLeaves: a client that closes its side is gone within seconds, also
// when it has sent something after its request and when nothing is written.
func TestClientLeaves(t *testing.T) {
	leave := map[string]func(c *memnet.Conn){
		"closes":             func(c *memnet.Conn) { _ = c.Close() },
		"closes its side":    func(c *memnet.Conn) { _ = c.CloseWrite() },
		"talks, then leaves": func(c *memnet.Conn) { _, _ = c.Write(make([]byte, 3000)); _ = c.CloseWrite() },
	}
	for name, leave := range leave {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := virtualWays()[0]
				b := newMemoryBench(t, w, 0, Options{})
				b.log.add(testRun, story(3)[:5]...)
				c := w.dial(t, b, "")
				synctest.Wait()
				time.Sleep(500 * time.Millisecond)
				leave(c)
				time.Sleep(lookTicks*time.Second + time.Second)
				synctest.Wait()
				if n := b.srv.Stats().Followers; n != 0 {
					t.Errorf("%d followers", n)
				}
			})
		})
	}
}

// TestTalkingClientStays: what a client sends after its request means nothing.
func TestTalkingClientStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := virtualWays()[0]
		b := newMemoryBench(t, w, 0, Options{})
		events := story(3)
		b.log.add(testRun, events[:5]...)
		c := w.dial(t, b, "")
		f := framesOf(bodyOf(t, c))
		for range 20 {
			if _, err := c.Write(make([]byte, 10<<10)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
		}
		b.log.add(testRun, events[5:]...)
		got, err := f.rest()
		if err != nil {
			t.Fatal(err)
		}
		sameFrames(t, got, b.log.whole(t, testRun))
	})
}

// TestSlowDelaysNobody: one follower reads nothing until the other has all.
func TestSlowDelaysNobody(t *testing.T) {
	for name, size := range caches() {
		t.Run("cache of "+name, func(t *testing.T) {
			eachVirtualWay(t, func(t *testing.T, w virtualWay) {
				b := newMemoryBench(t, w, 1<<10, Options{CacheBytes: size})
				events := story(400)
				b.log.add(testRun, events[:2]...)
				slow, fast := w.dial(t, b, ""), w.dial(t, b, "")
				begin := time.Now()
				go func() {
					for _, e := range events[2:] {
						time.Sleep(10 * time.Millisecond)
						b.log.add(testRun, e)
					}
				}()
				got, err := framesOf(bodyOf(t, fast)).rest()
				if err != nil {
					t.Fatal(err)
				}
				want := b.log.whole(t, testRun)
				sameFrames(t, got, want)
				if took := time.Since(begin); took > 10*time.Second {
					t.Errorf("the fast one took %v", took)
				}
				if n := slow.Buffered(); n != 1<<10 {
					t.Errorf("%d bytes wait for the slow one", n)
				}
				got, err = framesOf(bodyOf(t, slow)).rest()
				if err != nil {
					t.Fatal(err)
				}
				sameFrames(t, got, want)
			})
		})
	}
}

// TestStopCutsOff: Stop does not wait longer than it was told to for a client
// that reads nothing.
func TestStopCutsOff(t *testing.T) {
	eachVirtualWay(t, func(t *testing.T, w virtualWay) {
		b := newMemoryBench(t, w, 1<<10, Options{})
		b.log.add(testRun, story(400)...)
		w.dial(t, b, "")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begin := time.Now()
		if err := b.srv.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stop: %v", err)
		}
		if took := time.Since(begin); took != 10*time.Second {
			t.Errorf("stop took %v", took)
		}
		if n := b.srv.Stats(); n.Followers != 0 || n.Dropped != 1 {
			t.Errorf("%d followers, %d dropped", n.Followers, n.Dropped)
		}
	})
}

// TestLinger: a client that does not close its connection after the last chunk
// holds it for a bounded time, and one that has sent something loses nothing.
func TestLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := virtualWays()[0]
		b := newMemoryBench(t, w, 0, Options{})
		b.log.add(testRun, story(10)...)
		c := w.dial(t, b, "")
		if _, err := c.Write([]byte("more")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lingerFor + time.Second)
		synctest.Wait()
		if n := b.srv.Stats(); n.Followers != 0 || n.Dropped != 0 {
			t.Errorf("%d followers, %d dropped", n.Followers, n.Dropped)
		}
		got, err := framesOf(bodyOf(t, c)).rest()
		if err != nil {
			t.Fatal(err)
		}
		sameFrames(t, got, b.log.whole(t, testRun))
	})
}

// TestStreamGoes: what memory holds of a run lives until the run has ended,
// whether someone follows or not.
func TestStreamGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := virtualWays()[0]
		b := newMemoryBench(t, w, 0, Options{})
		events := story(10)
		b.log.add(testRun, events[:5]...)
		c := w.dial(t, b, "")
		synctest.Wait()
		_ = c.Close()
		time.Sleep(time.Minute)
		if n := b.srv.Stats(); n.Followers != 0 || n.Streams != 1 {
			t.Errorf("without followers: %+v", n)
		}
		b.log.add(testRun, events[5:]...)
		synctest.Wait()
		if n := b.srv.Stats(); n.Streams != 0 {
			t.Errorf("after the end: %+v", n)
		}
	})
}

// TestLateJoiner: a follower that joins a stream between its last delivery and
// its end is not left behind.
func TestLateJoiner(t *testing.T) {
	l := newMemoryLog()
	l.add(testRun, story(1)...)
	srv := New(Options{Log: l, Logger: quietLogger()})
	s := newStream(srv, l.info(testRun))
	s.read()
	s.adopt()
	s.deliver()
	if !s.join(&follower{srv: srv}) {
		t.Fatal("the stream is over but not closed: it takes followers")
	}
	if s.finished() {
		t.Error("closed with a follower")
	}
	s.joining = nil
	if !s.finished() {
		t.Error("not closed without followers")
	}
	if s.join(&follower{srv: srv}) {
		t.Error("a closed stream took a follower")
	}
	if err := srv.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// bodyOf reads the response's head and returns its body, which must have an
// end: the last chunk where it is chunked, the connection's end where not.
func bodyOf(t *testing.T, c net.Conn) io.Reader {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d", resp.StatusCode)
	}
	return resp.Body
}
