package delivery

import (
	"errors"
	"sync"
	"time"

	"verbatim/internal/id"
	"verbatim/internal/surface"
	"verbatim/internal/turnlog"
)

// runner is one chat's goroutine.
type runner struct {
	hub  *Hub
	at   Address
	end  Endpoint
	wake chan struct{}

	mu   sync.Mutex
	mail []func(*Lane) error

	watches map[id.Conversation]*watch
}

// watch follows a conversation until stop is closed.
type watch struct {
	watcher *turnlog.Watcher
	stop    chan struct{}
}

func (w *watch) close() {
	close(w.stop)
	w.watcher.Close()
}

// tell has the lane changed by its own goroutine.
func (r *runner) tell(f func(*Lane) error) {
	r.mu.Lock()
	r.mail = append(r.mail, f)
	r.mu.Unlock()
	r.poke()
}

func (r *runner) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

var errQuit = errors.New("delivery stops")

func (r *runner) run() {
	defer r.unwatch()
	defer r.governor().Leave(r)
	if err := r.serve(); !errors.Is(err, errQuit) {
		r.hub.opt.Logger.Error("a chat is not served any more", "surface", r.at.Surface, "chat", r.at.Chat.ID, "err", err)
	}
}

func (r *runner) governor() *Governor { return r.hub.governors[r.at.Surface] }

// serve returns why it ended.
func (r *runner) serve() error {
	lane, err := r.load()
	if err != nil {
		return err
	}
	for {
		if err := r.retry(func() error { return r.read(lane) }); err != nil {
			return err
		}
		if err := r.step(lane); err != nil {
			return err
		}
	}
}

// load takes up what is stored.
func (r *runner) load() (lane *Lane, err error) {
	h := r.hub
	cfg := Config{
		Address: r.at, Caps: r.end.Surface.Caps(), Policy: r.end.Policy, Render: r.end.Surface.Render,
		Mint: h.opt.Mint, Start: h.opt.Store.Start(),
	}
	if reader, ok := r.end.Surface.(surface.Reader); ok {
		cfg.Same = reader.Same
	}
	err = r.retry(func() error {
		saved, err := h.opt.Store.Lane(h.ctx, r.at)
		if err != nil {
			return err
		}
		var change Change
		lane, change = NewLane(cfg, saved)
		if len(change.Place) == 0 {
			return nil
		}
		return h.opt.Store.Save(h.ctx, change)
	})
	return lane, err
}

// retry does something until it succeeds; it gives up when the hub quits or a later
// start owns the lanes.
func (r *runner) retry(f func() error) error {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := f()
		if err == nil || errors.Is(err, ErrFenced) {
			return err
		}
		r.hub.opt.Logger.Warn("delivery waits", "surface", r.at.Surface, "chat", r.at.Chat.ID, "err", err)
		select {
		case <-time.After(wait):
		case <-r.hub.quit:
			return errQuit
		}
	}
}

// read gives the lane its mail and all records that there are.
func (r *runner) read(lane *Lane) error {
	r.mu.Lock()
	mail := r.mail
	r.mail = nil
	r.mu.Unlock()
	for i, f := range mail {
		if err := f(lane); err != nil {
			r.mu.Lock()
			r.mail = append(mail[i:], r.mail...)
			r.mu.Unlock()
			return err
		}
	}
	readings := lane.Readings()
	r.watch(readings)
	for _, at := range readings {
		for {
			records, err := r.hub.opt.Log.After(r.hub.ctx, at.Conversation, at.After, turnlog.Limit{})
			if err != nil {
				return err
			}
			if len(records) == 0 {
				break
			}
			lane.Feed(at.Binding, records)
			at.After = records[len(records)-1].Seq
		}
	}
	return nil
}

// watch follows exactly the conversations that the lane reads.
func (r *runner) watch(readings []Reading) {
	wanted := map[id.Conversation]bool{}
	for _, at := range readings {
		wanted[at.Conversation] = true
		if r.watches[at.Conversation] != nil {
			continue
		}
		w := &watch{watcher: r.hub.opt.Log.Watch(at.Conversation), stop: make(chan struct{})}
		r.watches[at.Conversation] = w
		r.hub.wg.Go(func() {
			for {
				select {
				case <-w.watcher.C:
					r.poke()
				case <-w.stop:
					return
				}
			}
		})
	}
	for c, w := range r.watches {
		if !wanted[c] {
			w.close()
			delete(r.watches, c)
		}
	}
}

func (r *runner) unwatch() {
	for _, w := range r.watches {
		w.close()
	}
}

// step does the next thing, or waits for it.
func (r *runner) step(lane *Lane) error {
	h := r.hub
	now := h.opt.Now()
	op := lane.Next(now)
	if op.Kind == OpWait {
		r.governor().Leave(r)
		return r.rest(op.Until, now)
	}
	select {
	case <-h.quit:
		return errQuit
	default:
	}
	if op.Kind != OpStore {
		if until, ok := r.governor().Take(r, op.Priority, now); !ok {
			return r.rest(until, now)
		}
	}
	if err := r.save(lane.Begin(op, now)); err != nil {
		return err
	}
	if op.Kind == OpStore {
		lane.Stored()
		return nil
	}
	return r.save(r.call(lane, op))
}

// rest waits for a time, for records, for mail, or for the end.
func (r *runner) rest(until, now time.Time) error {
	var timer <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(max(until.Sub(now), 0))
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-r.wake:
	case <-timer:
	case <-r.hub.quit:
		return errQuit
	}
	return nil
}

// save stores a change, however long that takes: what was done can't be undone.
func (r *runner) save(c Change) error {
	if len(c.Place) == 0 && c.Pace == nil && c.Done == 0 && len(c.Runs) == 0 {
		return nil
	}
	return r.retry(func() error { return r.hub.opt.Store.Save(r.hub.ctx, c) })
}
