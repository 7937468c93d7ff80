package httpapi

import (
	"net/http"

	"verbatim/internal/id"
)

// wireVersion is the version of the compatible layer.
const wireVersion = 2

type health struct {
	OK             bool     `json:"ok"`
	Version        int      `json:"version"`
	Product        string   `json:"product"`
	ProductVersion string   `json:"product_version"`
	Model          string   `json:"model"`
	Epoch          id.Epoch `json:"epoch"`
}

// health is open to anybody who can reach the server: nothing secret is in it.
func (a *API) health(w *reply, e *entry) error {
	h := health{OK: true, Version: wireVersion, Product: "verbatim", ProductVersion: a.opt.Version, Epoch: a.opt.Epoch}
	if a.opt.Model != nil {
		h.Model = a.opt.Model(e.Context())
	}
	return writeJSON(w, http.StatusOK, h)
}

func (a *API) healthz(w *reply, _ *entry) error {
	return writeJSON(w, http.StatusOK, done{OK: true})
}

func (a *API) readyz(w *reply, _ *entry) error {
	switch {
	case a.draining.Load():
		return problem(Unavailable, "Verbatim is shutting down; try again in a moment.")
	case !a.door.isOpen():
		return problem(Unavailable, "Verbatim is starting; try again in a moment.")
	case a.opt.HasRoom != nil && !a.opt.HasRoom():
		return problem(Unavailable, "The disk is full, so no new run can be stored; free some space.")
	}
	return writeJSON(w, http.StatusOK, done{OK: true})
}
