package httpapi

import (
	"context"
	"net/http"

	"verbatim/internal/delivery"
	"verbatim/internal/id"
)

// hookRoutes are those that platforms and programs of others call.
func (a *API) hookRoutes() []Route {
	return []Route{
		{
			Method: "POST", Path: "/hooks/{name}", Status: 202, handle: a.hook, open: true, signed: true, limit: MaxBodyBytes,
			Doc:   "Takes a message for a surface of this name. It is let in by the surface's own signature or secret, not by the token; see the page of its platform.",
			Body:  `{"id", "text", "thread"?, "sender"?, "attachments"?} as the surface is set up`,
			Reply: `{"delivery_id", "conversation", "run_id"}`,
		},
	}
}

func (a *API) hook(w *reply, e *entry) error {
	e.Body = http.MaxBytesReader(w.ResponseWriter, e.Body, MaxBodyBytes)
	if !a.opt.Hooks.ServeHook(e.parts["name"], w, e.Request) {
		return problem(Missing, "No surface of this name takes calls.")
	}
	return nil
}

func (a *API) getReceipts(w *reply, e *entry) error {
	return a.receipts(w, e, a.opt.Receipts.Receipts)
}

func (a *API) verifyRun(w *reply, e *entry) error {
	return a.receipts(w, e, a.opt.Receipts.Verify)
}

func (a *API) receipts(w *reply, e *entry, of func(context.Context, id.Run) (delivery.RunReceipts, error)) error {
	info, err := a.namedRun(w, e)
	if err != nil {
		return err
	}
	out, err := of(e.Context(), info.Run)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, out)
}
