package app

import (
	"context"
	"maps"
	"sync"

	"verbatim/internal/chat"
)

// recall is a store of settings that reads them once: each run and each question
// for the server's health wants them, and nobody else writes them while the
// process has the data directory. Safe for concurrent use.
type recall struct {
	store chat.SettingStore

	mu     sync.Mutex
	values map[string]string // nil: to be read
}

// Settings returns all that are set.
func (r *recall) Settings(ctx context.Context) (map[string]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.values == nil {
		values, err := r.store.Settings(ctx)
		if err != nil {
			return nil, err
		}
		r.values = map[string]string{}
		maps.Copy(r.values, values)
	}
	return maps.Clone(r.values), nil
}

// SetSettings stores values as one unit. They are read again, also when it
// failed: what became of them is the store's to say.
func (r *recall) SetSettings(ctx context.Context, changes map[string]*string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values = nil
	return r.store.SetSettings(ctx, changes)
}
