package approval_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/approval"
	"verbatim/internal/event"
)

func TestAlwaysMakesARuleForTheTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		a := w.ask(t, write("r1", "a.txt"))
		made := time.Now().UTC()
		if err := w.decide(t, a.id, event.DecisionAlways); err != nil {
			t.Fatal(err)
		}
		a.settled(t)
		rules, err := w.desk.Rules(t.Context())
		if err != nil || len(rules) != 1 || rules[0].ID == "" {
			t.Fatalf("got %+v, %v, want one rule with an id", rules, err)
		}
		want := approval.Rule{ID: rules[0].ID, Tool: "write_file", Created: made, By: "owner", Approval: a.id}
		if diff := cmp.Diff(want, rules[0]); diff != "" {
			t.Errorf("rule (-want +got):\n%s", diff)
		}
		if v := w.ask(t, write("r2", "other.txt")).settled(t); !v.Allowed || v.Rule != want.ID {
			t.Errorf("in another conversation: got %+v, want it allowed by the rule", v)
		}
		read := write("r2", "a.txt")
		read.Name = "edit_file"
		other := w.ask(t, read)
		if other.over() {
			t.Errorf("another tool: got %+v, want a question", other.verdict)
		}
		other.stop(nil)
		<-other.done

		if err := w.desk.Revoke(t.Context(), want.ID); err != nil {
			t.Fatal(err)
		}
		if err := w.desk.Revoke(t.Context(), want.ID); !errors.Is(err, approval.ErrNoRule) {
			t.Errorf("revoked again: got %v, want ErrNoRule", err)
		}
		next := w.ask(t, write("r3", "a.txt"))
		if next.over() {
			t.Errorf("after the revocation: got %+v, want a question", next.verdict)
		}
		next.stop(nil)
		<-next.done
	})
}

func TestWhatARuleForACommandCovers(t *testing.T) {
	rows := []struct {
		always, then string
		covered      bool
	}{
		{"git status", "git status", true},
		{"git status", "git status -s", true},
		{"git status", `git "status" `, true},
		{"git status", `g\it st'at'us --short`, true},
		{"git status", "git stat", false},
		{"git status", "git", false},
		{"git status", "git statusx", false},
		{"git status", "git -c core.pager=x status", false},
		{"git status", "git status; rm x", false},
		{"git status", "git status;rm", false},
		{"git status", "git status\n rm", false},
		{"git status", "git status && rm x", false},
		{"git status", "git status | sh", false},
		{"git status", "git status $(rm x)", false},
		{"git status", "git status `rm x`", false},
		{"git status", `git status "$(rm x)"`, false},
		{"git status", "git status > x", false},
		{"git status", "git status <(rm x)", false},
		{"git status", "X=1 git status", false},
		{"git status", `"git status"`, false},
		{"git status", "/tmp/git status", false},
		{"git status", "git\u00a0status", false},
		{"git status", "g\u0456t status", false},
		{"ls -l", "ls -l src docs", true},
		{"ls -l", "ls -la", false},
		{"ls -l", "ls src -l", false},
		{"ls -l", "ls -l *", false},
		{"echo 'a b'", `echo "a b" c`, true},
		{"echo 'a b'", "echo a b", false},
		{"echo ''", "echo", false},
		{"echo ''", `echo "" x`, true},
		// Programs for which more words are another deed.
		{"python3 x.py", "python3 x.py", true},
		{"python3 x.py", "python3 x.py -v", false},
		{"PYTHON3.12 x.py", "PYTHON3.12 x.py -v", false},
		{"/usr/bin/env ls", "/usr/bin/env ls /", false},
		{"sh build.sh", "sh build.sh x", false},
		{"sudo ls", "sudo ls /root", false},
		{"find . -name x", "find . -name x -delete", false},
		{"make", "make install", false},
		{"git log", "git log --output=x", false},
		{"git", "git status", false},
		{"rm build.log", "rm build.log", true},
		{"rm build.log", "rm build.log -r src", false},
	}
	for _, row := range rows {
		t.Run(fmt.Sprintf("always %q then %q", row.always, row.then), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				a := w.ask(t, command("r1", row.always))
				if err := w.decide(t, a.id, event.DecisionAlways); err != nil {
					t.Fatal(err)
				}
				a.settled(t)
				next := w.ask(t, command("r2", row.then))
				if next.over() != row.covered || row.covered && !next.verdict.Allowed {
					t.Errorf("went ahead: %v, want %v (%+v)", next.over(), row.covered, next.verdict)
				}
				next.stop(nil)
				<-next.done
			})
		})
	}
}

func TestARuleFitsItsKindOfToolOnly(t *testing.T) {
	rows := []struct {
		name string
		rule approval.Rule
		call approval.Call
		want bool
	}{
		{"without words, a command", approval.Rule{Tool: "run_command"}, command("r", "ls"), false},
		{"with words, no command", approval.Rule{Tool: "write_file", Words: []string{"ls"}}, write("r", "ls"), false},
		{"a prefix for a program that was not listed then", approval.Rule{Tool: "run_command", Words: []string{"bash", "x.sh"}}, command("r", "bash x.sh -c y"), false},
		{"exact", approval.Rule{Tool: "run_command", Words: []string{"ls", "-l"}, Exact: true}, command("r", "ls -l x"), false},
		{"exact, the same", approval.Rule{Tool: "run_command", Words: []string{"ls", "-l"}, Exact: true}, command("r", "ls -l"), true},
		{"prefix", approval.Rule{Tool: "run_command", Words: []string{"ls"}}, command("r", "ls -l"), true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				row.rule.ID = "rule_1"
				w.rules = []approval.Rule{{ID: "rule_0", Tool: "other"}, row.rule}
				a := w.ask(t, row.call)
				if a.over() != row.want || row.want && a.verdict.Rule != "rule_1" {
					t.Errorf("went ahead: %v, want %v (%+v)", a.over(), row.want, a.verdict)
				}
				a.stop(nil)
				<-a.done
			})
		})
	}
}

func TestARuleThatCantBeStoredDecidesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		a := w.ask(t, write("r1", "a.txt"))
		w.set(func() { w.broken = true })
		if err := w.decide(t, a.id, event.DecisionAlways); !errors.Is(err, errDisk) {
			t.Errorf("got %v, want the disk's error", err)
		}
		if synctest.Wait(); a.over() || len(w.resolutions()) != 0 {
			t.Fatalf("it was decided: %+v", a.verdict)
		}
		if err := w.decide(t, a.id, event.DecisionDeny); err != nil {
			t.Errorf("a deny still works: %v", err)
		}
		if v := a.settled(t); v.Decision != event.DecisionDeny {
			t.Errorf("got %+v", v)
		}
	})
}

func TestRulesThatCantBeReadCoverNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.rules = []approval.Rule{{ID: "rule_1", Tool: "write_file"}}
		w.broken = true
		a := w.ask(t, write("r1", "a.txt"))
		if a.over() {
			t.Fatalf("got %+v, want a question", a.verdict)
		}
		if err := w.decide(t, a.id, event.DecisionAllow); err != nil || !a.settled(t).Allowed {
			t.Errorf("got %+v, %v", a.verdict, err)
		}
	})
}

// The rule of a decision that could not be stored goes, but not one that had
// been there before.
func TestARuleWithoutItsDecisionGoes(t *testing.T) {
	for _, before := range []bool{false, true} {
		t.Run(fmt.Sprintf("there before: %v", before), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.refuse = "approval_resolved"
				a := w.ask(t, write("r1", "a.txt"))
				if before { // made at another request meanwhile
					w.set(func() { w.rules = []approval.Rule{{ID: "rule_0", Tool: "write_file"}} })
				}
				if err := w.decide(t, a.id, event.DecisionAlways); !errors.Is(err, errDisk) {
					t.Errorf("got %v, want the disk's error", err)
				}
				if v := a.settled(t); v.Allowed || !errors.Is(a.err, errDisk) {
					t.Errorf("got %+v, %v", v, a.err)
				}
				if there := len(w.rules) == 1; there != before {
					t.Errorf("rules afterwards: %+v", w.rules)
				}
			})
		})
	}
}

func TestPendingShowsTheRuleThatAlwaysWouldMake(t *testing.T) {
	rows := []struct {
		line   string
		always bool
		words  []string
		exact  bool
	}{
		{"ls 'my files'", true, []string{"ls", "my files"}, false},
		{"bash x.sh", true, []string{"bash", "x.sh"}, true},
		{"ls | wc", false, nil, false},
	}
	for _, row := range rows {
		t.Run(row.line, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				a := w.ask(t, command("r1", row.line))
				p := w.desk.Pending()[0]
				if p.Always != row.always || p.Exact != row.exact || !cmp.Equal(p.Words, row.words) {
					t.Errorf("got always %v, words %q, exact %v", p.Always, p.Words, p.Exact)
				}
				a.stop(nil)
				<-a.done
			})
		})
	}
}
