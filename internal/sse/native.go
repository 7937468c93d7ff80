package sse

import (
	"context"
	"fmt"
	"net/http"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// ResetHeader is "true" on a native stream whose cursor meant nothing here: the
// client drops what it holds of the run, or of the conversation.
const ResetHeader = "Verbatim-Reset"

// ServeNative answers a request with the records of a run in native form: the
// facts of the queue about it, where it waited, its question, where it has one
// of its own, then what the log has of it and what comes, to its terminal or to
// the fact that took it out of the queue. Each record is a frame with the
// record's kind, its native form on one line, and its cursor. The cursor rules
// are those of ServeRun, but a stream that begins anew says so in ResetHeader
// and not in a frame. HEAD is answered with the head alone.
//
// Headers that are set on w go out with the answer. It returns when the stream
// has ended. On an error nothing was written; what goes wrong later ends the
// stream, and the client resumes it.
func (s *Server) ServeNative(w http.ResponseWriter, r *http.Request, run turnlog.RunInfo, cursor *id.Cursor) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.work.Done()
	after, reset, err := s.begin(r.Context(), run.Conversation, nativeBegins(run), cursor)
	if err != nil {
		return err
	}
	last := ends(run)
	if last > 0 && after >= last {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	in := nativeRun{srv: s, run: run}
	s.serveRecords(w, r, &records{srv: s, run: run, frame: in.frame, after: after, last: last}, reset)
	return nil
}

// ServeConversation answers a request with all records of a conversation in
// native form, in frames like those of ServeNative: what is in the log after
// cursor, then, if follow is set, what comes, until the client leaves or the
// server stops. A nil cursor means all. A cursor of another epoch, or beyond
// the head, means nothing here: the stream begins with the first record and
// ResetHeader says so. Without follow a cursor at the head is answered 204, and
// so is a conversation without records; with follow it waits for its first.
// What was deleted and is not erased yet is in the log and so in the stream.
//
// HEAD, headers and errors are as with ServeNative.
func (s *Server) ServeConversation(w http.ResponseWriter, r *http.Request, c id.Conversation, cursor *id.Cursor, follow bool) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.work.Done()
	after, reset, err := s.begin(r.Context(), c, 0, cursor)
	if err != nil {
		return err
	}
	in := records{srv: s, run: turnlog.RunInfo{Conversation: c}, frame: nativeFrames(s.log.Epoch()), after: after}
	if !follow {
		if in.last, err = s.log.Head(r.Context(), c); err != nil {
			return err
		}
		if after >= in.last {
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
	}
	s.serveRecords(w, r, &in, reset)
	return nil
}

// serveRecords answers with the head of a native stream and what in has.
func (s *Server) serveRecords(w http.ResponseWriter, r *http.Request, in *records, reset bool) {
	setHeaders(w.Header())
	if reset {
		w.Header().Set(ResetHeader, "true")
	}
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return
	}
	s.write(w, r, func(ctx context.Context, out bodyWriter) error { return out.copyRecords(ctx, in) })
}

// nativeBegins is begins for a run's native stream, which has the facts of the
// queue and the question as well.
func nativeBegins(run turnlog.RunInfo) int64 {
	if run.Queued > 0 {
		return run.Queued - 1
	}
	return max(run.First-2, 0)
}

// nativeRun frames the records of one run.
type nativeRun struct {
	srv *Server
	run turnlog.RunInfo
}

func (n *nativeRun) frame(ctx context.Context, b []byte, r event.Record) (out []byte, over bool, err error) {
	mine, over, err := n.judge(ctx, r)
	if err != nil || !mine {
		return b, over, err
	}
	b, err = appendNative(b, n.srv.log.Epoch(), r)
	return b, over, err
}

// judge reports whether a record is the run's and whether it is the last one.
func (n *nativeRun) judge(ctx context.Context, r event.Record) (mine, over bool, err error) {
	if r.Run != "" {
		if r.Run != n.run.Run {
			return false, false, nil
		}
		over, err = endsRun(r)
		return true, over, err
	}
	switch r.Kind {
	case event.UserMessage{}.Kind():
		mine, err = n.asks(ctx, r)
		return mine, false, err
	case event.Queue{}.Kind():
		fact, err := queueFact(r)
		mine = fact.Run == n.run.Run
		return mine, mine && fact.Op == event.QueueRemove, err
	}
	return false, false, nil
}

// asks reports whether a message is the run's question. It is no run's, but
// was logged together with the run's start and stands before it. A run that
// waited when it was looked up may have begun here.
func (n *nativeRun) asks(ctx context.Context, r event.Record) (bool, error) {
	if waits(n.run) {
		run, err := n.srv.log.Run(ctx, n.run.Run)
		if err != nil {
			return false, err
		}
		n.run = run
	}
	return r.Seq == n.run.First-1, nil
}

// endsRun reports whether a record is its run's terminal, or the tombstone of
// one.
func endsRun(r event.Record) (bool, error) {
	if r.Kind != (event.Erased{}).Kind() {
		return isTerminal(r.Kind), nil
	}
	ev, err := r.Event()
	if err != nil {
		return false, fmt.Errorf("record %d of %s: %w", r.Seq, r.Conversation, err)
	}
	stone, _ := ev.(event.Erased)
	return isTerminal(stone.Was), nil
}

func isTerminal(kind event.Kind) bool {
	spec, _ := event.Lookup(kind)
	return spec.Terminal
}
