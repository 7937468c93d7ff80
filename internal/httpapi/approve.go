package httpapi

import (
	"errors"
	"net/http"
	"unicode"
	"unicode/utf8"

	"verbatim/internal/approval"
	"verbatim/internal/event"
	"verbatim/internal/id"
)

// approve takes a decision. The body is exactly one choice: a member that this
// route does not know, such as other arguments for the call, must not be
// dropped while the call runs.
func (a *API) approve(w *reply, e *entry) error {
	name := e.parts["approval_id"]
	if !id.Valid(name) {
		return badID("The approval id")
	}
	o, err := readObject(w, e, smallBodyBytes)
	if err != nil {
		return err
	}
	choice, there, err := o.text("choice")
	switch {
	case err != nil:
		return err
	case !there || len(o) > 1:
		return problem(Invalid, `The body must be {"choice": …} and nothing else, with allow, always or deny; nothing was decided.`)
	}
	err = a.opt.Approvals.Decide(e.Context(), id.Approval(name), approval.Decision{
		Choice: event.Decision(choice), By: owner, Via: event.Via{Surface: w.surface},
	})
	if err != nil {
		return refusedDecision(err, Missing, Invalid)
	}
	return writeJSON(w, http.StatusOK, done{OK: true})
}

// refusedDecision finds the answer for a decision that was not taken: late is
// the kind for one that something else was before, bad for one that makes no
// sense.
func refusedDecision(err error, late, bad Kind) error {
	switch {
	case errors.Is(err, approval.ErrUnknown):
		return problem(Missing, sentence(approval.ErrUnknown.Error()))
	case errors.Is(err, approval.ErrDecided):
		return problem(late, sentence(err.Error()))
	case errors.Is(err, approval.ErrInvalid):
		return problem(bad, sentence(err.Error()))
	}
	return err
}

// sentence makes a sentence for people of an error's text.
func sentence(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:] + "."
}
