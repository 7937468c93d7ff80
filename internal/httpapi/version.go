package httpapi

import "net/http"

type shownVersion struct {
	OK     bool `json:"ok"`
	Active int  `json:"active"`
	Count  int  `json:"count"`
	// Content is what the row shows from now on.
	Content string `json:"content"`
}

func (a *API) setVersion(w *reply, e *entry) error {
	c, target, err := a.row(w, e)
	if err != nil {
		return err
	}
	n, err := position(e.parts["n"], "version")
	if err != nil {
		return err
	}
	v, err := a.opt.Commands.SetVersion(e.Context(), c, target, n)
	if err != nil {
		return err
	}
	content, err := a.opt.Library.Content(e.Context(), c, v.Run)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, shownVersion{OK: true, Active: v.Active, Count: v.Count, Content: content})
}
