package sse

import (
	"sync"

	"verbatim/internal/turnlog"
)

// state is how far a stream has come.
type state uint8

const (
	// following: more may come.
	following state = iota
	// over: the terminal is in, or the stream was broken off; nothing more
	// comes.
	over
	// closed: over, and it takes no more followers.
	closed
)

// stream is a run as it goes over the wire now, or will when its message has
// waited in the queue: its tail in memory, and the followers that are up with
// it. One goroutine reads the run, frames each
// record once, and writes to these followers; it never waits for a socket.
type stream struct {
	srv *Server
	run turnlog.RunInfo
	// wake has room for one signal: someone joined, or a tick passed.
	wake chan struct{}

	// Only the stream's goroutine uses these.
	enc    *Encoder
	frame  []byte
	active []*follower
	tick   int32
	try    attempt
	// final is finalOf, the end of the stream, with the last chunk behind it.
	final, finalOf []byte

	mu sync.Mutex
	// bytes is changed by the stream's goroutine alone, under mu, so it reads
	// it without.
	bytes byteLog
	// seq is the last record that went through the encoder.
	seq     int64
	state   state
	joining []*follower
	// readers counts those who read bytes in goroutines of their own.
	readers int
	// forgotten is set when memory must not keep the run beyond its end.
	forgotten bool
	// grown is closed when there is more or it is over; nil when nobody
	// waits.
	grown chan struct{}
}

func newStream(srv *Server, run turnlog.RunInfo) *stream {
	return &stream{
		srv: srv, run: run, wake: make(chan struct{}, 1), enc: srv.encoder(run),
		bytes: byteLog{limit: srv.cacheBytes}, seq: begins(run), tick: srv.tick.Load(),
	}
}

// follow is the stream's goroutine. It ends when the run has and nobody is
// left to be told.
func (s *stream) follow() {
	watcher := s.srv.log.Watch(s.run.Conversation)
	defer watcher.Close()
	stopping := s.srv.stopping
	for {
		more := s.readOn()
		if joined := s.adopt(); more || joined || s.state != following {
			s.deliver()
			s.trim()
		}
		s.look()
		if s.finished() {
			return
		}
		if more {
			continue
		}
		select {
		case <-watcher.C:
		case <-s.wake:
		case <-stopping:
			stopping = nil
			for s.read() {
				s.deliver()
				s.trim()
			}
			s.finish()
		}
	}
}

// readOn reads until nothing follows, or as much came as one write takes, and
// reports whether any did.
func (s *stream) readOn() (more bool) {
	for begin := s.bytes.end; s.bytes.end-begin < maxPageBytes && s.read(); {
		more = true
	}
	return more
}

// read takes the next records into memory and reports whether there were any.
func (s *stream) read() bool {
	if s.state != following {
		return false
	}
	records, err := s.srv.log.After(s.srv.ctx, s.run.Conversation, s.seq, turnlog.Limit{})
	if err != nil {
		s.fail(err)
		return false
	}
	end := s.bytes.end
	for _, r := range records {
		var ended bool
		s.frame, ended, err = s.enc.Encode(s.frame[:0], r)
		if err != nil {
			s.fail(err)
			return false
		}
		s.add(r.Seq, s.frame)
		if ended {
			s.finish()
			return true
		}
	}
	if s.bytes.end > end {
		s.mu.Lock()
		s.tell()
		s.mu.Unlock()
	}
	if cap(s.frame) > maxPageBytes {
		s.frame = nil
	}
	return len(records) > 0
}

// add shows everyone what a record gave, which may be nothing.
func (s *stream) add(seq int64, frame []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(frame) > 0 {
		s.bytes.add(seq, frame)
	}
	s.seq = seq
}

// tell wakes those who wait in goroutines of their own. mu is held.
func (s *stream) tell() {
	if s.grown != nil {
		close(s.grown)
		s.grown = nil
	}
}

// finish ends the stream where it is.
func (s *stream) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == following {
		s.state = over
		s.tell()
	}
}

// fail ends the stream because the log could not be read. Followers keep what
// they have and resume; if the log has recovered by then, they go on.
func (s *stream) fail(err error) {
	if s.srv.ctx.Err() == nil {
		s.srv.logger.Error("stream of a run broken off", "conversation", s.run.Conversation, "run", s.run.Run, "seq", s.seq, "error", err)
	}
	s.finish()
}

func (s *stream) trim() {
	if s.bytes.size <= s.bytes.limit {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes.trim()
}

// join hands a follower over to the stream's goroutine; false when the stream
// takes no more. Its place is its record, so it does not matter how far the
// stream goes on meanwhile.
func (s *stream) join(f *follower) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == closed {
		return false
	}
	s.joining = append(s.joining, f)
	s.signal()
	return true
}

// forget makes the stream let go of what it holds once the run is over, which
// it may be already. Followers find the rest in the log.
func (s *stream) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgotten = true
	s.signal()
}

// hold counts a reader in; false when the stream takes no more.
func (s *stream) hold() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == closed {
		return false
	}
	s.readers++
	return true
}

// letGo undoes hold.
func (s *stream) letGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers--
	s.signal()
}

func (s *stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// finished closes the stream once it is over and has no followers left.
func (s *stream) finished() bool {
	if s.state == following || len(s.active) > 0 {
		return false
	}
	s.mu.Lock()
	if len(s.joining) > 0 || s.readers > 0 {
		s.mu.Unlock()
		return false
	}
	s.state = closed
	s.mu.Unlock()
	s.srv.remove(s)
	return true
}
