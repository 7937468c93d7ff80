package turnlog

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"verbatim/internal/id"
)

// Defaults of Options.
const (
	DefaultCacheBytes      = 2 << 20
	DefaultCacheTotalBytes = 16 << 20
)

// Options are the choices of a Log. The zero value is what the product uses.
type Options struct {
	// Now is the clock for the records' times; nil means time.Now.
	Now func() time.Time
	// CacheBytes is how much of a conversation's tail is kept in memory, in
	// bytes as Go holds it; the newest record is kept whatever its size. 0
	// means DefaultCacheBytes, a negative value that nothing is kept.
	CacheBytes int
	// CacheTotalBytes bounds all tails together; the one that was longest
	// without a commit goes first. 0 means DefaultCacheTotalBytes.
	CacheTotalBytes int
	// Logger gets what nobody waits for; nil discards it.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = DefaultCacheBytes
	}
	if o.CacheTotalBytes == 0 {
		o.CacheTotalBytes = DefaultCacheTotalBytes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Log is the log over a store. It is safe for concurrent use.
type Log struct {
	store   Store
	logger  *slog.Logger
	tails   *tails
	watches watches
	writer  *writer

	mu      sync.Mutex
	some    *sync.Cond // the queue is not empty, or closed is set
	queue   []*unit
	closed  bool
	reports int // batches with failures whose callbacks have begun

	ended chan struct{} // closed when the writer goroutine is gone
	once  sync.Once
	err   error // of Close
}

// New starts a log over a store, which from then on is the log's: Close closes
// it.
func New(store Store, options Options) *Log {
	options = options.withDefaults()
	l := &Log{
		store:  store,
		logger: options.Logger,
		tails:  newTails(options.CacheBytes, options.CacheTotalBytes),
		writer: newWriter(store, options.Now),
		ended:  make(chan struct{}),
	}
	l.watches.of = map[id.Conversation]map[*Watcher]chan<- struct{}{}
	l.some = sync.NewCond(&l.mu)
	go l.run()
	return l
}

// hand queues a unit for the writer.
func (l *Log) hand(u *unit) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		u.done(nil, ErrClosed)
		return
	}
	u.reports = l.reports
	l.queue = append(l.queue, u)
	l.mu.Unlock()
	l.some.Signal()
}

// run is the writer goroutine. A batch is whatever came while the last one was
// committed; nothing waits for a timer.
func (l *Log) run() {
	defer close(l.ended)
	var spare []*unit
	more := false
	for {
		batch, ok := l.next(spare, more)
		if !ok {
			return
		}
		if len(batch) == 0 {
			more = l.upkeep()
		}
		for rest := batch; len(rest) > 0; {
			var n int
			n, more = l.first(rest)
			rest = rest[n:]
		}
		clear(batch)
		spare = batch[:0]
	}
}

// first takes the units that come first and can be written together, and
// returns how many: all up to an action, or an action alone. Who waits for an
// action is told after the upkeep, which may be part of it.
func (l *Log) first(batch []*unit) (n int, more bool) {
	n = slices.IndexFunc(batch, func(u *unit) bool { return u.action != nil })
	if n != 0 {
		if n < 0 {
			n = len(batch)
		}
		l.write(batch[:n])
		return n, l.upkeep()
	}
	err := batch[0].action()
	more = l.upkeep()
	batch[0].done(nil, err)
	return 1, more
}

func (l *Log) upkeep() (more bool) {
	more, err := l.store.Upkeep(context.Background())
	if err != nil {
		l.logger.Error("upkeep of the log's store failed; it is tried again after the next commit", "error", err)
	}
	return more && err == nil
}

// next waits for a batch; false when the log is closed and all is written. With
// upkeep left to do it waits for nothing, and the batch may be empty.
func (l *Log) next(spare []*unit, more bool) (batch []*unit, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 && !l.closed && !more {
		l.some.Wait()
	}
	batch = l.queue
	l.queue = spare
	return batch, len(batch) > 0 || !l.closed
}

// write commits a batch, then shows it, then tells those who wait.
func (l *Log) write(batch []*unit) {
	failed := l.writer.commit(batch)
	written := l.writer.written
	for _, g := range written {
		l.tails.add(g.Conversation, g.Records)
	}
	for _, g := range written {
		l.watches.wake(g.Conversation)
	}
	clear(written)
	if failed {
		l.mu.Lock()
		l.reports++
		l.mu.Unlock()
	}
	for _, u := range batch {
		if u.err != nil {
			u.done(nil, u.err)
			continue
		}
		u.done(u.records, nil)
	}
}

// Close writes what was posted, then closes the store. What is posted later
// fails with ErrClosed. A second call returns what the first did.
func (l *Log) Close() error {
	l.once.Do(func() {
		l.mu.Lock()
		l.closed = true
		l.mu.Unlock()
		l.some.Signal()
		<-l.ended
		l.err = l.store.Close()
	})
	return l.err
}
