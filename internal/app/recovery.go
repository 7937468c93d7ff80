package app

import (
	"context"
	"fmt"
	"runtime/debug"
)

// recovery takes up what the last process left, beside the first requests.
type recovery struct {
	// take does the work: takeUp, or what a test put here.
	take   func(context.Context) error
	cancel context.CancelFunc
	done   chan struct{} // closed when nothing of it runs any more
	err    error         // set before done is closed
}

// beginRecovery is the last step of Start, so that it can't fail there.
func (a *App) beginRecovery(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	a.recovery.cancel = cancel
	if a.recovery.take == nil {
		a.recovery.take = a.takeUp
	}
	go func() {
		defer close(a.recovery.done)
		if err := a.recovery.take(ctx); err != nil {
			a.recovery.err = fmt.Errorf("take up what the last process left: %w", err)
			a.giveUp()
			return
		}
		a.api.Open()
		// The start has read far more than what is kept of it.
		debug.FreeOSMemory()
	}()
	return nil
}

// takeUp clears away what belongs to nobody, before anything new is stored, and
// closes or goes on with runs.
func (a *App) takeUp(ctx context.Context) error {
	if err := a.sweepBlobs(ctx); err != nil {
		return err
	}
	if err := a.chat.Recover(ctx); err != nil {
		return err
	}
	if a.opt.Private {
		// Who only asks or looks posts nothing anywhere.
		return nil
	}
	return a.surfaces.begin(ctx, a)
}

// giveUp answers who waits and takes no new connection; the owner sees that by
// Served, and stops the app.
func (a *App) giveUp() {
	a.api.Fail()
	// It is the listener that has to close now; Stop waits for the rest.
	_ = a.server.Shutdown(ended())
}

// endRecovery lets it come to its end until ctx is over, then breaks it off:
// what is not taken up is left to the next start.
func (a *App) endRecovery(ctx context.Context) error {
	defer a.recovery.cancel()
	select {
	case <-a.recovery.done:
	case <-ctx.Done():
		a.recovery.cancel()
		<-a.recovery.done
	}
	return tolerate(a.recovery.err)
}
