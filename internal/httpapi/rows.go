package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/id"
)

// row returns the conversation and the row in it that the path names by its
// position, with the condition of If-Match.
func (a *API) row(w *reply, e *entry) (id.Conversation, chat.Target, error) {
	c, err := a.conversation(w, e)
	if err != nil {
		return "", chat.Target{}, err
	}
	index, err := position(e.parts["idx"], "message")
	if err != nil {
		return "", chat.Target{}, err
	}
	seq, err := ifMatch(e)
	return c, chat.Target{Index: index, Seq: seq}, err
}

// position reads a number of the path that counts from 0. A number that no list
// is long enough for is of something that is not there.
func position(s, what string) (int, error) {
	if s == "" || strings.IndexFunc(s, notDigit) >= 0 {
		return 0, problem(Invalid, "The number of the "+what+" must be a position, counted from 0.")
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, problem(Missing, "There is no "+what+" "+s+".")
	}
	return n, nil
}

func notDigit(r rune) bool { return r < '0' || r > '9' }

// ifMatch returns the seq that the named row must still have, 0 where the client
// does not ask for one. It is a bare number or one in quotes.
func ifMatch(e *entry) (int64, error) {
	values := e.Header.Values("If-Match")
	if len(values) == 0 {
		return 0, nil
	}
	s := values[0]
	if inner, ok := strings.CutPrefix(s, `"`); ok {
		if s, ok = strings.CutSuffix(inner, `"`); !ok {
			s = ""
		}
	}
	seq, err := strconv.ParseInt(s, 10, 64)
	if len(values) > 1 || err != nil || strings.IndexFunc(s, notDigit) >= 0 || seq == 0 {
		return 0, problem(Invalid, "If-Match must be the seq of the row, one number greater than 0.")
	}
	return seq, nil
}

type remaining struct {
	OK        bool `json:"ok"`
	Remaining int  `json:"remaining"`
}

// deleteRow deletes the turn of a row, whichever of its rows is named.
func (a *API) deleteRow(w *reply, e *entry) error {
	c, target, err := a.row(w, e)
	if err != nil {
		return err
	}
	n, err := a.opt.Commands.DeleteMessage(e.Context(), c, target, event.Via{Surface: w.surface})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, remaining{OK: true, Remaining: n})
}
