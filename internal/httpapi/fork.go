package httpapi

import (
	"net/http"

	"verbatim/internal/id"
)

type forked struct {
	OK bool            `json:"ok"`
	ID id.Conversation `json:"id"`
}

func (a *API) fork(w *reply, e *entry) error {
	c, target, err := a.row(w, e)
	if err != nil {
		return err
	}
	copied, err := a.opt.Commands.Fork(e.Context(), c, target)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, forked{OK: true, ID: copied})
}
