package app

import (
	"context"
	"errors"
	"time"
)

// DrainTime is how long runs may go on after Stop was called.
const DrainTime = 10 * time.Second

// lastWords is how long followers may take, after the last run has ended, to
// fetch what is left.
const lastWords = 5 * time.Second

// Stop takes no new work, lets runs reach their end within DrainTime, closes
// the rest as interrupted, gives followers their last events and closes the
// log. When ctx ends first, runs are closed at once. It returns when nothing
// of the app runs any more.
func (a *App) Stop(ctx context.Context) error {
	a.api.Drain()
	errs := []error{a.withdraw()}
	closing := make(chan error, 1)
	finished, finish := context.WithCancel(context.Background())
	defer finish()
	go func() { closing <- a.endServer(finished) }()

	drain, cancel := context.WithTimeout(ctx, DrainTime)
	defer cancel()
	errs = append(errs, a.endRecovery(drain))
	a.surfaces.hush()
	errs = append(errs, tolerate(a.chat.Stop(drain)))

	words, done := context.WithTimeout(context.Background(), lastWords)
	defer done()
	a.surfaces.hub.Stop(words)
	errs = append(errs, tolerate(a.streams.Stop(words)))
	errs = append(errs, soon(closing, finish), a.tools.Close(), a.models.close(), a.log.Close())
	return errors.Join(errs...)
}

// soon waits a second for the last answers to be taken, then cuts them off.
func soon(closing <-chan error, cut func()) error {
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case err := <-closing:
		return err
	case <-t.C:
		cut()
		return tolerate(<-closing)
	}
}

// tolerate passes over the report that waiting took too long: what was waited
// for is closed all the same.
func tolerate(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
