package sse

import "sync/atomic"

// Stats are figures of a Server since it was made.
type Stats struct {
	// Followers and Streams are how many there are now: connections that
	// get a stream, and runs whose stream is in memory.
	Followers, Streams int64
	// Bytes counts what was written to followers, Attached the followers
	// there ever were.
	Bytes, Attached int64
	// CatchUps counts the followers that had to be served from the log
	// because memory did not hold their place, Slowed how often one did not
	// take what it was offered and went on in a goroutine of its own.
	CatchUps, Slowed int64
	// Dropped counts the followers whose connection ended before their
	// stream did.
	Dropped int64
}

type counters struct {
	followers, streams, bytes, attached, catchUps, slowed, dropped atomic.Int64
}

// Stats returns the figures; they are read one by one.
func (s *Server) Stats() Stats {
	c := &s.stats
	return Stats{
		Followers: c.followers.Load(), Streams: c.streams.Load(),
		Bytes: c.bytes.Load(), Attached: c.attached.Load(),
		CatchUps: c.catchUps.Load(), Slowed: c.slowed.Load(), Dropped: c.dropped.Load(),
	}
}
