package sse

import (
	"context"
	"errors"
	"fmt"
	"time"

	"verbatim/internal/turnlog"
)

// next says what a reader found.
type next uint8

const (
	// more: bytes to write.
	more next = iota
	// waiting: nothing yet; grown is closed when there may be.
	waiting
	// ended: nothing more will come.
	ended
)

// reader is a cursor over a run's stream for a follower in a goroutine of its
// own: from memory where that has its place, else from the log.
type reader struct {
	srv *Server
	run turnlog.RunInfo
	// stream is nil when the run has ended and nobody else follows it.
	stream *stream
	// after is the record of the last frame that was returned.
	after   int64
	chunked bool
	// grown is set when next returned waiting.
	grown <-chan struct{}

	back *catchUp
	bare []byte
}

// next returns what follows. The bytes are whole frames and stay valid until
// the next call.
func (r *reader) next(ctx context.Context) ([]byte, next, error) {
	if err := ctx.Err(); err != nil {
		return nil, more, err
	}
	if r.stream == nil {
		return r.fromLog(ctx, ends(r.run))
	}
	b, found, missing := r.fromMemory()
	if missing > 0 {
		return r.fromLog(ctx, missing)
	}
	return b, found, nil
}

// wait waits until next may find more, and returns the comment that is due when
// the timer says so first. It returns nothing when ctx ends: the next read or
// write meets that.
func (r *reader) wait(ctx context.Context, due *time.Timer, comment string) []byte {
	select {
	case <-r.grown:
	case <-ctx.Done():
	case <-due.C:
		return []byte(comment)
	}
	return nil
}

// fromMemory looks into the stream's bytes. When they no longer hold the place,
// missing is the record up to which the log must be read.
func (r *reader) fromMemory() (b []byte, found next, missing int64) {
	s := r.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.after < s.bytes.dropped {
		return nil, more, s.seq
	}
	p, from := s.bytes.first(r.after)
	switch {
	case p == nil && s.state != following:
		return nil, ended, 0
	case p == nil:
		if s.grown == nil {
			s.grown = make(chan struct{})
		}
		r.grown = s.grown
		return nil, waiting, 0
	}
	start := 0
	if from > 0 {
		start = p.marks[from-1].end
	}
	r.after = p.seq()
	if r.chunked {
		return p.buf[start:], more, 0
	}
	r.bare = appendBare(r.bare[:0], p.buf, p.marks[from:], start)
	return r.bare, more, 0
}

// fromLog reads on behind the place, as far as the record upTo.
func (r *reader) fromLog(ctx context.Context, upTo int64) ([]byte, next, error) {
	if r.back == nil {
		r.back = newCatchUp(r)
		r.srv.stats.catchUps.Add(1)
	}
	for r.back.fed < upTo && !r.back.over {
		b, err := r.back.read(ctx, r, upTo)
		if err != nil {
			return nil, more, err
		}
		if len(b) > 0 {
			return b, more, nil
		}
	}
	// Records without frames are behind the place as well.
	r.after = max(r.after, r.back.fed)
	if r.stream == nil || r.back.over {
		return nil, ended, nil
	}
	return nil, more, nil
}

// A catch-up reads less at a time than the log allows, since a thousand of them
// may come at once.
const (
	catchUpRecords = 1000
	catchUpBytes   = 128 << 10
)

// catchUp reads a run behind a follower's place, with an encoder of its own that
// gives the same frames as the stream's. Where that needs to know what came
// before, it begins again at the run's start and leaves out the frames that the
// follower has.
type catchUp struct {
	enc *Encoder
	// fed is the last record that went through enc; over is set by the
	// terminal.
	fed   int64
	over  bool
	frame []byte
	out   []byte
}

func newCatchUp(r *reader) *catchUp {
	from := begins(r.run)
	c := &catchUp{enc: r.srv.encoder(r.run), fed: max(r.after, from)}
	c.enc.joined = c.fed > from
	return c
}

// read frames the next records; it may return nothing when none has a frame
// that the follower lacks.
func (c *catchUp) read(ctx context.Context, r *reader, upTo int64) ([]byte, error) {
	limit := turnlog.Limit{Records: catchUpRecords, Bytes: catchUpBytes}
	records, err := r.srv.log.After(ctx, r.run.Conversation, c.fed, limit)
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("read run %s: the log ends at record %d before %d", r.run.Run, c.fed, upTo)
	}
	c.out = c.out[:0]
	for _, record := range records {
		if record.Seq > upTo || c.over {
			break
		}
		c.frame, c.over, err = c.enc.Encode(c.frame[:0], record)
		if errors.Is(err, errNeedsStart) {
			c.enc, c.fed = r.srv.encoder(r.run), begins(r.run)
			break
		}
		if err != nil {
			return nil, err
		}
		c.fed = record.Seq
		if record.Seq <= r.after || len(c.frame) == 0 {
			continue
		}
		r.after = record.Seq
		if r.chunked {
			c.out = appendChunk(c.out, c.frame)
		} else {
			c.out = append(c.out, c.frame...)
		}
	}
	return c.out, nil
}

// logRead tells an operator that a follower ended early.
func (s *Server) logRead(run turnlog.RunInfo, err error) {
	if s.ctx.Err() == nil {
		s.logger.Error("follower of a run broken off", "conversation", run.Conversation, "run", run.Run, "error", err)
	}
}
