package httpapi

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/library"
)

type chatList struct {
	Chats []library.Line `json:"chats"`
}

func (a *API) listChats(w *reply, e *entry) error {
	lines, err := a.opt.Library.List(e.Context())
	if err != nil {
		return err
	}
	if lines == nil {
		lines = []library.Line{}
	}
	return writeJSON(w, http.StatusOK, chatList{lines})
}

// conversation returns the conversation that the path names.
func (a *API) conversation(w *reply, e *entry) (id.Conversation, error) {
	name := e.parts["id"]
	if !id.Valid(name) {
		return "", badID("The chat id")
	}
	w.conversation = id.Conversation(name)
	return w.conversation, nil
}

func (a *API) getChat(w *reply, e *entry) error {
	c, err := a.conversation(w, e)
	if err != nil {
		return err
	}
	chat, err := a.opt.Library.Chat(e.Context(), c)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, chat)
}

func (a *API) deleteChat(w *reply, e *entry) error {
	c, err := a.conversation(w, e)
	if err != nil {
		return err
	}
	if err := a.opt.Commands.Delete(e.Context(), c, event.Via{Surface: w.surface}); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, done{OK: true})
}

type deleted struct {
	OK      bool `json:"ok"`
	Deleted int  `json:"deleted"`
}

// deleteChats asks for a word that nobody sends by accident.
func (a *API) deleteChats(w *reply, e *entry) error {
	o, err := readObject(w, e, smallBodyBytes)
	if err != nil {
		return err
	}
	sure, _, err := o.flag("confirm")
	if err != nil {
		return err
	}
	if !sure {
		return problem(Invalid, `Nothing was deleted: send {"confirm": true} to delete every chat.`)
	}
	n, err := a.opt.Commands.DeleteAll(e.Context(), event.Via{Surface: w.surface})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, deleted{OK: true, Deleted: n})
}

// MaxNameRunes is the longest title or project, in code points.
const MaxNameRunes = 200

// patchChat reads and judges all of the change before it makes any.
func (a *API) patchChat(w *reply, e *entry) error {
	c, err := a.conversation(w, e)
	if err != nil {
		return err
	}
	o, err := readObject(w, e, smallBodyBytes)
	if err != nil {
		return err
	}
	title, titled, err := o.label("title")
	if err != nil {
		return err
	}
	project, filed, err := o.label("project")
	switch {
	case err != nil:
		return err
	case !titled && !filed:
		return problem(Invalid, "There is nothing to change: send title, project or both.")
	case titled && title == "":
		return problem(Invalid, "title must not be empty.")
	}
	var p chat.Patch
	if titled {
		p.Title = &title
	}
	if filed {
		p.Project = &project
	}
	if err := a.opt.Commands.Change(e.Context(), c, p); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, done{OK: true})
}

// label reads a name of one line.
func (o object) label(name string) (string, bool, error) {
	s, there, err := o.text(name)
	switch {
	case err != nil || !there:
		return "", false, err
	case utf8.RuneCountInString(s) > MaxNameRunes:
		return "", false, problem(Invalid, name+" may have at most 200 characters.")
	case strings.ContainsFunc(s, unicode.IsControl):
		return "", false, problem(Invalid, name+" must be one line of text.")
	case s != "" && strings.TrimSpace(s) == "":
		return "", false, problem(Invalid, name+" must have a visible character.")
	}
	return s, true, nil
}
