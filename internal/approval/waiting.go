package approval

import (
	"context"
	"errors"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// waiting is a request on the desk. The goroutine in Ask owns it: decisions are
// handed to it one at a time, so exactly one of them, the expiry or the stop
// is first.
type waiting struct {
	approval id.Approval
	call     Call
	expires  time.Time
	order    int64
	// rule is what always would make, unless noRule says why it can't.
	rule   Rule
	noRule error

	shown  bool // the desk's lock guards it
	offers chan *offer
	// done is closed at the end; after that either err or resolved is set.
	done     chan struct{}
	err      error
	resolved *event.ApprovalResolved
}

// offer is a decision on its way to the request.
type offer struct {
	Decision
	at time.Time // when it came
	// refused gets the reason if the decision can't be taken, and the request
	// then waits on; it has room for it.
	refused chan error
}

// end is what a request came to.
type end struct {
	resolved event.ApprovalResolved
	rule     string // the rule that was made, empty for none
}

func (e end) verdict() Verdict {
	r := e.resolved
	return Verdict{
		Allowed:  r.Decision == event.DecisionAllow || r.Decision == event.DecisionAlways,
		Decision: r.Decision, Approval: r.Approval, Args: r.Args, Note: r.Note,
	}
}

// wait returns how the request ends.
func (d *Desk) wait(ctx context.Context, w *waiting) end {
	timer := time.NewTimer(w.expires.Sub(d.opt.Now()))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return w.cancelled(ctx)
		case o := <-w.offers:
			if e, ok := d.take(ctx, w, o); ok {
				return e
			}
		case <-timer.C:
			return d.late(ctx, w)
		}
	}
}

// late is wait after the timer has fired: a decision that came before the
// expiry and is only taken now still counts.
func (d *Desk) late(ctx context.Context, w *waiting) end {
	for {
		select {
		case o := <-w.offers:
			if e, ok := d.take(ctx, w, o); ok {
				return e
			}
		default:
			return w.ended(event.DecisionExpired, "system", event.Via{Surface: "system"})
		}
	}
}

// take looks at a decision; false when the request waits on without it.
func (d *Desk) take(ctx context.Context, w *waiting, o *offer) (end, bool) {
	if over(ctx) {
		return w.cancelled(ctx), true
	}
	if !o.at.Before(w.expires) {
		return w.ended(event.DecisionExpired, "system", event.Via{Surface: "system"}), true
	}
	e := w.ended(o.Choice, o.By, o.Via)
	e.resolved.Args, e.resolved.Note = o.Args, o.Note
	if o.Choice != event.DecisionAlways {
		return e, true
	}
	var err error
	if e.rule, err = d.makeRule(ctx, w, o); err != nil {
		o.refused <- err
		return end{}, false
	}
	return e, true
}

func over(ctx context.Context) bool { return ctx.Err() != nil }

func (w *waiting) ended(how event.Decision, by string, via event.Via) end {
	return end{resolved: event.ApprovalResolved{Approval: w.approval, Decision: how, By: by, Via: via}}
}

// cancelled is the end of a request whose run was stopped, by whom the cause
// of the stop names.
func (w *waiting) cancelled(ctx context.Context) end {
	var stop interface{ By() (string, event.Via) }
	if !errors.As(context.Cause(ctx), &stop) {
		return w.ended(event.DecisionCancelled, "system", event.Via{Surface: "system"})
	}
	by, via := stop.By()
	return w.ended(event.DecisionCancelled, by, via)
}
