package httpapi

import (
	"context"
	"sync"
)

// door holds requests back while the server starts. Its zero value is of no
// use; see newDoor.
type door struct {
	once   sync.Once
	opened chan struct{} // closed by open
	failed chan struct{} // closed by fail
}

func newDoor() *door {
	return &door{opened: make(chan struct{}), failed: make(chan struct{})}
}

func (d *door) open() { d.once.Do(func() { close(d.opened) }) }
func (d *door) fail() { d.once.Do(func() { close(d.failed) }) }

// isOpen reports whether wait would return nil at once.
func (d *door) isOpen() bool {
	select {
	case <-d.opened:
		return true
	default:
		return false
	}
}

// wait returns nil when the door is open, else why it never will be or ctx's
// error.
func (d *door) wait(ctx context.Context) error {
	select {
	case <-d.opened:
		return nil
	case <-d.failed:
		return problem(Unavailable, "Verbatim ends before it has taken up what it had stored; try again when it runs.")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Open lets requests through that New was told to hold, those that wait already
// and all later ones. After Fail, or again, it does nothing.
func (a *API) Open() { a.door.open() }

// Fail answers requests that New was told to hold with 503. After Open, or
// again, it does nothing.
func (a *API) Fail() { a.door.fail() }

// early reports that a route answers while the server starts: what it tells has
// nothing to do with what is stored.
func (r *Route) early() bool { return r.open || r.quiet }
