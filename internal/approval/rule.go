package approval

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"verbatim/internal/id"
)

// Rule lets calls of one tool run without a question, in all conversations.
type Rule struct {
	// ID is unique among the rules of a database.
	ID string `json:"id"`
	// Tool is the name of the tool.
	Tool string `json:"tool"`
	// Words are those that a command must begin with; empty for a tool that
	// runs no command. Exact says that it must have no others.
	Words   []string  `json:"words,omitempty"`
	Exact   bool      `json:"exact,omitempty"`
	Created time.Time `json:"created"`
	// By is who made it, Approval the request it was made at.
	By       string      `json:"by"`
	Approval id.Approval `json:"approval_id,omitempty"`
}

// RuleStore keeps the rules. It is safe for concurrent use.
type RuleStore interface {
	// Rules returns all rules, oldest first.
	Rules(ctx context.Context) ([]Rule, error)
	// AddRule keeps a rule durably. One that is there already, with the same
	// tool, words and exactness, stays as it is and nothing is added.
	AddRule(ctx context.Context, r Rule) error
	// RemoveRule removes a rule durably; ErrNoRule when there is none.
	RemoveRule(ctx context.Context, id string) error
}

// Rules returns all rules, oldest first.
func (d *Desk) Rules(ctx context.Context) ([]Rule, error) { return d.opt.Rules.Rules(ctx) }

// Revoke removes a rule. It counts from the next call on; what the rule has let
// run goes on. ErrNoRule when there is no such rule, also the second time.
func (d *Desk) Revoke(ctx context.Context, id string) error {
	return d.opt.Rules.RemoveRule(ctx, id)
}

// covered returns the rule that lets a call run. Rules that can't be read cover
// nothing: a person is asked instead.
func (d *Desk) covered(ctx context.Context, call Call) (string, bool) {
	rules, err := d.opt.Rules.Rules(ctx)
	if err != nil {
		d.opt.Logger.Error("approval rules can't be read; people are asked instead", "conversation", call.Conversation, "run", call.Run, "err", err)
		return "", false
	}
	if len(rules) == 0 {
		return "", false
	}
	words, err := commandWords(call)
	if err != nil {
		return "", false
	}
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.covers(call.Name, words) })
	if i < 0 {
		return "", false
	}
	return rules[i].ID, true
}

// covers reports whether the rule lets a call of the tool run. words are those
// of its command, none for a tool that runs none.
func (r Rule) covers(tool string, words []string) bool {
	switch {
	case r.Tool != tool || (len(r.Words) == 0) != (len(words) == 0):
		return false
	case r.Exact || wantsExact(r.Words):
		// The list of programs may have grown since the rule was made.
		return slices.Equal(r.Words, words)
	}
	return len(words) >= len(r.Words) && slices.Equal(r.Words, words[:len(r.Words)])
}

// ruleFor returns the rule that always makes at a call, without its id, time
// and maker, or why there can't be one.
func ruleFor(call Call) (Rule, error) {
	words, err := commandWords(call)
	if err != nil {
		return Rule{}, &invalid{fmt.Sprintf("no rule can be made for this command: %v; allow it just this once", err)}
	}
	return Rule{Tool: call.Name, Words: words, Exact: wantsExact(words)}, nil
}

// commandWords returns the words of a call's command, none if it has no command.
func commandWords(call Call) ([]string, error) {
	switch {
	case call.Command == "":
		return nil, nil
	case runtime.GOOS == "windows":
		// Its shell has other quotes and other operators.
		return nil, errors.New("commands on this system are not read by a POSIX shell")
	}
	return Words(call.Command)
}

// makeRule stores the rule of an always. The end of the run doesn't stop it
// halfway: then nobody would know whether there is a rule.
func (d *Desk) makeRule(ctx context.Context, w *waiting, o *offer) (string, error) {
	r := w.rule
	r.ID = "rule_" + strings.TrimPrefix(string(w.approval), "a_")
	r.Created, r.By, r.Approval = o.at.UTC().Truncate(time.Millisecond), o.By, w.approval
	if err := d.opt.Rules.AddRule(context.WithoutCancel(ctx), r); err != nil {
		return "", fmt.Errorf("store the rule, so the decision was not taken and the request still waits: %w", err)
	}
	return r.ID, nil
}

// unmake removes the rule of a decision that could not be stored. A rule that
// had been there before has another id and stays.
func (d *Desk) unmake(ctx context.Context, e end) {
	if e.rule == "" {
		return
	}
	err := d.opt.Rules.RemoveRule(context.WithoutCancel(ctx), e.rule)
	if err != nil && !errors.Is(err, ErrNoRule) {
		d.opt.Logger.Error("a rule of a decision that was not stored can't be removed", "rule", e.rule, "err", err)
	}
}
