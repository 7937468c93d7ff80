package sse

import (
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/memnet"
)

// TestRandomSchedule lets followers attach, read at their own pace, leave and
// resume at random moments of a run that is written at a random pace, with
// random sizes of memory and of network buffers. Each must have put together
// exactly the run.
func TestRandomSchedule(t *testing.T) {
	for seed := range uint64(24) {
		way := virtualWays()[seed%3]
		t.Run(way.name, func(t *testing.T) {
			t.Log("seed", seed)
			synctest.Test(t, func(t *testing.T) { runSchedule(t, way, rand.New(rand.NewPCG(seed, 7))) })
		})
	}
}

func runSchedule(t *testing.T, way virtualWay, rnd *rand.Rand) {
	caches := []int{-1, 200, 3000, 20000, 0}
	b := newMemoryBench(t, way, 200+rnd.IntN(5000), Options{CacheBytes: caches[rnd.IntN(len(caches))]})
	events := story(100 + rnd.IntN(300))
	b.log.add(testRun, events[:2]...)

	var wg sync.WaitGroup
	publisher := rand.New(rand.NewPCG(rnd.Uint64(), 1))
	wg.Go(func() { publish(b.log, events[2:], publisher) })
	for range 8 {
		pace := rand.New(rand.NewPCG(rnd.Uint64(), 2))
		wg.Go(func() {
			time.Sleep(time.Duration(pace.IntN(3000)) * time.Millisecond)
			client := scheduled{t: t, b: b, way: way, rnd: pace}
			client.run()
		})
	}
	wg.Wait()
}

func publish(l *memoryLog, events []event.Event, rnd *rand.Rand) {
	for len(events) > 0 {
		time.Sleep(time.Duration(rnd.IntN(60)) * time.Millisecond)
		n := min(1+rnd.IntN(20)*rnd.IntN(3), len(events))
		l.add(testRun, events[:n]...)
		events = events[n:]
	}
}

// scheduled is a client that comes and goes.
type scheduled struct {
	t   *testing.T
	b   *memoryBench
	way virtualWay
	rnd *rand.Rand
	got []string
}

func (s *scheduled) run() {
	for !s.connect() {
		time.Sleep(time.Duration(s.rnd.IntN(500)) * time.Millisecond)
	}
	want := s.b.log.whole(s.t, testRun)
	if len(s.got) != len(want) {
		s.t.Errorf("%d frames, want %d", len(s.got), len(want))
		return
	}
	for i := range want {
		if s.got[i] != want[i] {
			s.t.Errorf("frame %d: %q, want %q", i, s.got[i], want[i])
			return
		}
	}
}

// connect reads for a while and reports whether the stream ended.
func (s *scheduled) connect() bool {
	cursor := ""
	if len(s.got) > 0 {
		cursor = cursorOf(s.got[len(s.got)-1])
	}
	c := s.way.dial(s.t, s.b, cursor)
	defer leaveSomehow(c, s.rnd)
	f := framesOf(bodyOf(s.t, c))
	stay := s.rnd.IntN(150)
	slow := s.rnd.IntN(3) == 0
	for range stay {
		frame, err := f.next()
		if err == io.EOF {
			return s.ended()
		}
		if err != nil {
			// A client that slept too long is dropped and comes back.
			return false
		}
		s.got = append(s.got, frame)
		if slow && s.rnd.IntN(10) == 0 {
			time.Sleep(time.Duration(s.rnd.IntN(9000)) * time.Millisecond)
		}
	}
	return s.terminal()
}

func (s *scheduled) terminal() bool {
	return len(s.got) > 0 && strings.HasPrefix(s.got[len(s.got)-1], "event: end\n")
}

// ended says what a body that ended properly means. Without chunks that may
// also be a drop between two frames.
func (s *scheduled) ended() bool {
	if s.terminal() {
		return true
	}
	if s.way.leaves {
		s.t.Error("the last chunk came before the terminal")
		return true
	}
	return false
}

func leaveSomehow(c *memnet.Conn, rnd *rand.Rand) {
	switch rnd.IntN(3) {
	case 0:
		c.Break(net.ErrClosed)
	case 1:
		_ = c.CloseWrite()
	}
	_ = c.Close()
}
