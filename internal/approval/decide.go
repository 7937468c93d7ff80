package approval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// Decide answers a request, for whoever may: that is the caller's to know. It
// returns nil once the decision is durable, and also when the request had been
// decided the same way before: the same choice, the same arguments, and no note
// but the one that was taken.
//
// Errors: ErrInvalid for a decision that makes no sense or whose arguments or
// rule can't be used; ErrUnknown; ErrDecided when anything else was first,
// the expiry too, at which a decision comes too late to the instant. When a
// rule can't be stored the decision is not taken. After any of these the request
// stays as it was. An error in storing the decision itself ends the request
// with nothing run. At the end of ctx Decide stops waiting; the decision may
// still be taken, and asking again tells.
func (d *Desk) Decide(ctx context.Context, a id.Approval, dec Decision) error {
	at := d.opt.Now()
	if err := dec.normalize(); err != nil {
		return err
	}
	d.mu.Lock()
	w := d.waiting[a]
	d.mu.Unlock()
	if w == nil {
		return d.settled(ctx, a, dec)
	}
	if err := w.check(dec); err != nil {
		return err
	}
	return w.offer(ctx, dec, at)
}

// offer hands a decision to the request and waits for the outcome.
func (w *waiting) offer(ctx context.Context, dec Decision, at time.Time) error {
	o := &offer{Decision: dec, at: at.Round(0), refused: make(chan error, 1)}
	select {
	case w.offers <- o:
	case <-w.done:
		return w.outcome(dec)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-o.refused:
		return err
	case <-w.done:
		return w.outcome(dec)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// outcome tells a decision what became of the request, which is done.
func (w *waiting) outcome(dec Decision) error {
	if w.err != nil {
		return w.err
	}
	return dec.against(*w.resolved)
}

// settled answers a decision for a request that waits no more.
func (d *Desk) settled(ctx context.Context, a id.Approval, dec Decision) error {
	info, err := d.opt.Store.Approval(ctx, a)
	if errors.Is(err, turnlog.ErrNoApproval) {
		return ErrUnknown
	}
	if err != nil {
		return fmt.Errorf("look up approval %s: %w", a, err)
	}
	if info.Decision != dec.Choice {
		return &Decided{Decision: info.Decision}
	}
	resolved, err := d.resolution(ctx, info)
	if err != nil {
		return fmt.Errorf("read what approval %s came to: %w", a, err)
	}
	return dec.against(resolved)
}

// resolution reads the record of a resolution. If that was erased since, the
// decision is all that is left of it.
func (d *Desk) resolution(ctx context.Context, info turnlog.ApprovalInfo) (event.ApprovalResolved, error) {
	known := event.ApprovalResolved{Approval: info.Approval, Decision: info.Decision}
	records, err := d.opt.Store.After(ctx, info.Conversation, info.Resolved-1, turnlog.Limit{Records: 1})
	if err != nil || len(records) == 0 || records[0].Seq != info.Resolved {
		return known, err
	}
	e, err := records[0].Event()
	if r, ok := e.(event.ApprovalResolved); ok && r.Approval == info.Approval {
		return r, err
	}
	return known, err
}

// against compares a decision with what the request came to: nil if all that it
// asks for is what happened.
func (dec Decision) against(r event.ApprovalResolved) error {
	same := dec.Choice == r.Decision && bytes.Equal(dec.Args, r.Args) && (dec.Note == "" || dec.Note == r.Note)
	if !same {
		return &Decided{Decision: r.Decision}
	}
	return nil
}

// normalize refuses what makes no sense for any request, and puts the
// arguments on one line, as the log keeps them.
func (dec *Decision) normalize() error {
	switch dec.Choice {
	case event.DecisionAllow, event.DecisionAlways, event.DecisionDeny:
	default:
		return &invalid{"the decision must be allow, always or deny"}
	}
	if len(dec.Note) > MaxNote || !utf8.ValidString(dec.Note) {
		return &invalid{fmt.Sprintf("the note must be text of at most %d bytes", MaxNote)}
	}
	if dec.Args == nil {
		return nil
	}
	if dec.Choice != event.DecisionAllow {
		return &invalid{"only allow may change the arguments"}
	}
	var line bytes.Buffer
	if len(dec.Args) > MaxArgs || !utf8.Valid(dec.Args) || json.Compact(&line, dec.Args) != nil || line.Bytes()[0] != '{' {
		return &invalid{fmt.Sprintf("the arguments must be a JSON object of at most %d bytes", MaxArgs)}
	}
	dec.Args = line.Bytes()
	return nil
}

// check refuses what this request can't be answered with.
func (w *waiting) check(dec Decision) error {
	if dec.Choice == event.DecisionAlways && w.noRule != nil {
		return w.noRule
	}
	if dec.Args == nil || w.call.Check == nil {
		return nil
	}
	if err := w.call.Check(dec.Args); err != nil {
		return &invalid{fmt.Sprintf("the changed arguments can't be used: %v", err)}
	}
	return nil
}
