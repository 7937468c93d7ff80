package app

import (
	"context"
	"sync/atomic"
	"time"

	"verbatim/internal/turnlog"
)

// meter counts what goes into a store. The figures may be read at any time.
type meter struct {
	turnlog.Store

	events, commits, nanos atomic.Int64
}

// Commit counts the records of the groups that were written.
func (m *meter) Commit(ctx context.Context, groups []turnlog.Group) []error {
	began := time.Now()
	errs := m.Store.Commit(ctx, groups)
	m.nanos.Add(int64(time.Since(began)))
	m.commits.Add(1)
	for i, g := range groups {
		if errs[i] == nil {
			m.events.Add(int64(len(g.Records)))
		}
	}
	return errs
}

func (m *meter) seconds() float64 { return time.Duration(m.nanos.Load()).Seconds() }
