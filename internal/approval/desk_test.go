package approval_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/approval"
	"verbatim/internal/event"
	"verbatim/internal/id"
)

func TestWhichCallsAreAskedFor(t *testing.T) {
	rows := []struct {
		mode  approval.Mode
		risk  event.Risk
		asked bool
	}{
		{approval.ModeAsk, event.RiskNone, false},
		{approval.ModeAsk, event.RiskLow, true},
		{approval.ModeAsk, event.RiskMedium, true},
		{approval.ModeAsk, event.RiskHigh, true},
		{approval.ModeSmart, event.RiskNone, false},
		{approval.ModeSmart, event.RiskLow, false},
		{approval.ModeSmart, event.RiskMedium, true},
		{approval.ModeSmart, event.RiskHigh, true},
		{approval.ModeNever, event.RiskNone, false},
		{approval.ModeNever, event.RiskHigh, false},
		{approval.ModeSmart, "some risk of tomorrow", true},
		{"some mode of tomorrow", event.RiskLow, true},
		{"", event.RiskMedium, true},
	}
	for _, row := range rows {
		t.Run(fmt.Sprintf("mode %s risk %s", row.mode, row.risk), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.mode = row.mode
				c := write("r1", "a.txt")
				c.Risk = row.risk
				a := w.ask(t, c)
				if waits := !a.over(); waits != row.asked {
					t.Fatalf("asked is %v, want %v", waits, row.asked)
				}
				if !row.asked {
					if want := (approval.Verdict{Allowed: true, Mode: row.mode}); !cmp.Equal(a.verdict, want) || a.err != nil {
						t.Errorf("got %+v, %v, want %+v", a.verdict, a.err, want)
					}
					return
				}
				if err := w.decide(t, a.id, event.DecisionDeny); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestADecisionIsTheCallsOwn(t *testing.T) {
	for _, choice := range []event.Decision{event.DecisionAllow, event.DecisionAlways, event.DecisionDeny} {
		t.Run(string(choice), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				a := w.ask(t, write("r1", "a.txt"))
				want := approval.Pending{
					Approval: a.id, Conversation: "c_r1", Run: "r1", Message: "m_1", Call: "call_1", Name: "write_file",
					Args: []byte(`{"content":"","path":"a.txt"}`), Risk: event.RiskMedium, Reason: "writes a.txt",
					ExpiresAt: time.Now().Add(60 * time.Second).UTC(), Always: true,
				}
				if diff := cmp.Diff([]approval.Pending{want}, w.desk.Pending()); diff != "" {
					t.Errorf("pending (-want +got):\n%s", diff)
				}
				if err := w.decide(t, a.id, choice); err != nil {
					t.Fatal(err)
				}
				v := a.settled(t)
				if v.Allowed != (choice != event.DecisionDeny) || v.Decision != choice || v.Approval != a.id || a.err != nil {
					t.Errorf("got %+v, %v", v, a.err)
				}
				resolved := event.ApprovalResolved{Approval: a.id, Decision: choice, By: "owner", Via: event.Via{Surface: "test"}}
				if diff := cmp.Diff([]event.ApprovalResolved{resolved}, w.resolutions()); diff != "" {
					t.Errorf("recorded (-want +got):\n%s", diff)
				}
				if list := w.desk.Pending(); len(list) != 0 {
					t.Errorf("still pending: %+v", list)
				}
			})
		})
	}
}

func TestH1OneCardDecidesOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		a1 := w.ask(t, command("r1", "rm x"))
		a2 := w.ask(t, command("r1", "ls"))
		if err := w.decide(t, "a_unknown", event.DecisionAllow); !errors.Is(err, approval.ErrUnknown) {
			t.Errorf("an unknown request: got %v, want ErrUnknown", err)
		}
		if len(w.resolutions()) != 0 || len(w.desk.Pending()) != 2 {
			t.Fatal("a decision about an unknown request decided something")
		}
		if err := w.decide(t, a2.id, event.DecisionAllow); err != nil {
			t.Fatal(err)
		}
		if v := a2.settled(t); !v.Allowed || v.Approval != a2.id {
			t.Errorf("ls: got %+v, want it allowed", v)
		}
		if a1.over() {
			t.Errorf("rm was decided too: %+v", a1.verdict)
		}
		if list := w.desk.Pending(); len(list) != 1 || list[0].Approval != a1.id || list[0].Reason != "runs rm x" {
			t.Errorf("pending: %+v, want rm alone", list)
		}
		a1.stop(nil)
		<-a1.done
	})
}

func TestH2AlwaysOfOneRunReleasesNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		one, two := write("r1", "a.txt"), write("r2", "a.txt")
		// The conversation is what a client may choose, and both chose the same.
		one.Conversation, two.Conversation = "same", "same"
		a1 := w.ask(t, one)
		a2 := w.ask(t, two)
		if err := w.decide(t, a2.id, event.DecisionAlways); err != nil {
			t.Fatal(err)
		}
		if v := a2.settled(t); !v.Allowed {
			t.Errorf("the second run: got %+v, want it allowed", v)
		}
		if a1.over() {
			t.Fatalf("the first run's request was released: %+v", a1.verdict)
		}
		next := w.ask(t, write("r1", "b.txt"))
		if v := next.settled(t); !v.Allowed || v.Rule == "" || v.Decision != "" {
			t.Errorf("the next call: got %+v, want it allowed by the rule", v)
		}
		if err := w.decide(t, a1.id, event.DecisionDeny); err != nil {
			t.Errorf("the first request must still be open to a deny: %v", err)
		}
		if v := a1.settled(t); v.Allowed {
			t.Errorf("the first run: got %+v, want it denied", v)
		}
	})
}

func TestH3RequestsAtOnceAreAllThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		first := w.ask(t, write("r1", "t1.txt"))
		time.Sleep(5 * time.Millisecond)
		second := w.ask(t, write("r1", "t2.txt"))
		var listed []id.Approval
		for _, p := range w.desk.Pending() {
			listed = append(listed, p.Approval)
		}
		if diff := cmp.Diff([]id.Approval{first.id, second.id}, listed); diff != "" || first.id == second.id {
			t.Errorf("pending, oldest first (-want +got):\n%s", diff)
		}
		if err := w.decide(t, second.id, event.DecisionAllow); err != nil {
			t.Error(err)
		}
		if err := w.decide(t, first.id, event.DecisionDeny); err != nil {
			t.Error(err)
		}
		if first.settled(t).Allowed || !second.settled(t).Allowed {
			t.Errorf("got %+v and %+v", first.verdict, second.verdict)
		}
	})
}

func TestH5ARequestWaitsWithoutReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		a := w.ask(t, write("r1", "a.txt"))
		for range 3 { // clients that come, look and go
			time.Sleep(5 * time.Second)
			if list := w.desk.Pending(); len(list) != 1 || list[0].Approval != a.id {
				t.Fatalf("pending: %+v, want %s each time", list, a.id)
			}
		}
		if err := w.decide(t, a.id, event.DecisionAllow); err != nil {
			t.Fatal(err)
		}
		if !a.settled(t).Allowed || len(w.desk.Pending()) != 0 {
			t.Errorf("got %+v, pending %v", a.verdict, w.desk.Pending())
		}
	})
}

func TestTheExpiryIsTheServersOwn(t *testing.T) {
	rows := []struct {
		name          string
		setting, want time.Duration
	}{
		{"default", 0, 300 * time.Second},
		{"a minute", time.Minute, time.Minute},
		{"too short", time.Second, 10 * time.Second},
		{"negative", -time.Second, 10 * time.Second},
		{"too long", 48 * time.Hour, time.Hour},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.timeout = row.setting
				began := time.Now()
				a := w.ask(t, write("r1", "a.txt"))
				if got := w.desk.Pending()[0].ExpiresAt.Sub(began); got != row.want {
					t.Errorf("shown as %v, want %v", got, row.want)
				}
				w.set(func() { w.timeout = time.Hour }) // for the next one only
				<-a.done
				if got := time.Since(began); got != row.want {
					t.Errorf("expired after %v, want %v", got, row.want)
				}
				want := event.ApprovalResolved{Approval: a.id, Decision: event.DecisionExpired, By: "system", Via: event.Via{Surface: "system"}}
				if diff := cmp.Diff([]event.ApprovalResolved{want}, w.resolutions()); diff != "" || a.verdict.Allowed || a.err != nil {
					t.Errorf("got %+v, %v; recorded (-want +got):\n%s", a.verdict, a.err, diff)
				}
			})
		})
	}
}

type stopped struct{}

func (stopped) Error() string           { return "stopped" }
func (stopped) By() (string, event.Via) { return "owner", event.Via{Surface: "web"} }

func TestAStopMeansDeny(t *testing.T) {
	system := event.Via{Surface: "system"}
	rows := []struct {
		name  string
		cause error
		by    string
		via   event.Via
	}{
		{"by a person", stopped{}, "owner", event.Via{Surface: "web"}},
		{"by a person, wrapped", fmt.Errorf("run r1: %w", stopped{}), "owner", event.Via{Surface: "web"}},
		{"by nobody named", errors.New("shutdown"), "system", system},
		{"without a cause", nil, "system", system},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				a := w.ask(t, write("r1", "a.txt"))
				a.stop(row.cause)
				if v := a.settled(t); v.Allowed || v.Decision != event.DecisionCancelled || a.err != nil {
					t.Errorf("got %+v, %v, want cancelled", v, a.err)
				}
				want := event.ApprovalResolved{Approval: a.id, Decision: event.DecisionCancelled, By: row.by, Via: row.via}
				if diff := cmp.Diff([]event.ApprovalResolved{want}, w.resolutions()); diff != "" {
					t.Errorf("recorded (-want +got):\n%s", diff)
				}
				if err := w.decide(t, a.id, event.DecisionAllow); !errors.Is(err, approval.ErrDecided) {
					t.Errorf("a click after the stop: got %v, want ErrDecided", err)
				}
			})
		})
	}
	t.Run("before the question", func(t *testing.T) {
		w := newWorld()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c := write("r1", "a.txt")
		v, err := w.desk.Ask(ctx, c, w.record(c))
		if v.Allowed || v.Decision != event.DecisionCancelled || err != nil || len(w.records) != 0 {
			t.Errorf("got %+v, %v and %d records, want cancelled and none", v, err, len(w.records))
		}
	})
}

func TestARecordThatFailsRunsNothing(t *testing.T) {
	for _, kind := range []event.Kind{"approval_request", "approval_resolved"} {
		for _, choice := range []event.Decision{event.DecisionAllow, event.DecisionAlways} {
			t.Run(fmt.Sprintf("%s, %s", kind, choice), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld()
					w.refuse = kind
					c := write("r1", "a.txt")
					var decided error
					told := make(chan struct{})
					v, err := w.desk.Ask(t.Context(), c, func(e event.Event) error {
						if r, ok := e.(event.ApprovalRequest); ok {
							// The client answers while the commit still runs.
							go func() {
								defer close(told)
								decided = w.decide(t, r.Approval, choice)
							}()
							synctest.Wait()
						}
						return w.record(c)(e)
					})
					<-told
					if v.Allowed || !errors.Is(err, errDisk) {
						t.Errorf("got %+v, %v, want deny and the disk's error", v, err)
					}
					if !errors.Is(decided, errDisk) {
						t.Errorf("the decider got %v, want the disk's error", decided)
					}
					if len(w.rules) != 0 || len(w.desk.Pending()) != 0 {
						t.Errorf("left behind: rules %v, pending %v", w.rules, w.desk.Pending())
					}
				})
			})
		}
	}
}

func TestAnAnswerBeforeTheCommitReturnsCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		c := write("r1", "a.txt")
		answered := make(chan error, 1)
		v, err := w.desk.Ask(t.Context(), c, func(e event.Event) error {
			err := w.record(c)(e)
			if r, ok := e.(event.ApprovalRequest); ok {
				if list := w.desk.Pending(); len(list) != 0 {
					t.Errorf("listed before its commit has returned: %+v", list)
				}
				go func() { answered <- w.decide(t, r.Approval, event.DecisionAllow) }()
				synctest.Wait()
			}
			return err
		})
		if !v.Allowed || err != nil {
			t.Errorf("got %+v, %v", v, err)
		}
		if err := <-answered; err != nil {
			t.Error(err)
		}
	})
}

func TestNobodyIsToldBeforeTheDecisionIsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		c := write("r1", "a.txt")
		commit := make(chan struct{})
		told, ran := false, false
		asking := make(chan struct{})
		go func() {
			defer close(asking)
			v, _ := w.desk.Ask(t.Context(), c, func(e event.Event) error {
				if e.Kind() == "approval_resolved" {
					<-commit
				}
				return w.record(c)(e)
			})
			ran = v.Allowed
		}()
		synctest.Wait()
		deciding := make(chan struct{})
		go func() {
			defer close(deciding)
			told = w.decide(t, w.desk.Pending()[0].Approval, event.DecisionAllow) == nil
		}()
		time.Sleep(time.Minute * 2) // far beyond the expiry, which comes too late now
		synctest.Wait()
		if told || ran {
			t.Errorf("before the commit: told %v, ran %v", told, ran)
		}
		close(commit)
		<-asking
		<-deciding
		if !told || !ran {
			t.Errorf("after the commit: told %v, ran %v", told, ran)
		}
	})
}

func TestAPanicInRecordLetsDecidersGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		c := write("r1", "a.txt")
		decided := make(chan error, 1)
		func() {
			defer func() { _ = recover() }()
			_, _ = w.desk.Ask(t.Context(), c, func(e event.Event) error {
				go func() { decided <- w.decide(t, e.(event.ApprovalRequest).Approval, event.DecisionAllow) }()
				synctest.Wait()
				panic("a bug")
			})
		}()
		if err := <-decided; err == nil {
			t.Error("the decider was told that all is well")
		}
		if list := w.desk.Pending(); len(list) != 0 {
			t.Errorf("still pending: %+v", list)
		}
	})
}
