package httpapi

import (
	"errors"
	"net/http"

	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/library"
	"verbatim/internal/turnlog"
)

type startedRun struct {
	Run          id.Run          `json:"run_id"`
	Conversation id.Conversation `json:"conversation"`
	// State is started, queued, or, for an id that was used before, dropped.
	State string `json:"state"`
}

func writeStarted(w *reply, run turnlog.RunInfo) error {
	w.conversation, w.run = run.Conversation, run.Run
	state := "started"
	switch {
	case run.Dropped > 0:
		state = "dropped"
	case run.First == 0:
		state = "queued"
	}
	return writeJSON(w, http.StatusAccepted, startedRun{run.Run, run.Conversation, state})
}

// startRun takes a message, or finds the run of a known run_id, and answers once
// it is stored.
func (a *API) startRun(w *reply, e *entry) error {
	o, err := readObject(w, e, MaxBodyBytes)
	if err != nil {
		return err
	}
	req, err := a.runRequest(e, o)
	if err != nil {
		return err
	}
	req.Via = event.Via{Surface: w.surface}
	run, err := a.opt.Commands.Send(e.Context(), req)
	if err != nil {
		return err
	}
	return writeStarted(w, run)
}

func (a *API) runRequest(e *entry, o object) (chat.SendRequest, error) {
	var req chat.SendRequest
	var err error
	if req.Conversation, err = o.conversationID(e); err != nil {
		return req, err
	}
	if req.Run, err = o.runID(e); err != nil {
		return req, err
	}
	tools, said, err := o.flag("tools")
	if err != nil {
		return req, err
	}
	req.NoTools = said && !tools
	again, isAgain, err := o.text("regenerate_of")
	if err != nil {
		return req, err
	}
	if req.Files, err = a.runFiles(o); err != nil {
		return req, err
	}
	if !isAgain {
		req.Prompt, err = o.message("prompt")
		return req, err
	}
	switch {
	case !id.Valid(again):
		return req, badID("regenerate_of")
	case len(req.Files) > 0:
		return req, problem(Invalid, "Files can't come with regenerate_of: those of the question are sent again by themselves.")
	}
	req.Regenerate = &chat.Target{Message: id.Message(again)}
	return req, nil
}

// conversationID returns the conversation that a body names, or a new one.
func (o object) conversationID(e *entry) (id.Conversation, error) {
	c, there, err := o.text("conversation")
	switch {
	case err != nil:
		return "", err
	case !there:
		return mintFor(e).Conversation(), nil
	case !id.Valid(c):
		return "", badID("conversation")
	}
	return id.Conversation(c), nil
}

// runID returns the id that a body chose for its run. Under an idempotency key
// one that it did not choose is always the same: a run is never started twice,
// even when the answer to the first request was lost with the process.
func (o object) runID(e *entry) (id.Run, error) {
	run, there, err := o.text("run_id")
	switch {
	case err != nil:
		return "", err
	case !there:
		return mintFor(e).Run(), nil
	case !id.Valid(run):
		return "", badID("run_id")
	}
	return id.Run(run), nil
}

// namedRun looks up the run that the path names.
func (a *API) namedRun(w *reply, e *entry) (turnlog.RunInfo, error) {
	name := e.parts["id"]
	if !id.Valid(name) {
		return turnlog.RunInfo{}, badID("The run id")
	}
	w.run = id.Run(name)
	run, err := a.opt.Runs.Run(e.Context(), w.run)
	if err == nil {
		w.conversation = run.Conversation
	}
	return run, err
}

func (a *API) getRun(w *reply, e *entry) error {
	info, err := a.namedRun(w, e)
	if err != nil {
		return err
	}
	run, err := a.opt.Library.RunStatus(e.Context(), info)
	if errors.Is(err, library.ErrMissing) {
		return turnlog.ErrNoRun
	}
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, run)
}

func (a *API) cancelRun(w *reply, e *entry) error {
	name := e.parts["id"]
	if !id.Valid(name) {
		return badID("The run id")
	}
	w.run = id.Run(name)
	if err := a.opt.Commands.Cancel(e.Context(), w.run, owner, event.Via{Surface: w.surface}); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, cancelled{OK: true, Run: w.run})
}

// runEvents answers with the records of a run in native form.
func (a *API) runEvents(w *reply, e *entry) error {
	cursor, err := cursorOf(e)
	if err != nil {
		return err
	}
	info, err := a.namedRun(w, e)
	if err != nil {
		return err
	}
	// What was deleted is hidden at once, also from who knows its id.
	_, err = a.opt.Library.RunStatus(e.Context(), info)
	if errors.Is(err, library.ErrMissing) {
		return turnlog.ErrNoRun
	}
	if err != nil {
		return err
	}
	return a.opt.Streams.ServeNative(w, e.Request, info, cursor)
}
