package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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

func TestH4OneExpiry(t *testing.T) {
	rows := []struct {
		name    string
		at      time.Duration // after the question; it expires after 60 s
		choice  event.Decision
		want    event.Decision // what the request comes to
		decided bool           // the decider is told that another was first
	}{
		{"allow in time", 59*time.Second + 999*time.Millisecond, event.DecisionAllow, event.DecisionAllow, false},
		{"deny in time stays a deny", 59*time.Second + 999*time.Millisecond, event.DecisionDeny, event.DecisionDeny, false},
		{"allow at the instant", 60 * time.Second, event.DecisionAllow, event.DecisionExpired, true},
		{"deny at the instant", 60 * time.Second, event.DecisionDeny, event.DecisionExpired, true},
		{"allow at 61 s", 61 * time.Second, event.DecisionAllow, event.DecisionExpired, true},
		{"always at 61 s", 61 * time.Second, event.DecisionAlways, event.DecisionExpired, true},
		{"deny at 61 s", 61 * time.Second, event.DecisionDeny, event.DecisionExpired, true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				a := w.ask(t, write("r1", "a.txt"))
				poll, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				<-poll.Done() // a reader's patience ends; the request's does not
				if a.over() {
					t.Fatalf("a poll of 10 s ended the request: %+v", a.verdict)
				}
				time.Sleep(row.at - 10*time.Second)
				err := w.decide(t, a.id, row.choice)
				if errors.Is(err, approval.ErrDecided) != row.decided || !row.decided && err != nil {
					t.Errorf("the decider got %v, want decided otherwise: %v", err, row.decided)
				}
				if v := a.settled(t); v.Decision != row.want || v.Allowed != (row.want == event.DecisionAllow) {
					t.Errorf("got %+v, want %s", v, row.want)
				}
				if got := w.resolutions(); len(got) != 1 || got[0].Decision != row.want {
					t.Errorf("recorded %+v, want %s alone", got, row.want)
				}
				if len(w.rules) != 0 {
					t.Errorf("a rule was made: %+v", w.rules)
				}
			})
		})
	}
}

// The clock of the desk may be ahead of its timer, as after the machine slept.
func TestH4LateByTheClockAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var slept time.Duration
		desk := approval.New(approval.Options{
			Store: w, Rules: w,
			Policy: func(context.Context) (approval.Mode, time.Duration) { return approval.ModeAsk, time.Minute },
			Now:    func() time.Time { return time.Now().Add(slept) },
		})
		c := write("r1", "a.txt")
		verdict := make(chan approval.Verdict, 1)
		go func() {
			v, _ := desk.Ask(t.Context(), c, w.record(c))
			verdict <- v
		}()
		synctest.Wait()
		slept = time.Minute
		err := desk.Decide(t.Context(), desk.Pending()[0].Approval, approval.Decision{Choice: event.DecisionAllow})
		var decided *approval.Decided
		if !errors.As(err, &decided) || decided.Decision != event.DecisionExpired {
			t.Errorf("got %v, want expired", err)
		}
		if v := <-verdict; v.Allowed || v.Decision != event.DecisionExpired {
			t.Errorf("got %+v, want expired", v)
		}
	})
}

// What came first counts, also when several things have happened before the
// request can be resolved. A choice among them by chance would show in one of the
// rounds.
func TestH4TheFirstCountsThoughTheDiskIsSlow(t *testing.T) {
	rows := []struct {
		name string
		then func(stop context.CancelCauseFunc) // after the deny has come
		want event.Decision
	}{
		{"the expiry comes later", func(context.CancelCauseFunc) { time.Sleep(2 * time.Minute) }, event.DecisionDeny},
		{"nothing comes later", func(context.CancelCauseFunc) {}, event.DecisionDeny},
		// Nothing may run any more, so the stop is what people are told of.
		{"a stop comes later", func(stop context.CancelCauseFunc) { stop(stopped{}) }, event.DecisionCancelled},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			for range 20 {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld()
					ctx, stop := context.WithCancelCause(t.Context())
					defer stop(nil)
					c := write("r1", "a.txt")
					decided := make(chan error, 1)
					v, err := w.desk.Ask(ctx, c, func(e event.Event) error {
						if r, ok := e.(event.ApprovalRequest); ok {
							go func() { decided <- w.decide(t, r.Approval, event.DecisionDeny) }()
							synctest.Wait()
							row.then(stop)
						}
						return w.record(c)(e)
					})
					if v.Decision != row.want || err != nil {
						t.Errorf("got %+v, %v, want %s", v, err, row.want)
					}
					if err := <-decided; (err == nil) != (row.want == event.DecisionDeny) {
						t.Errorf("the decider got %v", err)
					}
				})
			}
		})
	}
}

func TestTheSameDecisionAgain(t *testing.T) {
	via := event.Via{Surface: "test"}
	edited := approval.Decision{Choice: event.DecisionAllow, Args: json.RawMessage(`{"path": "b.txt"}`), Note: "not a", Via: via}
	rows := []struct {
		name         string
		first, again approval.Decision
		same         bool
	}{
		{"allow, allow", approval.Decision{Choice: event.DecisionAllow}, approval.Decision{Choice: event.DecisionAllow}, true},
		{"allow, allow by another", approval.Decision{Choice: event.DecisionAllow, By: "a"}, approval.Decision{Choice: event.DecisionAllow, By: "b"}, true},
		{"allow, deny", approval.Decision{Choice: event.DecisionAllow}, approval.Decision{Choice: event.DecisionDeny}, false},
		{"allow, always", approval.Decision{Choice: event.DecisionAllow}, approval.Decision{Choice: event.DecisionAlways}, false},
		{"always, always", approval.Decision{Choice: event.DecisionAlways}, approval.Decision{Choice: event.DecisionAlways}, true},
		{"always, allow", approval.Decision{Choice: event.DecisionAlways}, approval.Decision{Choice: event.DecisionAllow}, false},
		{"deny, deny", approval.Decision{Choice: event.DecisionDeny}, approval.Decision{Choice: event.DecisionDeny}, true},
		{"edited, edited", edited, edited, true},
		{"edited, as it was", edited, approval.Decision{Choice: event.DecisionAllow}, false},
		{"edited, edited otherwise", edited, approval.Decision{Choice: event.DecisionAllow, Args: json.RawMessage(`{"path":"c.txt"}`)}, false},
		{"edited, without the note", edited, approval.Decision{Choice: event.DecisionAllow, Args: json.RawMessage(`{"path":"b.txt"}`)}, true},
		{"as it was, edited", approval.Decision{Choice: event.DecisionAllow}, edited, false},
		{"deny, deny with a note that nobody reads", approval.Decision{Choice: event.DecisionDeny}, approval.Decision{Choice: event.DecisionDeny, Note: "why"}, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				c := write("r1", "a.txt")
				commit, running := make(chan struct{}), make(chan approval.Verdict, 1)
				go func() {
					v, _ := w.desk.Ask(t.Context(), c, func(e event.Event) error {
						if e.Kind() == "approval_resolved" {
							<-commit
						}
						return w.record(c)(e)
					})
					running <- v
				}()
				synctest.Wait()
				a := w.desk.Pending()[0].Approval
				results := make([]error, 2)
				var all sync.WaitGroup
				for i, dec := range []approval.Decision{row.first, row.again} {
					all.Go(func() { results[i] = w.desk.Decide(t.Context(), a, dec) })
					synctest.Wait() // the first is taken before the other comes
				}
				close(commit)
				all.Wait()
				<-running
				later := w.desk.Decide(t.Context(), a, row.again)
				if results[0] != nil {
					t.Errorf("the first got %v", results[0])
				}
				for when, err := range map[string]error{"during the commit": results[1], "later": later} {
					if row.same && err != nil || !row.same && !errors.Is(err, approval.ErrDecided) {
						t.Errorf("again %s: got %v, want the same: %v", when, err, row.same)
					}
				}
				if got := w.resolutions(); len(got) != 1 || got[0].Decision != row.first.Choice {
					t.Errorf("recorded %+v, want %s alone", got, row.first.Choice)
				}
			})
		})
	}
}

func TestAnErasedDecisionIsStillKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		a := w.ask(t, write("r1", "a.txt"))
		if err := w.decide(t, a.id, event.DecisionAllow); err != nil {
			t.Fatal(err)
		}
		a.settled(t)
		erased := &erasedStore{w}
		desk := approval.New(approval.Options{Store: erased, Rules: w})
		allow, deny := approval.Decision{Choice: event.DecisionAllow}, approval.Decision{Choice: event.DecisionDeny}
		if err := desk.Decide(t.Context(), a.id, allow); err != nil {
			t.Errorf("the same again: %v", err)
		}
		if err := desk.Decide(t.Context(), a.id, deny); !errors.Is(err, approval.ErrDecided) {
			t.Errorf("another: got %v, want ErrDecided", err)
		}
	})
}

// erasedStore is a world whose records have lost their content.
type erasedStore struct{ *world }

func (s *erasedStore) After(ctx context.Context, c id.Conversation, after int64, limit turnlog.Limit) ([]event.Record, error) {
	records, err := s.world.After(ctx, c, after, limit)
	for i, r := range records {
		seq := r.Seq
		if records[i], err = event.NewRecord(c, r.Run, r.Message, event.Erased{Was: r.Kind}); err != nil {
			return nil, err
		}
		records[i].Seq = seq
	}
	return records, err
}

func TestARequestOfAnEarlierProcessRunsNothing(t *testing.T) {
	w := newWorld()
	c := write("r1", "a.txt")
	if err := w.record(c)(event.ApprovalRequest{Approval: "a_old", Call: "call_1", Args: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	if err := w.decide(t, "a_old", event.DecisionAllow); !errors.Is(err, approval.ErrDecided) {
		t.Errorf("got %v, want ErrDecided", err)
	}
	if n := len(w.resolutions()); n != 0 {
		t.Errorf("%d resolutions were recorded", n)
	}
}

func TestWhatMakesNoSenseDecidesNothing(t *testing.T) {
	rows := []struct {
		name string
		call approval.Call
		dec  approval.Decision
		says string
	}{
		{"no choice", write("r1", "a"), approval.Decision{}, "must be allow, always or deny"},
		{"unknown choice", write("r1", "a"), approval.Decision{Choice: "perhaps"}, "must be allow, always or deny"},
		{"expired is nobody's choice", write("r1", "a"), approval.Decision{Choice: event.DecisionExpired}, "must be allow, always or deny"},
		{"cancelled is nobody's choice", write("r1", "a"), approval.Decision{Choice: event.DecisionCancelled}, "must be allow, always or deny"},
		{"always with arguments", write("r1", "a"), approval.Decision{Choice: event.DecisionAlways, Args: []byte(`{}`)}, "only allow may change"},
		{"deny with arguments", write("r1", "a"), approval.Decision{Choice: event.DecisionDeny, Args: []byte(`{}`)}, "only allow may change"},
		{"arguments that are no JSON", write("r1", "a"), approval.Decision{Choice: event.DecisionAllow, Args: []byte(`{"path":`)}, "must be a JSON object"},
		{"empty arguments", write("r1", "a"), approval.Decision{Choice: event.DecisionAllow, Args: []byte{}}, "must be a JSON object"},
		{"null", write("r1", "a"), approval.Decision{Choice: event.DecisionAllow, Args: []byte(`null`)}, "must be a JSON object"},
		{"a list", write("r1", "a"), approval.Decision{Choice: event.DecisionAllow, Args: []byte(`[{}]`)}, "must be a JSON object"},
		{"two objects", write("r1", "a"), approval.Decision{Choice: event.DecisionAllow, Args: []byte(`{} {}`)}, "must be a JSON object"},
		{"arguments that are not UTF-8", write("r1", "a"), approval.Decision{Choice: event.DecisionAllow, Args: []byte("{\"a\":\"\xff\"}")}, "must be a JSON object"},
		{"arguments too large", write("r1", "a"), approval.Decision{Choice: event.DecisionAllow, Args: []byte(`{"a":"` + strings.Repeat("x", approval.MaxArgs) + `"}`)}, "must be a JSON object"},
		{"arguments that the tool refuses", write("r1", "a"), approval.Decision{Choice: event.DecisionAllow, Args: []byte(`{"path":"refused"}`)}, "can't be used: no such path"},
		{"note too long", write("r1", "a"), approval.Decision{Choice: event.DecisionDeny, Note: strings.Repeat("x", approval.MaxNote+1)}, "the note must be"},
		{"note that is not UTF-8", write("r1", "a"), approval.Decision{Choice: event.DecisionDeny, Note: "\xff"}, "the note must be"},
		{"always for no simple command", command("r1", "ls; rm x"), approval.Decision{Choice: event.DecisionAlways}, "no rule can be made"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				row.call.Check = func(args json.RawMessage) error {
					if strings.Contains(string(args), "refused") {
						return errors.New("no such path")
					}
					return nil
				}
				a := w.ask(t, row.call)
				err := w.desk.Decide(t.Context(), a.id, row.dec)
				if !errors.Is(err, approval.ErrInvalid) || !strings.Contains(fmt.Sprint(err), row.says) {
					t.Errorf("got %v, want ErrInvalid that says %q", err, row.says)
				}
				if synctest.Wait(); a.over() || len(w.resolutions()) != 0 || len(w.rules) != 0 {
					t.Fatalf("it was decided: %+v", a.verdict)
				}
				if err := w.decide(t, a.id, event.DecisionAllow); err != nil {
					t.Errorf("allow still works: %v", err)
				}
				if !a.settled(t).Allowed {
					t.Errorf("got %+v", a.verdict)
				}
			})
		})
	}
}

func TestEditedArgumentsAreWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		c := write("r1", "a.txt")
		var checked []string
		c.Check = func(args json.RawMessage) error {
			checked = append(checked, string(args))
			return nil
		}
		a := w.ask(t, c)
		dec := approval.Decision{
			Choice: event.DecisionAllow, By: "owner", Via: event.Via{Surface: "web"},
			Args: json.RawMessage("{ \"path\": \"<b>.txt\",\n \"content\": \" \u2028\" }"), Note: " keep a.txt\n",
		}
		if err := w.desk.Decide(t.Context(), a.id, dec); err != nil {
			t.Fatal(err)
		}
		const line = "{\"path\":\"<b>.txt\",\"content\":\" \u2028\"}"
		want := approval.Verdict{
			Allowed: true, Decision: event.DecisionAllow, Approval: a.id, Mode: approval.ModeAsk,
			Args: json.RawMessage(line), Note: " keep a.txt\n",
		}
		if diff := cmp.Diff(want, a.settled(t)); diff != "" {
			t.Errorf("verdict (-want +got):\n%s", diff)
		}
		resolved := event.ApprovalResolved{
			Approval: a.id, Decision: event.DecisionAllow, By: "owner", Via: event.Via{Surface: "web"}, Args: json.RawMessage(line), Note: " keep a.txt\n",
		}
		if diff := cmp.Diff([]event.ApprovalResolved{resolved}, w.resolutions()); diff != "" {
			t.Errorf("recorded (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{line}, checked); diff != "" {
			t.Errorf("checked (-want +got):\n%s", diff)
		}
		if err := w.desk.Decide(t.Context(), a.id, dec); err != nil {
			t.Errorf("the same again: %v", err)
		}
	})
}

// Many decide at once, without a bubble, so that the race detector sees them.
func TestG12OfManyDecidersOneWins(t *testing.T) {
	for round := range 5 {
		w := newWorld()
		c := write("r1", "a.txt")
		asked := make(chan id.Approval, 1)
		verdict := make(chan approval.Verdict, 1)
		go func() {
			v, err := w.desk.Ask(t.Context(), c, func(e event.Event) error {
				if r, ok := e.(event.ApprovalRequest); ok {
					defer func() { asked <- r.Approval }()
				}
				return w.record(c)(e)
			})
			if err != nil {
				t.Error(err)
			}
			verdict <- v
		}()
		a := <-asked
		choices := []event.Decision{event.DecisionAllow, event.DecisionDeny, event.DecisionAlways}
		const deciders = 100
		errs := make([]error, deciders)
		start := make(chan struct{})
		var all sync.WaitGroup
		for i := range deciders {
			all.Go(func() {
				<-start
				errs[i] = w.decide(t, a, choices[(i+round)%len(choices)])
			})
		}
		close(start)
		all.Wait()
		v := <-verdict
		if got := w.resolutions(); len(got) != 1 || got[0].Decision != v.Decision {
			t.Fatalf("recorded %+v, want one and the verdict's %s", got, v.Decision)
		}
		if v.Allowed != (v.Decision != event.DecisionDeny) {
			t.Errorf("%s gave %+v", v.Decision, v)
		}
		if made := len(w.rules) == 1; made != (v.Decision == event.DecisionAlways) {
			t.Errorf("%s left the rules %+v", v.Decision, w.rules)
		}
		for i, err := range errs {
			won := choices[(i+round)%len(choices)] == v.Decision
			if won && err != nil || !won && !errors.Is(err, approval.ErrDecided) {
				t.Errorf("decider %d, whose choice won: %v, got %v", i, won, err)
			}
		}
	}
}

func TestG12AStopAndADecisionAtOnce(t *testing.T) {
	for range 50 {
		w := newWorld()
		c := write("r1", "a.txt")
		ctx, stop := context.WithCancelCause(t.Context())
		asked, verdict := make(chan id.Approval, 1), make(chan approval.Verdict, 1)
		go func() {
			v, _ := w.desk.Ask(ctx, c, func(e event.Event) error {
				if r, ok := e.(event.ApprovalRequest); ok {
					defer func() { asked <- r.Approval }()
				}
				return w.record(c)(e)
			})
			verdict <- v
		}()
		a := <-asked
		var err error
		var all sync.WaitGroup
		all.Go(func() { stop(stopped{}) })
		all.Go(func() { err = w.decide(t, a, event.DecisionAllow) })
		all.Wait()
		v := <-verdict
		got := w.resolutions()
		if len(got) != 1 || got[0].Decision != v.Decision || v.Allowed != (err == nil) {
			t.Fatalf("recorded %+v, verdict %+v, the decider got %v", got, v, err)
		}
		if err != nil && (!errors.Is(err, approval.ErrDecided) || v.Decision != event.DecisionCancelled) {
			t.Fatalf("verdict %+v, the decider got %v", v, err)
		}
	}
}

func TestADeciderMayGoAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		c := write("r1", "a.txt")
		commit, verdict := make(chan struct{}), make(chan approval.Verdict, 1)
		go func() {
			v, _ := w.desk.Ask(t.Context(), c, func(e event.Event) error {
				if e.Kind() == "approval_resolved" {
					<-commit
				}
				return w.record(c)(e)
			})
			verdict <- v
		}()
		synctest.Wait()
		a := w.desk.Pending()[0].Approval
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		allow := approval.Decision{Choice: event.DecisionAllow}
		for _, name := range []string{"the one that is taken", "another"} {
			if err := w.desk.Decide(ctx, a, allow); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: got %v, want the end of its context", name, err)
			}
		}
		close(commit)
		if v := <-verdict; !v.Allowed {
			t.Errorf("got %+v, want allowed all the same", v)
		}
		if err := w.desk.Decide(t.Context(), a, allow); err != nil {
			t.Errorf("asking again: %v", err)
		}
	})
}
