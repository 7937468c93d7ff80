package sse

import "slices"

// adopt takes in the followers that joined and reports whether any did. What
// must be forgotten is, before any of them gets it.
func (s *stream) adopt() bool {
	s.mu.Lock()
	joined := s.joining
	s.joining = nil
	if s.forgotten && s.state != following {
		s.bytes.clear()
		s.final, s.finalOf = nil, nil
	}
	s.mu.Unlock()
	for _, f := range joined {
		f.off, f.quiet, f.looked = unplaced, s.tick, s.tick
		s.active = append(s.active, f)
	}
	return len(joined) > 0
}

// deliver offers every follower what it has not got, a page at a time, until
// those that stay have all there is. Once the stream is over, none stays.
func (s *stream) deliver() {
	var sent int64
	for behind := true; behind; {
		behind = false
		s.keep(func(f *follower) bool {
			n, stays := s.offer(f)
			sent += int64(n)
			behind = behind || stays && f.off != unplaced && (f.off < s.bytes.end || s.state != following)
			return stays
		})
	}
	if sent > 0 {
		s.srv.stats.bytes.Add(sent)
	}
}

// keep drops the active followers for which stays is false. stays has given
// them another owner or closed them.
func (s *stream) keep(stays func(*follower) bool) {
	kept := s.active[:0]
	for _, f := range s.active {
		if stays(f) {
			kept = append(kept, f)
		}
	}
	clear(s.active[len(kept):])
	s.active = kept
	if cap(kept) > 64 && len(kept) < cap(kept)/4 {
		s.active = slices.Clone(kept)
	}
}

// offer writes to a follower what it has not got and its socket takes at once.
// It returns the bytes written and whether the follower stays with the stream.
func (s *stream) offer(f *follower) (n int, stays bool) {
	if !s.place(f) {
		f.release(s)
		return 0, false
	}
	b, ok := s.take(f)
	switch {
	case !ok:
		f.release(s)
		return 0, false
	case s.state != following && f.off == s.bytes.end && len(b) <= maxFinal:
		return s.end(f, b)
	case len(b) > 0:
		return s.write(f, b)
	}
	return 0, true
}

// maxFinal is how much of a stream's end is copied so that the last chunk goes
// out with it.
const maxFinal = 16 << 10

// end writes b, which is all that a follower lacks, with the last chunk behind
// it, and sees its client off.
func (s *stream) end(f *follower, b []byte) (n int, stays bool) {
	f.ended = true
	n, stays = s.write(f, s.sealed(b))
	if stays {
		f.part()
	}
	return n, false
}

// sealed returns b with the last chunk behind it. Followers that lack the same
// bytes get the same copy.
func (s *stream) sealed(b []byte) []byte {
	if s.final == nil || len(b) != len(s.finalOf) || len(b) > 0 && &b[0] != &s.finalOf[0] {
		s.finalOf = b
		s.final = append(append(make([]byte, 0, len(b)+len(lastChunk)), b...), lastChunk...)
	}
	return s.final
}

// place finds where a follower that joined goes on. It is false when that is
// too far back for the stream's goroutine. A follower that is ahead of the
// stream, because its client had seen more than the stream has read yet, stays
// unplaced.
func (s *stream) place(f *follower) bool {
	if f.off != unplaced || f.after > s.seq && s.state == following {
		return true
	}
	off, kept := s.bytes.find(f.after)
	if !kept || s.bytes.end-off > maxPageBytes {
		return false
	}
	f.off = off
	return true
}

// take returns what comes next for a follower, up to the end of a page, and
// moves its place behind that; false when memory no longer has it.
func (s *stream) take(f *follower) (b []byte, ok bool) {
	b, f.rest = f.rest, nil
	if f.off == unplaced || f.off == s.bytes.end {
		return b, true
	}
	p := s.bytes.at(f.off)
	if p == nil {
		f.rest = b
		return nil, false
	}
	next := p.buf[f.off-p.base:]
	f.off, f.after = p.end(), p.seq()
	if len(b) == 0 {
		return next, true
	}
	return append(b, next...), true
}

// write tries to write b. What the socket does not take at once, the follower
// writes in a goroutine of its own, before anything else.
func (s *stream) write(f *follower, b []byte) (n int, stays bool) {
	n, err := f.sock.tryWrite(&s.try, b)
	if err != nil {
		f.drop(err)
		return n, false
	}
	f.quiet = s.tick
	if n < len(b) {
		f.rest = b[n:]
		s.srv.stats.slowed.Add(1)
		f.release(s)
		return n, false
	}
	return n, true
}
