package httpapi

import "net/http"

func (a *API) getSettings(w *reply, e *entry) error {
	values, err := a.opt.Settings.Get(e.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, values)
}

// setSettings answers with the settings as they are after the change.
func (a *API) setSettings(w *reply, e *entry) error {
	o, err := readObject(w, e, smallBodyBytes)
	if err != nil {
		return err
	}
	if err := a.opt.Settings.Set(e.Context(), o); err != nil {
		return err
	}
	return a.getSettings(w, e)
}
