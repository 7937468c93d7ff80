package turnlog

import (
	"sync"

	"verbatim/internal/id"
)

// Watcher is a wake-up that carries nothing.
type Watcher struct {
	// C has room for one signal.
	C <-chan struct{}

	close func()
}

// NewWatcher returns a wake-up for a log other than *Log, which signals through
// c. Close calls close, which must allow a second call.
func NewWatcher(c <-chan struct{}, close func()) *Watcher { return &Watcher{C: c, close: close} }

// Close ends the wake-ups. A second call does nothing.
func (w *Watcher) Close() { w.close() }

// watches are the open watchers by conversation.
type watches struct {
	mu sync.Mutex
	of map[id.Conversation]map[*Watcher]chan<- struct{}
}

// Watch returns a wake-up for a conversation, which need not exist yet. It is
// signalled after each commit to it, at least once for any number of commits
// since the last receive. Watch first, then read, then wait: then no record is
// missed. The caller must Close it.
func (l *Log) Watch(c id.Conversation) *Watcher { return l.watches.open(c) }

func (s *watches) open(c id.Conversation) *Watcher {
	signal := make(chan struct{}, 1)
	w := &Watcher{C: signal}
	w.close = func() { s.drop(c, w) }
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[c] == nil {
		s.of[c] = map[*Watcher]chan<- struct{}{}
	}
	s.of[c][w] = signal
	return w
}

func (s *watches) drop(c id.Conversation, w *Watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of[c], w)
	if len(s.of[c]) == 0 {
		delete(s.of, c)
	}
}

// wake signals the watchers of a conversation and waits for none.
func (s *watches) wake(c id.Conversation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, signal := range s.of[c] {
		select {
		case signal <- struct{}{}:
		default:
		}
	}
}
