package app

import (
	"maps"
	"sync"

	"verbatim/internal/event"
	"verbatim/internal/httpapi"
)

// outcomes counts how runs ended. Safe for concurrent use.
type outcomes struct {
	mu sync.Mutex
	by map[string]int64
}

func (o *outcomes) count(terminal event.Event) {
	outcome := string(terminal.Kind())
	if e, ok := terminal.(event.Error); ok {
		outcome = string(e.Type)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.by == nil {
		o.by = map[string]int64{}
	}
	o.by[outcome]++
}

func (o *outcomes) all() map[string]int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.by)
}

// figures is what /metrics tells of the parts.
func (a *App) figures() httpapi.Figures {
	s := a.streams.Stats()
	return httpapi.Figures{
		Runs: a.outcomes.all(), Running: a.chat.Running(),
		Events: a.meter.events.Load(), Commits: a.meter.commits.Load(), CommitSeconds: a.meter.seconds(),
		Followers: s.Followers, FollowerBytes: s.Bytes, CatchUps: s.CatchUps, Dropped: s.Dropped,
	}
}
