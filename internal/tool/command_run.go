package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// How a command ends. Together, with the time that looking takes, these stay
// under the second that Action.Run promises.
const (
	// settleTime is how long what a command left behind may take to end by
	// itself, as the other end of a pipe does.
	settleTime = 100 * time.Millisecond
	// politeTime is between asking processes to end and killing them.
	politeTime = 200 * time.Millisecond
	// killTime bounds the killing: nothing lives through it but a process that
	// the system won't let go or that belongs to somebody else.
	killTime = 450 * time.Millisecond
	// drainTime bounds the reading of what was written before the end.
	drainTime = 150 * time.Millisecond
	// lookEvery is how often it is looked whether processes are gone.
	lookEvery = 5 * time.Millisecond
)

// Why a command was stopped.
var (
	errCommandStopped = errors.New("the command was stopped before it ended")
	errShuttingDown   = errors.New("the program is shutting down; the command was stopped before it ended")
	errShutDown       = errors.New("the program is shutting down; the command was not run")
	errUnstoppable    = errors.New("the command could not be stopped; the system still holds it")
)

// run runs one command to its end, or stops it, and leaves nothing behind.
func (c *command) run(ctx context.Context, out Output, line string, limit time.Duration) error {
	if !c.enter() {
		return errShutDown
	}
	defer c.running.Done()
	if ctx.Err() != nil {
		return errors.New("the call was stopped; the command was not run")
	}
	out.Live()
	r, err := c.start(line, out)
	if err != nil {
		return fmt.Errorf("the command could not be started: %w", err)
	}
	defer r.close()
	stopped := r.await(ctx, c.stopping, limit)
	if stopped == nil {
		r.settle()
	}
	found := r.end()
	lost := r.drain()
	switch {
	case !r.hasExited():
		return errUnstoppable
	case stopped != nil:
		return stopped
	case lost != nil:
		return lost
	}
	if found {
		_, err = io.WriteString(out, r.newLine()+"[stopped what the command had left running in the background]\n")
	}
	return errors.Join(verdict(r.cmd.ProcessState), err)
}

// await returns nil when the command has ended by itself, or why it must be
// stopped.
func (r *running) await(ctx context.Context, stopping <-chan struct{}, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	copied := r.copied
	for {
		select {
		case <-r.exited:
			return nil
		case <-ctx.Done():
			return errCommandStopped
		case <-stopping:
			return errShuttingDown
		case <-timer.C:
			return fmt.Errorf("the command did not end within %s and was stopped", secondsText(limit))
		case <-copied:
			if r.copyErr != nil {
				return fmt.Errorf("the command was stopped, for its output could not be kept: %w", r.copyErr)
			}
			// It has closed its output and goes on.
			copied = nil
		}
	}
}

// settle gives what the command left behind a moment to end.
func (r *running) settle() {
	r.wait(settleTime, func() bool { return !r.processes.running() })
}

// end makes sure that nothing of the command runs, and reports whether anything
// did.
func (r *running) end() bool {
	if !r.processes.running() {
		r.wait(killTime, r.hasExited)
		return false
	}
	r.processes.ask()
	if !r.wait(politeTime, r.gone) {
		r.wait(killTime, func() bool {
			r.processes.kill()
			return r.gone()
		})
	}
	return true
}

func (r *running) gone() bool { return r.hasExited() && !r.processes.running() }

func (r *running) hasExited() bool {
	select {
	case <-r.exited:
		return true
	default:
		return false
	}
}

// wait looks until done says so, and reports whether it did in time.
func (r *running) wait(most time.Duration, done func() bool) bool {
	if done() {
		return true
	}
	timer, ticker := time.NewTimer(most), time.NewTicker(lookEvery)
	defer timer.Stop()
	defer ticker.Stop()
	for {
		select {
		case <-timer.C:
			return done()
		case <-ticker.C:
			if done() {
				return true
			}
		}
	}
}

// drain waits until all that the command wrote is copied. A process that could
// not be found may hold the other end open; it is not waited for.
func (r *running) drain() error {
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-r.copied:
	case <-timer.C:
		r.output.Close()
		<-r.copied
	}
	if r.copyErr != nil && !errors.Is(r.copyErr, os.ErrClosed) {
		return fmt.Errorf("the end of the command's output could not be kept: %w", r.copyErr)
	}
	return nil
}
