package sse

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/memnet"
)

func nativeMemoryBench(t *testing.T, buffer int) *memoryBench {
	t.Helper()
	b := &memoryBench{}
	b.bench = newNativeBench(t, way{listen: func(t testing.TB, h http.Handler) getter {
		b.net = memnet.Listen(buffer)
		serveOn(t, b.net, h)
		return nil
	}})
	return b
}

// TestNativeKeepAlive: two minutes of silence, then the rest.
func TestNativeKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := nativeMemoryBench(t, 0)
		events := story(3)
		twoRuns(b.log, events[:2]...)
		f := framesOf(bodyOf(t, dialWith("HTTP/1.1")(t, b, "")))
		for range 2 {
			if _, err := f.next(); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 8 {
			last := time.Now()
			block, err := f.block()
			if err != nil || block != KeepAlive || time.Since(last) != DefaultKeepAlive {
				t.Fatalf("comment %d: %q, %v after %v", i, block, err, time.Since(last))
			}
		}
		b.log.add(testRun, events[2:]...)
		got, err := f.rest()
		if err != nil {
			t.Fatal(err)
		}
		sameNative(t, got, b.log.wholeNative()[2:])
	})
}

// TestNativePeerStopsReading: a client that takes nothing is dropped after 30
// seconds, and one that left at once.
func TestNativePeerStopsReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := nativeMemoryBench(t, 4<<10)
		twoRuns(b.log, story(2000)[:1500]...)
		dialWith("HTTP/1.1")(t, b, "")
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
	synctest.Test(t, func(t *testing.T) {
		b := nativeMemoryBench(t, 0)
		twoRuns(b.log, story(3)[:5]...)
		c := dialWith("HTTP/1.1")(t, b, "")
		synctest.Wait()
		_ = c.Close()
		synctest.Wait()
		if n := b.srv.Stats(); n.Followers != 0 || n.Dropped != 1 {
			t.Errorf("after it left: %d followers, %d dropped", n.Followers, n.Dropped)
		}
	})
}

// TestNativeStopCutsOff: Stop does not wait longer than it was told to.
func TestNativeStopCutsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := nativeMemoryBench(t, 1<<10)
		twoRuns(b.log, story(400)...)
		dialWith("HTTP/1.1")(t, b, "")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begin := time.Now()
		if err := b.srv.Stop(ctx); err == nil || time.Since(begin) != 10*time.Second {
			t.Errorf("stop: %v after %v", err, time.Since(begin))
		}
	})
}
