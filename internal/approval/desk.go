package approval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// Store tells what became of requests that wait no more; *turnlog.Log does.
type Store interface {
	Approval(ctx context.Context, a id.Approval) (turnlog.ApprovalInfo, error)
	After(ctx context.Context, c id.Conversation, after int64, limit turnlog.Limit) ([]event.Record, error)
}

// Options are what a Desk works with. Store, Rules and Policy are required.
type Options struct {
	Store Store
	Rules RuleStore
	// Policy returns the mode that counts now and how long a request waits.
	// It is asked for each call, so a changed setting counts from the next
	// one on; what waits keeps its own expiry. A timeout of 0 means
	// DefaultTimeout, others are held between MinTimeout and MaxTimeout.
	Policy func(ctx context.Context) (Mode, time.Duration)
	// Mint makes the ids of requests.
	Mint id.Mint
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger takes what people don't see; nil discards it.
	Logger *slog.Logger
}

// Desk is where calls wait for people. It starts no goroutine: a request lives
// as long as its Ask. Safe for concurrent use.
type Desk struct {
	opt Options

	mu      sync.Mutex
	waiting map[id.Approval]*waiting
	asked   int64 // requests so far, for their order
}

// New returns a desk where nothing waits.
func New(opt Options) *Desk {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	return &Desk{opt: opt, waiting: map[id.Approval]*waiting{}}
}

// Ask returns once it is known whether the call may run: at once when its risk,
// the mode or a rule says so, otherwise after a person's decision, the expiry
// or the end of ctx, whichever is first. Silence and the end of ctx mean deny;
// the latter is recorded as the doing of whoever its cause names with a method
// By() (string, event.Via). An end of ctx before the question was asked asks
// nothing and records nothing.
//
// record stores an event of the call's run and returns when it is committed,
// or with an error when it never will be. Ask records an ApprovalRequest and,
// once that ended, an ApprovalResolved; it returns, and those who decided are
// told, only after. On an error of record the verdict is deny, and they are told
// of the error: nothing may run.
//
// A verdict of allow says what was decided, not that the run still goes on: the
// caller looks at ctx again before it acts.
func (d *Desk) Ask(ctx context.Context, call Call, record func(event.Event) error) (Verdict, error) {
	mode, timeout := d.opt.Policy(ctx)
	if over(ctx) {
		return Verdict{Decision: event.DecisionCancelled, Mode: mode}, nil
	}
	if !mode.asks(call.Risk) {
		return Verdict{Allowed: true, Mode: mode}, nil
	}
	if rule, ok := d.covered(ctx, call); ok {
		return Verdict{Allowed: true, Mode: mode, Rule: rule}, nil
	}
	v, err := d.ask(ctx, d.open(call, bounded(timeout)), record)
	v.Mode = mode
	return v, err
}

// bounded is how long a request waits when a setting says t.
func bounded(t time.Duration) time.Duration {
	if t == 0 {
		return DefaultTimeout
	}
	return min(max(t, MinTimeout), MaxTimeout)
}

// ask takes an open request to its end.
func (d *Desk) ask(ctx context.Context, w *waiting, record func(event.Event) error) (Verdict, error) {
	defer d.shut(w)
	denied := Verdict{Approval: w.approval}
	if err := record(w.request()); err != nil {
		w.err = fmt.Errorf("store the request for approval, so the call did not run: %w", err)
		return denied, w.err
	}
	d.show(w)
	end := d.wait(ctx, w)
	if err := record(end.resolved); err != nil {
		w.err = fmt.Errorf("store the decision, so the call did not run: %w", err)
		d.unmake(ctx, end)
		return denied, w.err
	}
	w.resolved = &end.resolved
	return end.verdict(), nil
}

// open registers a request before anybody can hear of it, so that whoever sees
// it can answer at once.
func (d *Desk) open(call Call, timeout time.Duration) *waiting {
	w := &waiting{
		approval: d.opt.Mint.Approval(), call: call,
		// The log keeps whole milliseconds. Without the monotonic reading this
		// is the instant that people are shown, also after the machine slept.
		expires: d.opt.Now().Add(timeout).UTC().Truncate(time.Millisecond),
		offers:  make(chan *offer), done: make(chan struct{}),
	}
	w.rule, w.noRule = ruleFor(call)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	w.order = d.asked
	d.waiting[w.approval] = w
	return w
}

// show lists a request whose record is durable.
func (d *Desk) show(w *waiting) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.shown = true
}

// shut takes a request off the desk and tells all who decided. Its resolution
// is durable by now, so those who come later find it in the log.
func (d *Desk) shut(w *waiting) {
	if w.err == nil && w.resolved == nil {
		w.err = errors.New("the run ended in the middle of a decision; the call did not run")
	}
	d.mu.Lock()
	delete(d.waiting, w.approval)
	d.mu.Unlock()
	close(w.done)
}

// Pending returns the requests that wait, oldest first. A request is in it from
// the commit of its request to that of its resolution.
func (d *Desk) Pending() []Pending {
	d.mu.Lock()
	var shown []*waiting
	for _, w := range d.waiting {
		if w.shown {
			shown = append(shown, w)
		}
	}
	d.mu.Unlock()
	slices.SortFunc(shown, func(a, b *waiting) int { return cmp.Compare(a.order, b.order) })
	list := make([]Pending, len(shown))
	for i, w := range shown {
		list[i] = w.pending()
	}
	return list
}

func (w *waiting) pending() Pending {
	c := w.call
	return Pending{
		Approval: w.approval, Conversation: c.Conversation, Run: c.Run, Message: c.Message, Call: c.Call,
		Name: c.Name, Args: slices.Clone(c.Args), Risk: c.Risk, Reason: c.Reason, ExpiresAt: w.expires,
		Always: w.noRule == nil, Words: slices.Clone(w.rule.Words), Exact: w.rule.Exact,
	}
}

func (w *waiting) request() event.ApprovalRequest {
	c := w.call
	args := c.Args
	if args == nil {
		args = json.RawMessage("null")
	}
	return event.ApprovalRequest{
		Approval: w.approval, Call: c.Call, Name: c.Name, Args: args, Risk: c.Risk, Reason: c.Reason, ExpiresAt: w.expires,
	}
}
