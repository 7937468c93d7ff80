package httpapi

import (
	"errors"
	"net/http"

	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/library"
)

func (a *API) listMessages(w *reply, e *entry) error {
	c, err := a.conversation(w, e)
	if err != nil {
		return err
	}
	q := queryOf(e)
	limit, err := q.limit()
	if err != nil {
		return err
	}
	before, err := q.count("before")
	if err != nil {
		return err
	}
	page, err := a.opt.Library.Messages(e.Context(), c, before, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, page)
}

// message returns the conversation and the message that the path names.
func (a *API) message(w *reply, e *entry) (id.Conversation, id.Message, error) {
	c, err := a.conversation(w, e)
	if err != nil {
		return "", "", err
	}
	m := e.parts["message_id"]
	if !id.Valid(m) {
		return "", "", badID("The message id")
	}
	return c, id.Message(m), nil
}

type forkedConversation struct {
	ID id.Conversation `json:"id"`
}

func (a *API) forkConversation(w *reply, e *entry) error {
	c, err := a.conversation(w, e)
	if err != nil {
		return err
	}
	o, err := readObject(w, e, smallBodyBytes)
	if err != nil {
		return err
	}
	m, there, err := o.text("message_id")
	switch {
	case err != nil:
		return err
	case !there:
		return problem(Invalid, "message_id is missing; it names the last message that is copied.")
	case !id.Valid(m):
		return badID("message_id")
	}
	copied, err := a.opt.Commands.Fork(e.Context(), c, chat.Target{Message: id.Message(m)})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, forkedConversation{copied})
}

type deletedTurn struct {
	undoable
	Remaining int `json:"remaining"`
	// Question is the user message of the turn.
	Question id.Message `json:"message_id"`
}

func (a *API) deleteMessage(w *reply, e *entry) error {
	c, m, err := a.message(w, e)
	if err != nil {
		return err
	}
	question, err := a.question(e, c, m)
	if err != nil {
		return err
	}
	n, err := a.opt.Commands.DeleteMessage(e.Context(), c, chat.Target{Message: m}, event.Via{Surface: w.surface})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, deletedTurn{undoable{OK: true, Until: a.undoUntil()}, n, question})
}

// question finds the user message of a turn by either of its messages.
func (a *API) question(e *entry, c id.Conversation, m id.Message) (id.Message, error) {
	question, err := a.opt.Library.Question(e.Context(), c, m)
	if errors.Is(err, library.ErrMissing) {
		return "", problem(Missing, "There is no message "+string(m)+" in this conversation.")
	}
	return question, err
}

// restoreMessage brings a turn back, whichever of its messages is named.
func (a *API) restoreMessage(w *reply, e *entry) error {
	c, m, err := a.message(w, e)
	if err != nil {
		return err
	}
	question, err := a.question(e, c, m)
	if err != nil {
		return err
	}
	if err := a.opt.Commands.RestoreMessage(e.Context(), c, question); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, done{OK: true})
}

type chosenVersion struct {
	Run    id.Run `json:"run_id"`
	Active int    `json:"active"`
	Count  int    `json:"count"`
}

// chooseVersion shows another version of an answer, named by its run or by its
// place among the versions.
func (a *API) chooseVersion(w *reply, e *entry) error {
	c, m, err := a.message(w, e)
	if err != nil {
		return err
	}
	o, err := readObject(w, e, smallBodyBytes)
	if err != nil {
		return err
	}
	n, err := a.versionOf(e, o, c, m)
	if err != nil {
		return err
	}
	v, err := a.opt.Commands.SetVersion(e.Context(), c, chat.Target{Message: m}, n)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, chosenVersion{Run: v.Run, Active: v.Active, Count: v.Count})
}

func (a *API) versionOf(e *entry, o object, c id.Conversation, m id.Message) (int, error) {
	run, named, err := o.text("run_id")
	if err != nil {
		return 0, err
	}
	n, counted, err := read[int](o, "n", "the number of a version, from 0")
	switch {
	case err != nil:
		return 0, err
	case named == counted:
		return 0, problem(Invalid, "Send either run_id or n; it names the version to show.")
	case counted && n < 0:
		return 0, problem(Invalid, "n must be the number of a version, from 0.")
	case counted:
		return n, nil
	case !id.Valid(run):
		return 0, badID("run_id")
	}
	n, err = a.opt.Library.Version(e.Context(), c, m, id.Run(run))
	if errors.Is(err, library.ErrMissing) {
		return 0, problem(Missing, "Run "+run+" is no version of this message.")
	}
	return n, err
}

// editMessage forks the conversation before a question and sends it there with
// another text.
func (a *API) editMessage(w *reply, e *entry) error {
	c, m, err := a.message(w, e)
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
	req := chat.SendRequest{Prompt: text, Via: event.Via{Surface: w.surface}}
	if req.Run, err = o.runID(e); err != nil {
		return err
	}
	tools, said, err := o.flag("tools")
	if err != nil {
		return err
	}
	req.NoTools = said && !tools
	run, err := a.opt.Commands.EditAndSend(e.Context(), c, chat.Target{Message: m}, req)
	if err != nil {
		return err
	}
	return writeStarted(w, run)
}

// message reads a text that goes to the model.
func (o object) message(name string) (string, error) {
	text, there, err := o.text(name)
	switch {
	case err != nil:
		return "", err
	case !there:
		return "", problem(Invalid, name+" is missing; it holds the message.")
	case len(text) > chat.MaxPromptBytes:
		return "", problem(TooLarge, "The message is longer than 1 MiB; send a shorter one.")
	}
	return text, nil
}
