package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/approval"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

var errDisk = errors.New("the disk said no")

// world is a desk with a log and rules in memory.
type world struct {
	desk *approval.Desk

	mu      sync.Mutex
	mode    approval.Mode
	timeout time.Duration
	records []event.Record // of all conversations, each numbered for itself
	refuse  event.Kind     // records of this kind fail
	rules   []approval.Rule
	broken  bool // rules can't be read or written
}

func newWorld() *world {
	w := &world{mode: approval.ModeAsk, timeout: 60 * time.Second}
	n := 0
	w.desk = approval.New(approval.Options{
		Store: w, Rules: w,
		Policy: func(context.Context) (approval.Mode, time.Duration) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.mode, w.timeout
		},
		Mint: id.Mint{Text: func() string {
			w.mu.Lock()
			defer w.mu.Unlock()
			n++
			return fmt.Sprintf("%026d", n)
		}},
	})
	return w
}

func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *world) Approval(_ context.Context, a id.Approval) (turnlog.ApprovalInfo, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	info := turnlog.ApprovalInfo{Approval: a}
	for _, r := range w.records {
		switch e, _ := r.Event(); e := e.(type) {
		case event.ApprovalRequest:
			if e.Approval == a {
				info.Conversation, info.Run, info.Seq = r.Conversation, r.Run, r.Seq
			}
		case event.ApprovalResolved:
			if e.Approval == a {
				info.Resolved, info.Decision = r.Seq, e.Decision
			}
		}
	}
	if info.Seq == 0 {
		return turnlog.ApprovalInfo{}, turnlog.ErrNoApproval
	}
	return info, nil
}

func (w *world) After(_ context.Context, c id.Conversation, after int64, limit turnlog.Limit) ([]event.Record, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []event.Record
	for _, r := range w.records {
		if r.Conversation == c && r.Seq > after && len(out) < limit.Records {
			out = append(out, r)
		}
	}
	return out, nil
}

func (w *world) Rules(context.Context) ([]approval.Rule, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken {
		return nil, errDisk
	}
	return slices.Clone(w.rules), nil
}

func (w *world) AddRule(_ context.Context, r approval.Rule) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken {
		return errDisk
	}
	same := func(o approval.Rule) bool {
		return o.Tool == r.Tool && o.Exact == r.Exact && slices.Equal(o.Words, r.Words)
	}
	if !slices.ContainsFunc(w.rules, same) {
		w.rules = append(w.rules, r)
	}
	return nil
}

func (w *world) RemoveRule(_ context.Context, name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.rules)
	w.rules = slices.DeleteFunc(w.rules, func(r approval.Rule) bool { return r.ID == name })
	if len(w.rules) == n {
		return approval.ErrNoRule
	}
	return nil
}

// record is how Ask stores events of a call's run.
func (w *world) record(c approval.Call) func(event.Event) error {
	return func(e event.Event) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.refuse == e.Kind() {
			return errDisk
		}
		r, err := event.NewRecord(c.Conversation, c.Run, c.Message, e)
		if err != nil {
			return err
		}
		r.Seq = 1
		for _, o := range w.records {
			if o.Conversation == c.Conversation {
				r.Seq++
			}
		}
		w.records = append(w.records, r)
		return nil
	}
}

// resolutions are the recorded ends of requests, in order.
func (w *world) resolutions() []event.ApprovalResolved {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []event.ApprovalResolved
	for _, r := range w.records {
		if e, _ := r.Event(); e != nil {
			if e, ok := e.(event.ApprovalResolved); ok {
				out = append(out, e)
			}
		}
	}
	return out
}

// asked is an Ask under way.
type asked struct {
	id      id.Approval
	done    chan struct{}
	stop    context.CancelCauseFunc
	verdict approval.Verdict
	err     error
}

func (a *asked) over() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// ask begins an Ask and returns when it waits or has returned. Inside a bubble
// only.
func (w *world) ask(t *testing.T, c approval.Call) *asked {
	t.Helper()
	known := len(w.desk.Pending())
	ctx, stop := context.WithCancelCause(t.Context())
	a := &asked{done: make(chan struct{}), stop: stop}
	go func() {
		defer close(a.done)
		a.verdict, a.err = w.desk.Ask(ctx, c, w.record(c))
	}()
	synctest.Wait()
	if list := w.desk.Pending(); len(list) > known {
		a.id = list[len(list)-1].Approval
	}
	return a
}

// settled returns the verdict of an Ask that must be over by now.
func (a *asked) settled(t *testing.T) approval.Verdict {
	t.Helper()
	synctest.Wait()
	if !a.over() {
		t.Fatalf("the request %s still waits", a.id)
	}
	return a.verdict
}

func (w *world) decide(t *testing.T, a id.Approval, choice event.Decision) error {
	t.Helper()
	return w.desk.Decide(t.Context(), a, approval.Decision{Choice: choice, By: "owner", Via: event.Via{Surface: "test"}})
}

func command(run, line string) approval.Call {
	args, _ := json.Marshal(map[string]string{"command": line})
	return approval.Call{
		Conversation: id.Conversation("c_" + run), Run: id.Run(run), Message: "m_1", Call: "call_1",
		Name: "run_command", Args: args, Risk: event.RiskHigh, Reason: "runs " + line, Command: line,
	}
}

func write(run, path string) approval.Call {
	args, _ := json.Marshal(map[string]string{"path": path, "content": ""})
	return approval.Call{
		Conversation: id.Conversation("c_" + run), Run: id.Run(run), Message: "m_1", Call: "call_1",
		Name: "write_file", Args: args, Risk: event.RiskMedium, Reason: "writes " + path,
	}
}
