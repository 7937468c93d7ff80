// Package sse shows runs live: the compatible wire of eleven events, and the
// followers that read it.
//
// Guarantee: a follower gets the frames of its run once each, in order, from
// the place its cursor names to the terminal, whichever way it is connected,
// however slow it is and however little is kept in memory; a slow follower
// delays no other. Not promised: that a connection lives. One that takes
// nothing for 30 seconds is dropped, and its client resumes with its cursor.
package sse

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// Defaults and bounds.
const (
	// DefaultKeepAlive is the longest silence on a stream.
	DefaultKeepAlive = 15 * time.Second
	// DefaultCacheBytes is how much of a run's stream is kept in memory.
	DefaultCacheBytes = 4 << 20
	// deadAfter is how long a follower may take nothing of what waits for it.
	deadAfter = 30 * time.Second
)

// ErrStopped means that the server takes no more followers.
var ErrStopped = errors.New("the server is stopping; connect again and resume from the last event id")

// Log is what a Server reads; *turnlog.Log is one.
type Log interface {
	// After returns the records of a conversation that follow a seq.
	After(ctx context.Context, c id.Conversation, after int64, limit turnlog.Limit) ([]event.Record, error)
	// Watch returns a wake-up that is signalled after each commit.
	Watch(c id.Conversation) *turnlog.Watcher
	// Run looks a run up by its id.
	Run(ctx context.Context, r id.Run) (turnlog.RunInfo, error)
	// Head returns the seq of a conversation's last record, 0 for none.
	Head(ctx context.Context, c id.Conversation) (int64, error)
	Epoch() id.Epoch
}

// Options configure a Server. Log is required; the zero value of the rest
// means the default.
type Options struct {
	Log Log
	// Place says where a run's rows are when its end is sent; nil means
	// that they are gone.
	Place func(ctx context.Context, c id.Conversation, r id.Run) Place
	// KeepAlive is the longest silence on a stream, 0 for
	// DefaultKeepAlive.
	KeepAlive time.Duration
	// CacheBytes bounds what is kept of each run in memory, 0 for
	// DefaultCacheBytes, less than 0 for nothing. What is not in memory is
	// read from the log again; readers get the same bytes.
	CacheBytes int
	// Logger gets what an operator may want to know, never text; nil
	// means slog.Default.
	Logger *slog.Logger
}

// Server answers requests for the streams of runs. Safe for concurrent use.
type Server struct {
	log        Log
	place      func(ctx context.Context, c id.Conversation, r id.Run) Place
	keepAlive  time.Duration
	cacheBytes int
	logger     *slog.Logger
	stats      counters

	// ctx ends when followers are cut off, stopping is closed when Stop
	// begins.
	ctx      context.Context
	cut      context.CancelFunc
	stopping chan struct{}
	// work counts the goroutines that the server started and the requests
	// that it serves in their handlers.
	work sync.WaitGroup
	// tick counts the steps of the walk over idle followers.
	tick    atomic.Int32
	parting parting

	mu      sync.Mutex
	stopped bool
	walking bool
	streams map[id.Run]*stream
}

// New returns a server that runs nothing yet. Stop it when done.
func New(o Options) *Server {
	s := &Server{
		log: o.Log, place: o.Place, keepAlive: o.KeepAlive, cacheBytes: max(o.CacheBytes, 0),
		logger: o.Logger, stopping: make(chan struct{}), streams: map[id.Run]*stream{},
	}
	if s.keepAlive <= 0 {
		s.keepAlive = DefaultKeepAlive
	}
	if o.CacheBytes == 0 {
		s.cacheBytes = DefaultCacheBytes
	}
	if s.logger == nil {
		s.logger = slog.Default()
	}
	s.ctx, s.cut = context.WithCancel(context.Background())
	return s
}

// Stop takes no more followers, gives those it has all that is in the log now,
// ends their streams properly and waits for them. What has not ended when ctx
// does is cut off, and Stop returns ctx's error. Stop the runs first, so that
// followers see them end. A second call waits like the first.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	if !s.stopped {
		s.stopped = true
		close(s.stopping)
	}
	s.mu.Unlock()

	done := make(chan struct{})
	go func() {
		s.work.Wait()
		close(done)
	}()
	select {
	case <-done:
		s.cut()
		return nil
	case <-ctx.Done():
		s.cut()
		<-done
		return ctx.Err()
	}
}

// enter counts a request in, unless the server is stopping.
func (s *Server) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return ErrStopped
	}
	s.work.Add(1)
	return nil
}

// streamOf returns the live stream of a run and begins it for the first
// follower. It is called between enter and the end of that work.
func (s *Server) streamOf(run turnlog.RunInfo) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.streams[run.Run]; st != nil {
		return st
	}
	st := newStream(s, run)
	s.streams[run.Run] = st
	s.stats.streams.Add(1)
	s.work.Go(st.follow)
	s.walk()
	return st
}

// Forget drops what memory holds of the runs of a conversation that have ended.
// Who deletes calls it when the log has tombstones in the place of what was
// deleted: followers that are still being sent such a run then find these, and
// their streams end properly. A run that goes on, or waits, keeps its followers;
// what memory holds of it goes with its end. A second call changes nothing.
func (s *Server) Forget(c id.Conversation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.streams {
		if st.run.Conversation == c {
			st.forget()
		}
	}
}

// remove drops a stream that takes no more followers.
func (s *Server) remove(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, st.run.Run)
	s.stats.streams.Add(-1)
}

func (s *Server) encoder(run turnlog.RunInfo) *Encoder {
	if s.place == nil {
		return NewEncoder(s.log.Epoch(), run.Run, nil)
	}
	return NewEncoder(s.log.Epoch(), run.Run, func() Place { return s.place(s.ctx, run.Conversation, run.Run) })
}
