package sse

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"verbatim/internal/turnlog"
)

// unplaced is the offset of a follower whose place the stream has not found
// yet.
const unplaced = -1

// follower is a connection that left net/http. It has one owner at any time:
// the stream's goroutine while the socket takes all it is offered, else a
// goroutine of its own, which ends when the follower has caught up. Only the
// owner touches these fields or writes to the connection.
type follower struct {
	srv  *Server
	conn net.Conn
	// sock tries without waiting; nil when conn cannot.
	sock socket
	// after is the record of the last frame that was written or is in rest.
	after int64
	// off is where the stream's bytes go on behind that, while the stream
	// owns the follower.
	off int64
	// rest is what must be written before anything else: the head, or what is
	// left of a frame.
	rest []byte
	// ended is set when rest ends with the last chunk, so that nothing follows.
	ended bool
	// quiet and looked are the ticks of the last write and the last look.
	quiet, looked int32
}

// release gives a follower of s a goroutine of its own; false when s takes no
// more. While the stream's goroutine runs, it does. Who calls release owns the
// follower and lets go of it.
func (f *follower) release(s *stream) bool {
	if !s.hold() {
		return false
	}
	f.srv.work.Go(func() {
		defer s.letGo()
		f.own(s.run, s)
	})
	return true
}

// own writes what the follower lacks, waiting for the socket where it must,
// until the stream can have it back or is over. s is nil for a run that has
// ended: all comes from the log then.
func (f *follower) own(run turnlog.RunInfo, s *stream) {
	stop := context.AfterFunc(f.srv.ctx, func() { _ = f.conn.Close() })
	defer stop()
	patience(f.conn, deadAfter)
	r := reader{srv: f.srv, run: run, stream: s, after: f.after, chunked: true}
	keepAlive := time.NewTimer(f.srv.keepAlive)
	defer keepAlive.Stop()
	for {
		if len(f.rest) > 0 {
			if err := f.write(f.rest); err != nil {
				f.drop(err)
				return
			}
			f.rest = nil
			keepAlive.Reset(f.srv.keepAlive)
		}
		if f.ended {
			f.linger()
			return
		}
		b, next, err := r.next(f.srv.ctx)
		f.after = r.after
		switch {
		case err != nil:
			f.srv.logRead(run, err)
			f.end()
			return
		case next == ended:
			f.end()
			return
		case next == waiting && f.back(s):
			return
		case next == waiting:
			b = r.wait(f.srv.ctx, keepAlive, keepAliveChunk)
		}
		f.rest = b
	}
}

// back hands the follower to the stream's goroutine if its socket can be tried
// without waiting.
func (f *follower) back(s *stream) bool {
	if f.sock == nil {
		return false
	}
	patience(f.conn, ackWithin)
	if f.conn.SetWriteDeadline(time.Time{}) != nil {
		return false
	}
	return s.join(f)
}

// A client that takes nothing during stallSteps steps is taken for dead. When
// in its step it took the last byte is not known, so that is noticed within one
// step more, which makes deadAfter.
const (
	stallSteps = 2
	stallStep  = deadAfter / (stallSteps + 1)
)

// write writes all of b, however slowly the client takes it.
func (f *follower) write(b []byte) error {
	stalled := 0
	for len(b) > 0 {
		if err := f.conn.SetWriteDeadline(time.Now().Add(stallStep)); err != nil {
			return err
		}
		n, err := f.conn.Write(b)
		f.srv.stats.bytes.Add(int64(n))
		b = b[n:]
		stalled++
		if n > 0 {
			stalled = 0
		}
		if err != nil && (stalled == stallSteps || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return err
		}
	}
	return nil
}

// drop closes the connection of a client that left, or that the server cut
// off.
func (f *follower) drop(err error) {
	f.srv.stats.dropped.Add(1)
	f.srv.logger.Debug("follower dropped", "reason", err)
	f.close()
}

func (f *follower) close() {
	_ = f.conn.Close()
	f.srv.stats.followers.Add(-1)
}

// end ends the body and sees the client off.
func (f *follower) end() {
	if err := f.write([]byte(lastChunk)); err != nil {
		f.drop(err)
		return
	}
	f.linger()
}
