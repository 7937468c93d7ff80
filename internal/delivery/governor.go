package delivery

import (
	"sync"
	"time"
)

// Governor shares one account's budget among its lanes: calls are apart by the
// platform's pace, and of lanes that wait the one with the most urgent call goes
// first. Safe for concurrent use.
type Governor struct {
	mu    sync.Mutex
	every time.Duration
	free  time.Time
	wants map[any]Priority
}

// NewGovernor returns one that allows a call each so often; 0 is no limit.
func NewGovernor(every time.Duration) *Governor {
	return &Governor{every: every, wants: map[any]Priority{}}
}

// Take reports whether who may make a call of a priority now, and if not, when to
// ask again. Who does not want it any more says so by Leave.
func (g *Governor) Take(who any, p Priority, now time.Time) (until time.Time, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Before(g.free) {
		g.wants[who] = p
		return g.free, false
	}
	for other, want := range g.wants {
		if other != who && want > p {
			g.wants[who] = p
			return now.Add(max(g.every, time.Millisecond)), false
		}
	}
	delete(g.wants, who)
	g.free = now.Add(g.every)
	return time.Time{}, true
}

// Leave withdraws what who wanted.
func (g *Governor) Leave(who any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.wants, who)
}

// Pause keeps all lanes from calling before a time.
func (g *Governor) Pause(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.free = later(g.free, until)
}
