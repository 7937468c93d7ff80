package httpapi

import (
	"net/http"
	"strings"

	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// nativePrefix begins the paths of the native layer.
const nativePrefix = "/api/v1"

func isNative(p string) bool {
	rest, ok := strings.CutPrefix(p, nativePrefix)
	return ok && (rest == "" || rest[0] == '/')
}

// problemType is the form of the native layer's errors, RFC 9457.
const problemType = "application/problem+json"

// details is an error of the native layer. Its type says that the status and
// code tell all there is to tell apart.
type details struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   Kind   `json:"code"`
	// Ref is the id under which the log tells more.
	Ref string `json:"ref,omitempty"`
}

func newDetails(doc ErrorDoc, p *Problem, fault string) details {
	return details{
		Type: "about:blank", Title: http.StatusText(doc.Status), Status: doc.Status,
		Detail: p.Error(), Code: p.Kind, Ref: fault,
	}
}

// runEvents answers with the records of a run in native form.
func (a *API) runEvents(w *reply, e *entry) error {
	cursor, err := cursorOf(e)
	if err != nil {
		return err
	}
	name := e.parts["id"]
	if !id.Valid(name) {
		return badID("The run id")
	}
	w.run = id.Run(name)
	run, err := a.opt.Runs.Run(e.Context(), w.run)
	if err != nil {
		return err
	}
	w.conversation = run.Conversation
	// What was deleted is hidden at once, also from who knows its id.
	place, err := a.opt.Library.Place(e.Context(), run.Conversation, run.Run)
	if err != nil {
		return err
	}
	if place.AssistantIndex == nil {
		return turnlog.ErrNoRun
	}
	return a.opt.Streams.ServeNative(w, e.Request, run, cursor)
}
