package sse

import "time"

// The walk over idle followers counts in ticks. A tick comes keepAliveTicks
// times in the longest silence that is allowed, so a follower to which nothing
// was written for that many ticks has been in silence for at most that long.
const (
	keepAliveTicks = 15
	// lookTicks is how often a socket is asked whether its client left: the
	// calls for that are half of what idle followers cost.
	lookTicks = 15
)

// keepAliveChunk is KeepAlive as it goes over a chunked body.
const keepAliveChunk = "e\r\n" + KeepAlive + "\r\n"

// walk starts the one timer for all followers that streams write to; it goes
// when the last stream does. mu is held.
func (s *Server) walk() {
	if s.walking || s.stopped {
		return
	}
	s.walking = true
	s.work.Go(func() {
		ticks := time.NewTicker(s.keepAlive / keepAliveTicks)
		defer ticks.Stop()
		for s.step() {
			select {
			case <-ticks.C:
			case <-s.stopping:
				return
			}
		}
	})
}

// step tells all streams that a tick passed, unless there are none.
func (s *Server) step() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.streams) == 0 {
		s.walking = false
		return false
	}
	s.tick.Add(1)
	for _, st := range s.streams {
		st.signal()
	}
	return true
}

// look goes over the followers once a tick: who left is dropped, who was in
// silence for long gets a comment. A follower here has whole frames only, so a
// comment never lands inside one.
func (s *stream) look() {
	tick := s.srv.tick.Load()
	if tick == s.tick {
		return
	}
	s.tick = tick
	comment := []byte(keepAliveChunk)
	s.keep(func(f *follower) bool {
		if tick-f.looked >= lookTicks && !s.present(f) {
			return false
		}
		if tick-f.quiet < keepAliveTicks {
			return true
		}
		n, stays := s.write(f, comment)
		s.srv.stats.bytes.Add(int64(n))
		return stays
	})
}

// present takes what a client sent after its request, which means nothing, and
// drops the follower when the client closed its side.
func (s *stream) present(f *follower) bool {
	f.looked = s.tick
	if err := f.sock.tryDiscard(&s.try); err != nil {
		f.drop(err)
		return false
	}
	return true
}
