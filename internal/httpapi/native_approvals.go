package httpapi

import (
	"errors"
	"net/http"

	"verbatim/internal/approval"
	"verbatim/internal/event"
	"verbatim/internal/id"
)

type pendingList struct {
	Approvals []approval.Pending `json:"approvals"`
}

func (a *API) listApprovals(w *reply, _ *entry) error {
	list := a.opt.Approvals.Pending()
	if list == nil {
		list = []approval.Pending{}
	}
	return writeJSON(w, http.StatusOK, pendingList{list})
}

type decided struct {
	Approval id.Approval    `json:"approval_id"`
	Decision event.Decision `json:"decision"`
}

// decide takes a decision, with other arguments and a note where a person gave
// them.
func (a *API) decide(w *reply, e *entry) error {
	name := e.parts["id"]
	if !id.Valid(name) {
		return badID("The approval id")
	}
	o, err := readObject(w, e, 2*approval.MaxArgs)
	if err != nil {
		return err
	}
	d, err := decisionOf(o)
	if err != nil {
		return err
	}
	d.By, d.Via = owner, event.Via{Surface: w.surface}
	if err := a.opt.Approvals.Decide(e.Context(), id.Approval(name), d); err != nil {
		return refusedDecision(err, Decided, Unfit)
	}
	return writeJSON(w, http.StatusOK, decided{id.Approval(name), d.Choice})
}

// decisionOf takes the members it knows and no other: one that was meant to
// change what runs must not be dropped while the call runs.
func decisionOf(o object) (approval.Decision, error) {
	var d approval.Decision
	choice, there, err := o.text("decision")
	if err != nil {
		return d, err
	}
	note, _, err := o.text("note")
	if err != nil {
		return d, err
	}
	for name := range o {
		if name != "decision" && name != "args" && name != "note" {
			there = false
		}
	}
	if !there {
		return d, problem(Invalid, `The body must be {"decision": …} with allow, always or deny, and may have args and note but nothing else; nothing was decided.`)
	}
	d.Choice, d.Note = event.Decision(choice), note
	if o.has("args") {
		d.Args = o["args"]
	}
	return d, nil
}

type ruleList struct {
	Rules []approval.Rule `json:"rules"`
}

func (a *API) listRules(w *reply, e *entry) error {
	rules, err := a.opt.Approvals.Rules(e.Context())
	if err != nil {
		return err
	}
	if rules == nil {
		rules = []approval.Rule{}
	}
	return writeJSON(w, http.StatusOK, ruleList{rules})
}

func (a *API) revokeRule(w *reply, e *entry) error {
	err := a.opt.Approvals.Revoke(e.Context(), e.parts["id"])
	if errors.Is(err, approval.ErrNoRule) {
		return problem(Missing, "There is no such rule; it may have been revoked before.")
	}
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, done{OK: true})
}
