package sse

import (
	"context"
	"net/http"
	"time"

	"verbatim/internal/turnlog"
)

// writeBytes is how much is written at a time to a writer of net/http: the
// client must take that much in deadAfter.
const writeBytes = 16 << 10

// bodyWriter writes a stream through net/http.
type bodyWriter struct {
	srv *Server
	w   http.ResponseWriter
	ctl *http.ResponseController
}

// serve writes a run's stream in the handler's goroutine: over TLS, HTTP/2 and
// HTTP/1.0, and to writers that don't let go of their connection.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, run turnlog.RunInfo, after int64, first []byte) {
	in := reader{srv: s, run: run, after: after}
	if ends(run) == 0 {
		in.stream = s.held(run)
		defer in.stream.letGo()
	}
	s.write(w, r, func(ctx context.Context, out bodyWriter) error { return out.copy(ctx, &in, first) })
}

// held returns the live stream of a run for a reader that lets go of it.
func (s *Server) held(run turnlog.RunInfo) *stream {
	for {
		if st := s.streamOf(run); st.hold() {
			return st
		}
	}
}

// write lets body write the body of an answer. Its context, and the writing it
// is in, end with the client's request and with the server.
func (s *Server) write(w http.ResponseWriter, r *http.Request, body func(context.Context, bodyWriter) error) {
	s.stats.attached.Add(1)
	s.stats.followers.Add(1)
	defer s.stats.followers.Add(-1)

	out := bodyWriter{srv: s, w: w, ctl: http.NewResponseController(w)}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stop := context.AfterFunc(s.ctx, func() {
		cancel()
		_ = out.ctl.SetWriteDeadline(time.Now())
	})
	defer stop()
	w.WriteHeader(http.StatusOK)
	if err := body(ctx, out); err != nil {
		s.stats.dropped.Add(1)
		s.logger.Debug("follower dropped", "reason", err)
		return
	}
	_ = out.ctl.SetWriteDeadline(time.Time{})
}

// copy writes first and all that in has, to the stream's end.
func (o bodyWriter) copy(ctx context.Context, in *reader, first []byte) error {
	timer := time.NewTimer(o.srv.keepAlive)
	defer timer.Stop()
	b := first
	for {
		if len(b) > 0 {
			if err := o.write(b); err != nil {
				return err
			}
			timer.Reset(o.srv.keepAlive)
		}
		var found next
		var err error
		b, found, err = in.next(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			o.srv.logRead(in.run, err)
			return nil
		}
		switch found {
		case ended:
			return nil
		case waiting:
			b = in.wait(ctx, timer, KeepAlive)
		case more:
			// The next turn of the loop writes b.
		}
	}
}

// write writes and flushes b.
func (o bodyWriter) write(b []byte) error {
	for len(b) > 0 {
		// A writer without deadlines is as patient as it is.
		_ = o.ctl.SetWriteDeadline(time.Now().Add(deadAfter))
		n, err := o.w.Write(b[:min(len(b), writeBytes)])
		o.srv.stats.bytes.Add(int64(n))
		if err != nil {
			return err
		}
		if err := o.ctl.Flush(); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
