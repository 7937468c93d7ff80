package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"verbatim/internal/approval"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
)

// decide answers a request that waits, then answers it once more.
func (s *schedule) decide() error {
	pending := s.engine.desk.Pending()
	if len(pending) == 0 {
		return nil
	}
	p := pending[s.random.IntN(len(pending))]
	first := s.decision(false)
	s.note("%s %s of %s, with arguments %s", first.Choice, p.Approval, p.Run, first.Args)
	s.resolved = append(s.resolved, p.Approval)
	err := s.engine.desk.Decide(context.Background(), p.Approval, first)
	if err != nil {
		return s.allow(err)
	}
	if err := s.engine.desk.Decide(context.Background(), p.Approval, first); err != nil {
		return fmt.Errorf("the same decision again: %w", err)
	}
	other := s.decision(true)
	if other.Choice == first.Choice {
		return nil
	}
	err = s.engine.desk.Decide(context.Background(), p.Approval, other)
	if !errors.Is(err, approval.ErrDecided) {
		return fmt.Errorf("a second, other decision: %w", err)
	}
	return nil
}

// decision is a random answer; a plain one changes no arguments.
func (s *schedule) decision(plain bool) approval.Decision {
	choices := []event.Decision{event.DecisionAllow, event.DecisionAllow, event.DecisionAlways, event.DecisionDeny}
	d := approval.Decision{Choice: choices[s.random.IntN(len(choices))], By: "owner", Via: testVia}
	if !plain && d.Choice == event.DecisionAllow && s.random.IntN(4) == 0 {
		d.Args = json.RawMessage(s.args())
	}
	if !plain && s.random.IntN(4) == 0 {
		d.Note = "mind the gap"
	}
	return d
}

// decideLate answers a request that waits no more, or never did.
func (s *schedule) decideLate() error {
	a := id.Approval("a_nobody")
	if len(s.resolved) > 0 && s.random.IntN(4) > 0 {
		a = s.resolved[s.random.IntN(len(s.resolved))]
	}
	for _, p := range s.engine.desk.Pending() {
		if p.Approval == a {
			return nil
		}
	}
	ran := len(s.engine.tools.all())
	s.note("decide %s late", a)
	err := s.engine.desk.Decide(context.Background(), a, approval.Decision{Choice: event.DecisionAllow, By: "owner", Via: testVia})
	if err != nil && !errors.Is(err, approval.ErrDecided) && !errors.Is(err, approval.ErrUnknown) {
		return s.allow(err)
	}
	if now := len(s.engine.tools.all()); now != ran {
		return fmt.Errorf("a decision that came too late ran %d calls", now-ran)
	}
	return nil
}

// endTool brings a call that runs to its end.
func (s *schedule) endTool() error {
	running := s.engine.tools.now()
	if len(running) == 0 {
		return nil
	}
	n := running[s.random.IntN(len(running))]
	how := []ending{
		{output: fmt.Sprintf("did %d", n)}, {output: strings.Repeat("<think>x</think>\n", 3)}, {},
		{err: errors.New("it went wrong")}, {panics: true},
	}[s.random.IntN(5)]
	s.note("call %d ends: %+v", n, how)
	s.engine.tools.end(n, how)
	return nil
}

// checkTools (G12): a call ran at most once, and only one that was allowed.
func (s *schedule) checkTools() error {
	for _, n := range s.engine.tools.all() {
		if count := s.engine.tools.count(n); count > 1 {
			return fmt.Errorf("call %d ran %d times", n, count)
		}
	}
	for _, c := range s.chats {
		if s.forks[c] {
			continue // it has copies of calls that may have run since
		}
		state, err := folded(c, s.observed[c])
		if err != nil {
			return err
		}
		for _, turn := range state.Turns {
			for _, run := range turn.Runs {
				if err := s.checkCalls(run); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *schedule) checkCalls(run *transcript.Run) error {
	for _, p := range run.Parts {
		if p.Tool == nil || p.Tool.Called == nil || p.Tool.Called.Args == nil {
			continue
		}
		if err := s.checkCall(p.Tool); err != nil {
			return fmt.Errorf("run %s: %w", run.ID, err)
		}
	}
	return nil
}

func (s *schedule) checkCall(t *transcript.Tool) error {
	asWritten := s.engine.tools.count(number(t.Called.Args))
	ran, allowed := asWritten, t.Name == "look"
	if r := t.Resolved; r != nil {
		allowed = r.Decision == event.DecisionAllow || r.Decision == event.DecisionAlways
		if r.Args != nil {
			ran = s.engine.tools.count(number(r.Args))
			if asWritten > 0 {
				return fmt.Errorf("call %s ran as the model wrote it, and a person had changed it", t.Call)
			}
		}
	}
	switch {
	case ran > 0 && !allowed:
		return fmt.Errorf("call %s ran and nobody allowed it: %+v", t.Call, t.Resolved)
	case t.Result == nil:
	case t.Result.OK && ran == 0:
		return fmt.Errorf("call %s is said to have run", t.Call)
	case ran > 0 && strings.Contains(t.Result.Output, didNotRun):
		return fmt.Errorf("call %s ran, and its result says %q", t.Call, t.Result.Output)
	}
	return nil
}

func number(args json.RawMessage) int {
	var read struct{ N int }
	_ = json.Unmarshal(args, &read)
	return read.N
}
