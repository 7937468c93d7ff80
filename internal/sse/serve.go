package sse

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// ServeRun answers a request with the stream of a run: what is in the log
// after cursor, then what comes, to the run's terminal. A nil cursor, and one
// before the run's start, mean all of it. A cursor at or past the terminal is
// answered 204. A cursor of another epoch, or beyond the conversation's head,
// means nothing here: the stream begins at the start again, and its start
// event says reset. run is what the log knows of the run at the time of the
// request or later.
//
// While the run's message waits in the queue the stream is open and silent but
// for its comments, and goes on with the run's start when that comes. When the
// message is taken out unsent it gets one cancelled event, with the cursor of
// the fact that took it out, and nothing else; whoever asks later gets the
// same.
//
// Headers that are set on w go out with the answer. On plain HTTP/1.1 the
// connection is taken from net/http and ServeRun returns while it is being
// served; else it returns when the stream has ended. On an error nothing was
// written; what goes wrong later ends the stream, and the client resumes it.
func (s *Server) ServeRun(w http.ResponseWriter, r *http.Request, run turnlog.RunInfo, cursor *id.Cursor) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.work.Done()
	after, reset, err := s.begin(r.Context(), run.Conversation, begins(run), cursor)
	if err != nil {
		return err
	}
	if last := ends(run); last > 0 && after >= last {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	first := []byte(Head)
	switch {
	case dropped(run):
		first, after = appendDropped(first, s.log.Epoch(), run.Run, run.Dropped), run.Dropped
	case reset && waits(run):
		s.serveReset(w, r, run, after)
		return nil
	case reset:
		if first, after, err = s.resetStart(r.Context(), first, run); err != nil {
			return err
		}
	}
	setHeaders(w.Header())
	if canLeave(r) {
		done, err := s.leave(w, r, run, after, first)
		if done || err != nil {
			return err
		}
	}
	s.serve(w, r, run, after, first)
	return nil
}

// begin turns the client's cursor into a place in the log, which is not before
// the record from.
func (s *Server) begin(ctx context.Context, c id.Conversation, from int64, cursor *id.Cursor) (after int64, reset bool, err error) {
	if cursor == nil {
		return from, false, nil
	}
	if cursor.Epoch != s.log.Epoch() {
		return from, true, nil
	}
	head, err := s.log.Head(ctx, c)
	if err != nil {
		return 0, false, err
	}
	if cursor.Seq > head {
		return from, true, nil
	}
	return max(cursor.Seq, from), false, nil
}

// resetStart appends the start frame that tells a client to forget what it
// holds. Behind it the stream is the same as for everyone.
func (s *Server) resetStart(ctx context.Context, b []byte, run turnlog.RunInfo) (out []byte, after int64, err error) {
	records, err := s.log.After(ctx, run.Conversation, run.First-1, turnlog.Limit{Records: 1})
	if err != nil {
		return nil, 0, err
	}
	if len(records) == 0 {
		return nil, 0, errors.New("the start of run " + string(run.Run) + " is not in the log")
	}
	enc := s.encoder(run)
	enc.Reset = true
	b, _, err = enc.Encode(b, records[0])
	return b, run.First, err
}

// serveReset serves a run that waits to a client whose cursor means nothing
// here. Its start, which says so, is still to come and is this client's alone,
// so its stream is framed for itself, in the handler's goroutine.
func (s *Server) serveReset(w http.ResponseWriter, r *http.Request, run turnlog.RunInfo, after int64) {
	enc := s.encoder(run)
	enc.Reset = true
	in := records{srv: s, run: run, after: after, frame: func(_ context.Context, b []byte, r event.Record) ([]byte, bool, error) {
		return enc.Encode(b, r)
	}}
	setHeaders(w.Header())
	s.write(w, r, func(ctx context.Context, out bodyWriter) error { return out.copyRecords(ctx, &in) })
}

func setHeaders(h http.Header) {
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Del("Content-Length")
	h.Del("Content-Encoding")
}

// canLeave reports whether the request's connection may be taken from
// net/http.
func canLeave(r *http.Request) bool {
	return r.TLS == nil && r.ProtoMajor == 1 && r.ProtoMinor == 1
}

// leave takes the connection from net/http and hands it to a follower, so that
// the handler's goroutine and its buffers are free. done is false when the
// writer does not let go of its connection.
func (s *Server) leave(w http.ResponseWriter, r *http.Request, run turnlog.RunInfo, after int64, first []byte) (done bool, err error) {
	head := responseHead(w.Header(), first)
	conn, _, err := http.NewResponseController(w).Hijack()
	if errors.Is(err, http.ErrNotSupported) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	patience(conn, ackWithin)
	f := &follower{srv: s, conn: conn, sock: socketOf(conn), after: after, rest: head}
	s.stats.attached.Add(1)
	s.stats.followers.Add(1)
	if ends(run) > 0 {
		s.work.Go(func() { f.own(run, nil) })
		return true, nil
	}
	for {
		st := s.streamOf(run)
		if f.sock == nil && f.release(st) || f.sock != nil && st.join(f) {
			return true, nil
		}
	}
}

// responseHead is what net/http would have written, with the body's first
// chunk.
func responseHead(h http.Header, first []byte) []byte {
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 200 OK\r\n")
	h = h.Clone()
	h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	h.Set("Connection", "close")
	h.Set("Transfer-Encoding", "chunked")
	_ = h.Write(&b) // a buffer does not fail
	b.WriteString("\r\n")
	return appendChunk(b.Bytes(), first)
}
