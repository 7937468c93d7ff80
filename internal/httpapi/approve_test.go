package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/approval"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// calls are tool calls that ask at a real desk, and the log of what became of
// them.
type calls struct {
	desk *approval.Desk
	all  sync.WaitGroup

	mu       sync.Mutex
	resolved map[id.Approval]event.ApprovalResolved
	verdicts map[id.Call]approval.Verdict
	rules    []approval.Rule
}

func newCalls(timeout time.Duration) *calls {
	c := &calls{resolved: map[id.Approval]event.ApprovalResolved{}, verdicts: map[id.Call]approval.Verdict{}}
	c.desk = approval.New(approval.Options{Store: c, Rules: c, Policy: func(context.Context) (approval.Mode, time.Duration) {
		return approval.ModeAsk, timeout
	}})
	return c
}

func (c *calls) Approval(_ context.Context, a id.Approval) (turnlog.ApprovalInfo, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.resolved[a]
	if !ok {
		return turnlog.ApprovalInfo{}, turnlog.ErrNoApproval
	}
	return turnlog.ApprovalInfo{Approval: a, Seq: 1, Resolved: 2, Decision: r.Decision}, nil
}

func (c *calls) After(context.Context, id.Conversation, int64, turnlog.Limit) ([]event.Record, error) {
	return nil, nil
}

func (c *calls) Rules(context.Context) ([]approval.Rule, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rules, nil
}

func (c *calls) AddRule(_ context.Context, r approval.Rule) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rules = append(c.rules, r)
	return nil
}

func (c *calls) RemoveRule(context.Context, string) error { return approval.ErrNoRule }

func (c *calls) record(e event.Event) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := e.(event.ApprovalResolved); ok {
		c.resolved[r.Approval] = r
	}
	return nil
}

// ask lets a call ask, and returns the id of its request once that waits.
func (c *calls) ask(call id.Call) id.Approval {
	c.all.Go(func() {
		v, err := c.desk.Ask(context.Background(), approval.Call{
			Conversation: "c1", Run: "r1", Call: call, Name: "write_file", Args: json.RawMessage(`{}`), Risk: event.RiskMedium,
		}, c.record)
		c.mu.Lock()
		defer c.mu.Unlock()
		if err == nil {
			c.verdicts[call] = v
		}
	})
	synctest.Wait()
	all := c.desk.Pending()
	return all[len(all)-1].Approval
}

// ended tells the verdicts so far, by the names of the calls.
func (c *calls) ended() map[id.Call]event.Decision {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[id.Call]event.Decision{}
	for call, v := range c.verdicts {
		out[call] = v.Decision
		if v.Allowed != (v.Decision == event.DecisionAllow || v.Decision == event.DecisionAlways) {
			out[call] = "the verdict contradicts itself"
		}
	}
	return out
}

func (c *calls) want(t *testing.T, want map[id.Call]event.Decision) {
	t.Helper()
	if diff := cmp.Diff(want, c.ended()); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
}

// atDesk runs a test with an API before a real desk, in time that does not pass
// by itself.
func atDesk(t *testing.T, timeout time.Duration, test func(t *testing.T, c *calls, api *API)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCalls(timeout)
		_, api := newWorld(t, func(o *Options) { o.Approvals = c.desk })
		test(t, c, api)
		for _, p := range c.desk.Pending() {
			if err := c.desk.Decide(t.Context(), p.Approval, approval.Decision{Choice: event.DecisionDeny}); err != nil {
				t.Error(err)
			}
		}
		c.all.Wait()
	})
}

func choose(a id.Approval, choice string) ask {
	return post("/approve/"+string(a), `{"choice":"`+choice+`"}`)
}

func wantOK(t *testing.T, api *API, a ask) {
	t.Helper()
	if rec := a.of(api); rec.Code != 200 || rec.Body.String() != `{"ok":true}`+"\n" {
		t.Errorf("answer = %d %s", rec.Code, rec.Body)
	}
}

func TestH1DecisionReachesItsOwnCall(t *testing.T) {
	atDesk(t, time.Minute, func(t *testing.T, c *calls, api *API) {
		first, second := c.ask("k1"), c.ask("k2")
		wantOK(t, api, choose(second, "allow"))
		c.want(t, map[id.Call]event.Decision{"k2": event.DecisionAllow})
		wantError(t, choose("a9", "allow").of(api), Missing)
		c.want(t, map[id.Call]event.Decision{"k2": event.DecisionAllow})
		wantOK(t, api, choose(first, "deny"))
		c.want(t, map[id.Call]event.Decision{"k1": event.DecisionDeny, "k2": event.DecisionAllow})
		if got := c.resolved[first]; got.By != owner || got.Via.Surface != "api" {
			t.Errorf("decided by %q at %q", got.By, got.Via.Surface)
		}
	})
}

func TestH4OneExpiryAndFirstDecision(t *testing.T) {
	atDesk(t, time.Minute, func(t *testing.T, c *calls, api *API) {
		asked := c.ask("k1")
		time.Sleep(59 * time.Second)
		c.want(t, map[id.Call]event.Decision{})
		time.Sleep(2 * time.Second)
		c.want(t, map[id.Call]event.Decision{"k1": event.DecisionExpired})
		for _, late := range []string{"allow", "always", "deny"} {
			wantError(t, choose(asked, late).of(api), Missing)
		}
		c.want(t, map[id.Call]event.Decision{"k1": event.DecisionExpired})

		denied := c.ask("k2")
		wantOK(t, api, choose(denied, "deny"))
		time.Sleep(50 * time.Millisecond)
		wantOK(t, api, choose(denied, "deny"))
		wantError(t, choose(denied, "allow").of(api), Missing)
		c.want(t, map[id.Call]event.Decision{"k1": event.DecisionExpired, "k2": event.DecisionDeny})
	})
}

func TestAlwaysMakesARule(t *testing.T) {
	atDesk(t, time.Minute, func(t *testing.T, c *calls, api *API) {
		wantOK(t, api, choose(c.ask("k1"), "always"))
		c.want(t, map[id.Call]event.Decision{"k1": event.DecisionAlways})
		if len(c.rules) != 1 || c.rules[0].Tool != "write_file" {
			t.Errorf("rules = %v", c.rules)
		}
	})
}

func TestStrangeDecisionsDecideNothing(t *testing.T) {
	atDesk(t, time.Minute, func(t *testing.T, c *calls, api *API) {
		asked := string(c.ask("k1"))
		for _, body := range []string{
			`{}`, `{"choice":null}`, `{"choice":"perhaps"}`, `{"choice":"Allow"}`, `{"choice":"allow "}`, `{"choice":""}`, `{"choice":true}`, `{"choice":["allow"]}`,
			`{"choice":"expired"}`, `{"choice":"cancelled"}`, `{"decision":"allow"}`, `{"choice":"allow","args":{"path":"b"}}`, `{"choice":"deny","choice":"allow"}`,
			`"allow"`, `["allow"]`, `null`, `allow`, `{"choice":"allow"}{}`,
		} {
			wantError(t, post("/approve/"+asked, body).of(api), Invalid)
		}
		wantError(t, on("POST", "/approve/"+asked).of(api), Invalid)
		wantError(t, choose("%C3%A9", "allow").of(api), Invalid)
		wantError(t, on("GET", "/approve/"+asked).of(api), Method)
		free := choose(id.Approval(asked), "allow")
		free.noToken = true
		wantError(t, free.of(api), Unauthenticated)
		c.want(t, map[id.Call]event.Decision{})
	})
}

func TestDecisionThatCouldNotBeStored(t *testing.T) {
	w, api := newWorld(t, nil)
	w.err = errors.New("append: the disk sk-secret")
	wantError(t, choose("a1", "allow").of(api), Internal)
	w.err = turnlog.ErrFull
	wantError(t, choose("a1", "allow").of(api), Full)
	if diff := cmp.Diff([]string{"decide a1 allow by owner at api", "decide a1 allow by owner at api"}, w.calls); diff != "" {
		t.Error(diff)
	}
}
