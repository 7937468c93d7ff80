package openai

import (
	"context"
	"errors"
	"io"
	"time"

	"verbatim/internal/llm"
)

var errIdle = errors.New("idle for too long")

// watch reads a body and cancels the request when it has been silent for too
// long. Its context is the request's.
type watch struct {
	parent context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   time.Duration
	body   io.Reader
}

// newWatch begins to watch. stop must be called; it closes the connection if
// the body was not read to its end.
func newWatch(parent context.Context, idle time.Duration) *watch {
	w := &watch{parent: parent, idle: idle}
	w.ctx, w.cancel = context.WithCancelCause(parent)
	w.timer = time.AfterFunc(idle, func() { w.cancel(errIdle) })
	return w
}

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(context.Canceled)
}

// touch begins the wait anew.
func (w *watch) touch() { w.timer.Reset(w.idle) }

// shorten bounds every further wait.
func (w *watch) shorten(idle time.Duration) {
	w.idle = min(w.idle, idle)
	w.touch()
}

// Read reads the body. The wait runs while it reads, not while what was read
// is being used.
func (w *watch) Read(p []byte) (int, error) {
	w.touch()
	n, err := w.body.Read(p)
	w.timer.Stop()
	return n, err
}

// explain returns what an error of the request or its body was: the caller's
// own context, silence, or what otherwise says.
func (w *watch) explain(err error, otherwise func(error) *llm.Failure) error {
	if cause := w.parent.Err(); cause != nil {
		return cause
	}
	if errors.Is(context.Cause(w.ctx), errIdle) {
		return silent(w.idle)
	}
	return otherwise(err)
}
