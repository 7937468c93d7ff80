package httpapi

import (
	"context"
	"net/http"

	"verbatim/internal/chat"
)

// Models tells which models can answer.
type Models interface {
	// Models lists what can run, and of the rest what people would look for,
	// with the reason why it can't. One is current: that which the next run
	// would ask.
	Models(ctx context.Context) ([]Model, error)
}

// Model is a line of the list of models.
type Model struct {
	// Name is as the setting model takes it: provider/name.
	Name      string `json:"name"`
	Available bool   `json:"available"`
	// Reason tells a person why it is not available.
	Reason  string `json:"reason,omitempty"`
	Current bool   `json:"current"`
}

type modelList struct {
	Models []Model `json:"models"`
}

func (a *API) listModels(w *reply, e *entry) error {
	models, err := a.opt.Models.Models(e.Context())
	if err != nil {
		return err
	}
	if models == nil {
		models = []Model{}
	}
	return writeJSON(w, http.StatusOK, modelList{models})
}

type settingSchema struct {
	Settings []chat.SettingSpec `json:"settings"`
}

func (a *API) getSchema(w *reply, _ *entry) error {
	return writeJSON(w, http.StatusOK, settingSchema{a.opt.Settings.Schema()})
}
