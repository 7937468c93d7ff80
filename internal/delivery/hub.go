package delivery

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/surface"
	"verbatim/internal/turnlog"
)

// Log is what delivery reads.
type Log interface {
	After(ctx context.Context, c id.Conversation, after int64, limit turnlog.Limit) ([]event.Record, error)
	Watch(c id.Conversation) *turnlog.Watcher
	Run(ctx context.Context, r id.Run) (turnlog.RunInfo, error)
}

// Endpoint is a configured surface.
type Endpoint struct {
	Surface surface.Surface
	Policy  Policy
}

// Options are what a Hub is built of. All but Now and Logger are required.
type Options struct {
	Log       Log
	Store     Store
	Endpoints map[string]Endpoint
	// ReadBlob returns the bytes of a file.
	ReadBlob func(blob string) ([]byte, error)
	// Mint makes ids of posts.
	Mint func() string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger takes what people don't see; nil discards it.
	Logger *slog.Logger
}

// Hub runs the lanes: one goroutine for each chat, which reads the log, asks the
// lane what is next, stores it, makes the call, and stores what it came to. Safe
// for concurrent use.
type Hub struct {
	opt       Options
	governors map[string]*Governor

	mu      sync.Mutex
	runners map[Address]*runner
	stopped bool
	wg      sync.WaitGroup
	// quit is closed when no call is begun any more; ctx ends those under way.
	quit   chan struct{}
	ctx    context.Context
	cancel context.CancelFunc
}

// New returns a hub that does nothing yet.
func New(opt Options) *Hub {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Hub{opt: opt, governors: map[string]*Governor{}, runners: map[Address]*runner{}, quit: make(chan struct{})}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	for name, e := range opt.Endpoints {
		h.governors[name] = NewGovernor(e.Surface.Caps().PerToken)
	}
	return h
}

// Start takes up every chat that has something bound.
func (h *Hub) Start(ctx context.Context) error {
	all, err := h.opt.Store.Addresses(ctx)
	if err != nil {
		return fmt.Errorf("read what chats show: %w", err)
	}
	for _, a := range all {
		h.runner(a)
	}
	return nil
}

// Stop begins no call any more and waits for those under way; when ctx ends first
// they are cut off, and what they came to is unknown until the next start. Nothing
// is lost by either.
func (h *Hub) Stop(ctx context.Context) {
	h.mu.Lock()
	if !h.stopped {
		h.stopped = true
		close(h.quit)
	}
	h.mu.Unlock()
	done := make(chan struct{})
	go func() {
		h.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	h.cancel()
	<-done
}

// runner returns the goroutine of a chat, and starts it if there is none. It is nil
// where nothing can be shown: the surface is not configured any more, takes no
// messages, or the hub has stopped.
func (h *Hub) runner(a Address) *runner {
	e, ok := h.opt.Endpoints[a.Surface]
	if !ok || e.Surface.Caps().Mute {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return nil
	}
	r := h.runners[a]
	if r == nil {
		r = &runner{hub: h, at: a, end: e, wake: make(chan struct{}, 1), watches: map[id.Conversation]*watch{}}
		h.runners[a] = r
		h.wg.Go(r.run)
	}
	return r
}

// Bind shows a conversation in a chat from its present head on; see Store.Bind.
func (h *Hub) Bind(ctx context.Context, a Address, c id.Conversation) (Binding, error) {
	before, had, err := h.opt.Store.Bound(ctx, a)
	if err != nil {
		return Binding{}, err
	}
	b, err := h.opt.Store.Bind(ctx, a, c)
	if err != nil {
		return Binding{}, err
	}
	if r := h.runner(a); r != nil && (!had || before.ID != b.ID) {
		r.tell(func(l *Lane) error {
			saved, err := h.opt.Store.Lane(h.ctx, a)
			if err == nil {
				l.Bind(saved.Bindings)
			}
			return err
		})
	}
	return b, nil
}

// Say posts a line of the product itself in a chat, in Markdown. It is durable on
// return. The same key for the same chat is posted once.
func (h *Hub) Say(ctx context.Context, a Address, key, text string) error {
	e, ok := h.opt.Endpoints[a.Surface]
	if !ok || e.Surface.Caps().Mute {
		return nil
	}
	b, _, err := h.opt.Store.Bound(ctx, a)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(a.Surface + "\x00" + a.Chat.ID + "\x00" + a.Chat.Thread + "\x00" + key))
	p := Placement{Post: "s_" + hex.EncodeToString(sum[:16]), Binding: b.ID, Item: "s:" + key, Part: 1, State: Planned, First: h.opt.Now()}
	rendered, _ := e.Surface.Render(text, false)
	p.Body = &surface.Post{ID: p.Post, Conversation: string(b.Conversation), Kind: surface.KindNotice, Part: 1, Text: rendered}
	fresh, err := h.opt.Store.Add(ctx, Change{Address: a, Binding: b.ID, Place: []Placement{p}})
	if err != nil || len(fresh) == 0 {
		return err
	}
	if r := h.runner(a); r != nil {
		r.tell(func(l *Lane) error { l.Say(p); return nil })
	}
	return nil
}

// Again posts once more what may be missing in a chat of the newest run of which
// anything may be, and returns how many posts that are.
func (h *Hub) Again(ctx context.Context, a Address) (int, error) {
	e, ok := h.opt.Endpoints[a.Surface]
	if !ok {
		return 0, nil
	}
	unsure, err := h.opt.Store.Unsure(ctx, a)
	if err != nil {
		return 0, err
	}
	change := Change{Address: a, Place: Repeats(unsure, e.Surface.Caps(), e.Policy, h.opt.Now())}
	if len(change.Place) == 0 {
		return 0, nil
	}
	if err := h.opt.Store.Save(ctx, change); err != nil {
		return 0, err
	}
	if r := h.runner(a); r != nil {
		r.tell(func(l *Lane) error {
			l.Revive()
			for _, p := range change.Place {
				l.Say(p)
			}
			return nil
		})
	}
	return len(change.Place), nil
}

// Revive says that something came from a chat: it is not closed to us.
func (h *Hub) Revive(a Address) {
	if r := h.runner(a); r != nil {
		r.tell(func(l *Lane) error { l.Revive(); return nil })
	}
}
