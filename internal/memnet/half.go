package memnet

import (
	"os"
	"sync"
	"time"
)

// half is one direction of a connection. Waiting is on a condition variable,
// which is what synctest can see.
type half struct {
	mu     sync.Mutex
	change *sync.Cond
	buf    []byte
	max    int
	// readErr is what a reader gets behind the buffer, writeErr what a
	// writer gets at once; nil while the direction is open.
	readErr, writeErr error
	reads, writes     deadline
}

func newHalf(buffer int) *half {
	h := &half{max: buffer}
	h.change = sync.NewCond(&h.mu)
	return h
}

func (h *half) read(b []byte, wait bool) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.reads.passed():
			return 0, os.ErrDeadlineExceeded
		case len(h.buf) > 0:
			n := copy(b, h.buf)
			h.buf = h.buf[n:]
			h.change.Broadcast()
			return n, nil
		case h.readErr != nil:
			return 0, h.readErr
		case !wait || len(b) == 0:
			return 0, nil
		}
		h.change.Wait()
	}
}

func (h *half) write(b []byte, wait bool) (n int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.writeErr != nil:
			return n, h.writeErr
		case h.writes.passed():
			return n, os.ErrDeadlineExceeded
		}
		if room := min(h.max-len(h.buf), len(b)-n); room > 0 {
			h.buf = append(h.buf, b[n:n+room]...)
			n += room
			h.change.Broadcast()
		}
		if n == len(b) || !wait {
			return n, nil
		}
		h.change.Wait()
	}
}

// end makes reads return err, behind what is buffered or at once. The first
// end counts, but one at once also drops the buffer.
func (h *half) end(err error, atOnce bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if atOnce {
		h.buf = nil
		h.readErr = err
	}
	if h.readErr == nil {
		h.readErr = err
	}
	h.change.Broadcast()
}

// endWrites makes writes return err; the first end counts.
func (h *half) endWrites(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.writeErr == nil {
		h.writeErr = err
	}
	h.change.Broadcast()
}

func (h *half) len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.buf)
}

func (h *half) setReadDeadline(t time.Time) error  { return h.set(&h.reads, t) }
func (h *half) setWriteDeadline(t time.Time) error { return h.set(&h.writes, t) }

// deadline is the time from which one side's calls fail. The clock decides, and
// not the timer: of two timers for the same instant one fires first.
type deadline struct {
	at    time.Time // zero: none
	timer *time.Timer
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func (h *half) set(d *deadline, t time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.at = t
	h.change.Broadcast()
	if t.IsZero() || d.passed() {
		return nil
	}
	// Late after a new deadline it wakes whoever waits for nothing.
	d.timer = time.AfterFunc(time.Until(t), func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.change.Broadcast()
	})
	return nil
}
