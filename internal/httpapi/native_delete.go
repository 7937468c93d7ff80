package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/id"
)

// undoable is the answer to a deletion that can be undone.
type undoable struct {
	OK bool `json:"ok"`
	// Until is RFC 3339, in whole seconds.
	Until string `json:"undo_until"`
}

// undoUntil is until when what was deleted just now can be brought back.
func (a *API) undoUntil() string {
	return a.opt.Now().Add(chat.UndoTime).UTC().Truncate(time.Second).Format(time.RFC3339)
}

func (a *API) deleteConversation(w *reply, e *entry) error {
	c, err := a.conversation(w, e)
	if err != nil {
		return err
	}
	if err := a.opt.Commands.Delete(e.Context(), c, event.Via{Surface: w.surface}); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, undoable{OK: true, Until: a.undoUntil()})
}

func (a *API) restoreConversation(w *reply, e *entry) error {
	c, err := a.conversation(w, e)
	if err != nil {
		return err
	}
	if err := a.opt.Commands.Restore(e.Context(), c); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, done{OK: true})
}

// MaxDeleted is how many conversations one request can name.
const MaxDeleted = 1000

type deletedMany struct {
	undoable
	Deleted int `json:"deleted"`
	// Missing were not there, or were deleted before.
	Missing []id.Conversation `json:"missing"`
}

// deleteConversations deletes those that are named, or all. It asks for a word
// that nobody sends by accident.
func (a *API) deleteConversations(w *reply, e *entry) error {
	o, err := readObject(w, e, smallBodyBytes)
	if err != nil {
		return err
	}
	sure, _, err := o.flag("confirm")
	if err != nil {
		return err
	}
	if !sure {
		return problem(Invalid, `Nothing was deleted: send {"confirm": true} to delete every conversation, or with "ids" those.`)
	}
	names, named, err := o.conversations()
	if err != nil {
		return err
	}
	out := deletedMany{Missing: []id.Conversation{}}
	via := event.Via{Surface: w.surface}
	if !named {
		out.Deleted, err = a.opt.Commands.DeleteAll(e.Context(), via)
	}
	for _, c := range names {
		var refused *chat.Error
		err = a.opt.Commands.Delete(e.Context(), c, via)
		switch {
		case errors.As(err, &refused) && refused.Code == chat.Missing:
			out.Missing, err = append(out.Missing, c), nil
			continue
		case err != nil:
			return err
		}
		out.Deleted++
	}
	if err != nil {
		return err
	}
	out.undoable = undoable{OK: true, Until: a.undoUntil()}
	return writeJSON(w, http.StatusOK, out)
}

// conversations reads the list of ids that a body may have.
func (o object) conversations() (list []id.Conversation, named bool, err error) {
	list, named, err = read[[]id.Conversation](o, "ids", "a list of ids")
	if err != nil {
		return nil, false, err
	}
	if len(list) > MaxDeleted {
		return nil, false, problem(Invalid, fmt.Sprintf("Nothing was deleted: ids may have at most %d of them.", MaxDeleted))
	}
	for _, c := range list {
		if !id.Valid(string(c)) {
			return nil, false, badID("Nothing was deleted: each of ids")
		}
	}
	return list, named, nil
}
