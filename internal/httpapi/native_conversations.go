package httpapi

import (
	"errors"
	"net/http"

	"verbatim/internal/chat"
	"verbatim/internal/id"
	"verbatim/internal/library"
)

type conversationPage struct {
	Conversations []library.Item `json:"conversations"`
	Next          *string        `json:"next"`
}

func (a *API) listConversations(w *reply, e *entry) error {
	q := queryOf(e)
	var ask library.ListQuery
	var err error
	if ask.Limit, err = q.limit(); err != nil {
		return err
	}
	cursor, err := q.text("cursor")
	if err != nil {
		return err
	}
	if cursor != nil {
		ask.Cursor = *cursor
	}
	if ask.Project, err = q.text("project"); err != nil {
		return err
	}
	if ask.Archived, err = q.flag("archived"); err != nil {
		return err
	}
	page, err := a.opt.Library.Page(e.Context(), ask)
	if errors.Is(err, library.ErrCursor) {
		return badCursor()
	}
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, conversationPage{page.Items, orNull(page.Next)})
}

func badCursor() *Problem {
	return problem(Invalid, "?cursor= must be the next of an earlier answer.")
}

// orNull returns nil for an empty text.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// whole is a conversation with the cursor behind which its events go on.
type whole struct {
	library.Conversation
	Cursor string `json:"cursor"`
}

func (a *API) getConversation(w *reply, e *entry) error {
	c, err := a.conversation(w, e)
	if err != nil {
		return err
	}
	found, err := a.opt.Library.Conversation(e.Context(), c)
	if err != nil {
		return err
	}
	cursor := id.Cursor{Epoch: a.opt.Epoch, Seq: found.LastSeq}
	return writeJSON(w, http.StatusOK, whole{found, cursor.String()})
}

// patchConversation reads and judges all of the change before it makes any, and
// answers with the conversation's line as it is then.
func (a *API) patchConversation(w *reply, e *entry) error {
	c, err := a.conversation(w, e)
	if err != nil {
		return err
	}
	o, err := readObject(w, e, smallBodyBytes)
	if err != nil {
		return err
	}
	p, err := patchOf(o)
	if err != nil {
		return err
	}
	if p == (chat.Patch{}) {
		return problem(Invalid, "There is nothing to change: send title, project, pinned, archived, model or read.")
	}
	if err := a.opt.Commands.Change(e.Context(), c, p); err != nil {
		return err
	}
	item, err := a.opt.Library.Item(e.Context(), c)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, item)
}

func patchOf(o object) (chat.Patch, error) {
	var p chat.Patch
	for name, to := range map[string]**string{"title": &p.Title, "project": &p.Project, "model": &p.Model} {
		s, there, err := o.label(name)
		if err != nil {
			return p, err
		}
		if there {
			*to = &s
		}
	}
	for name, to := range map[string]**bool{"pinned": &p.Pinned, "archived": &p.Archived} {
		v, there, err := o.flag(name)
		if err != nil {
			return p, err
		}
		if there {
			*to = &v
		}
	}
	seq, there, err := read[int64](o, "read", "the seq of the last record that was seen")
	if err != nil {
		return p, err
	}
	if there {
		p.Read = &seq
	}
	if p.Title != nil && *p.Title == "" {
		return p, problem(Invalid, "title must not be empty.")
	}
	return p, nil
}

// conversationEvents answers with the records of a conversation in native form.
// What was deleted is hidden at once, also from who knows its id.
func (a *API) conversationEvents(w *reply, e *entry) error {
	cursor, err := cursorOf(e)
	if err != nil {
		return err
	}
	c, err := a.conversation(w, e)
	if err != nil {
		return err
	}
	follow, err := queryOf(e).is("follow", true)
	if err != nil {
		return err
	}
	if _, err := a.opt.Library.Item(e.Context(), c); err != nil {
		return err
	}
	return a.opt.Streams.ServeConversation(w, e.Request, c, cursor, follow)
}
