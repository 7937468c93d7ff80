package httpapi

import (
	"net/http"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/library"
)

func (a *API) getQueue(w *reply, e *entry) error {
	c, err := a.conversation(w, e)
	if err != nil {
		return err
	}
	return a.writeQueue(w, e, c)
}

func (a *API) writeQueue(w *reply, e *entry, c id.Conversation) error {
	q, err := a.opt.Commands.Queue(e.Context(), c)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, library.NewQueue(q.Held, q.Waiting, q.Returned))
}

// queued returns the conversation and the run that the path names.
func (a *API) queued(w *reply, e *entry) (id.Conversation, id.Run, error) {
	c, err := a.conversation(w, e)
	if err != nil {
		return "", "", err
	}
	run := e.parts["run_id"]
	if !id.Valid(run) {
		return "", "", badID("The run id")
	}
	w.run = id.Run(run)
	return c, w.run, nil
}

// editQueued answers with the queue as it is then; so do the other commands.
func (a *API) editQueued(w *reply, e *entry) error {
	c, run, err := a.queued(w, e)
	if err != nil {
		return err
	}
	o, err := readObject(w, e, MaxBodyBytes)
	if err != nil {
		return err
	}
	text, err := o.message("text")
	if err != nil {
		return err
	}
	if err := a.opt.Commands.EditQueued(e.Context(), c, run, text, event.Via{Surface: w.surface}); err != nil {
		return err
	}
	return a.writeQueue(w, e, c)
}

func (a *API) removeQueued(w *reply, e *entry) error {
	c, run, err := a.queued(w, e)
	if err != nil {
		return err
	}
	if err := a.opt.Commands.RemoveQueued(e.Context(), c, run, event.Via{Surface: w.surface}); err != nil {
		return err
	}
	return a.writeQueue(w, e, c)
}

func (a *API) resumeQueue(w *reply, e *entry) error {
	c, err := a.conversation(w, e)
	if err != nil {
		return err
	}
	if err := a.opt.Commands.Resume(e.Context(), c, event.Via{Surface: w.surface}); err != nil {
		return err
	}
	return a.writeQueue(w, e, c)
}
