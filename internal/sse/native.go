package sse

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// ResetHeader is "true" on a native stream whose cursor meant nothing here: the
// client drops what it holds of the run.
const ResetHeader = "Verbatim-Reset"

// ServeNative answers a request with the records of a run in native form: its
// question, where it has one of its own, then what the log has of it and what
// comes, to its terminal. Each record is a frame with the record's kind, its
// native form on one line, and its cursor. The cursor rules are those of
// ServeRun, but a stream that begins anew says so in ResetHeader and not in a
// frame. HEAD is answered with the head alone.
//
// Headers that are set on w go out with the answer. It returns when the stream
// has ended. On an error nothing was written; what goes wrong later ends the
// stream, and the client resumes it.
func (s *Server) ServeNative(w http.ResponseWriter, r *http.Request, run turnlog.RunInfo, cursor *id.Cursor) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.work.Done()
	question := run
	question.First = max(run.First-1, 1)
	after, reset, err := s.begin(r.Context(), question, cursor)
	if err != nil {
		return err
	}
	if run.Last > 0 && after >= run.Last {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	setHeaders(w.Header())
	if reset {
		w.Header().Set(ResetHeader, "true")
	}
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	in := nativeReader{srv: s, run: run, after: after}
	s.write(w, r, func(ctx context.Context, out bodyWriter) error { return out.copyNative(ctx, &in) })
	return nil
}

// copyNative writes all that in has, to the run's terminal. When the server
// stops it ends with what is in the log.
func (o bodyWriter) copyNative(ctx context.Context, in *nativeReader) error {
	watcher := o.srv.log.Watch(in.run.Conversation)
	defer watcher.Close()
	timer := time.NewTimer(o.srv.keepAlive)
	defer timer.Stop()
	stopped := false
	for b := []byte(Head); ; {
		if len(b) > 0 {
			if err := o.write(b); err != nil {
				return err
			}
			timer.Reset(o.srv.keepAlive)
		}
		var found next
		var err error
		b, found, err = in.next(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			o.srv.logRead(in.run, err)
			return nil
		case found == more:
			continue
		case found == ended || stopped:
			return nil
		}
		select {
		case <-watcher.C:
		case <-timer.C:
			b = []byte(KeepAlive)
		case <-o.srv.stopping:
			stopped = true
		case <-ctx.Done():
		}
	}
}

// nativeReader is a cursor over a run's records.
type nativeReader struct {
	srv *Server
	run turnlog.RunInfo
	// after is the last record that was read.
	after int64
	// over is set by the terminal.
	over bool
	out  []byte
}

// next frames the records that follow, of which none may be the run's. The
// bytes stay valid until the next call.
func (n *nativeReader) next(ctx context.Context) ([]byte, next, error) {
	if n.over {
		return nil, ended, nil
	}
	limit := turnlog.Limit{Records: catchUpRecords, Bytes: catchUpBytes}
	records, err := n.srv.log.After(ctx, n.run.Conversation, n.after, limit)
	if err != nil {
		return nil, more, err
	}
	if len(records) == 0 {
		return n.atHead()
	}
	n.out = n.out[:0]
	for _, r := range records {
		if n.over {
			break
		}
		n.after = r.Seq
		if !n.belongs(r) {
			continue
		}
		if n.out, err = appendNative(n.out, n.srv.log.Epoch(), r); err != nil {
			return nil, more, err
		}
		spec, _ := event.Lookup(r.Kind)
		n.over = spec.Terminal
	}
	return n.out, more, nil
}

// atHead says what it means that nothing follows, and lets go of the room that
// a long read took: a follower may wait here for long.
func (n *nativeReader) atHead() ([]byte, next, error) {
	if n.run.Last > 0 {
		return nil, more, fmt.Errorf("read run %s: the log ends at record %d before %d", n.run.Run, n.after, n.run.Last)
	}
	if cap(n.out) > writeBytes {
		n.out = nil
	}
	return nil, waiting, nil
}

// belongs reports whether a record is the run's. Its question is no run's, but
// was logged together with its start.
func (n *nativeReader) belongs(r event.Record) bool {
	if r.Run == n.run.Run {
		return true
	}
	return r.Seq == n.run.First-1 && r.Kind == event.UserMessage{}.Kind()
}
