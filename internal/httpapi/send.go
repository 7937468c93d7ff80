package httpapi

import (
	"fmt"
	"net/http"

	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/id"
)

// defaultConversation takes what names no conversation.
const defaultConversation = "default"

// send starts a run, or finds it, and answers with its stream. The body is read
// whole before anything is done, so a broken upload starts nothing.
func (a *API) send(w *reply, e *entry) error {
	cursor, err := cursorOf(e)
	if err != nil {
		return err
	}
	o, err := readObject(w, e, MaxBodyBytes)
	if err != nil {
		return err
	}
	req, err := sendRequest(o)
	if err != nil {
		return err
	}
	if err := aim(e, &req); err != nil {
		return err
	}
	req.Via = event.Via{Surface: w.surface}
	run, err := a.opt.Commands.Send(e.Context(), req)
	if err != nil {
		return err
	}
	w.conversation, w.run = run.Conversation, run.Run
	return a.opt.Streams.ServeRun(w, e.Request, run, cursor)
}

// cursorOf returns the place after which the client wants the stream, nil for
// all of it. The header counts before the query: a browser sets it by itself
// when it comes back, and it is the newer.
func cursorOf(e *entry) (*id.Cursor, error) {
	s := e.Header.Get("Last-Event-ID")
	if s == "" {
		s = e.URL.Query().Get("after")
	}
	if s == "" {
		return nil, nil
	}
	c, err := id.ParseCursor(s)
	if err != nil {
		return nil, problem(Invalid, "Last-Event-ID or after must be the id of an event: <epoch>-<seq>.")
	}
	return &c, nil
}

func sendRequest(o object) (chat.SendRequest, error) {
	var req chat.SendRequest
	conversation, err := o.conversation()
	if err != nil {
		return req, err
	}
	run, _, err := o.text("run_id")
	if err != nil {
		return req, err
	}
	prompt, there, err := o.text("prompt")
	if err != nil {
		return req, err
	}
	again, err := o.row("regenerate_of")
	if err != nil {
		return req, err
	}
	tools, said, err := o.flag("tools")
	if err != nil {
		return req, err
	}
	switch {
	case !id.Valid(conversation):
		return req, badID("chat_id")
	case o.has("run_id") && !id.Valid(run):
		return req, badID("run_id")
	case !there && again == nil:
		return req, problem(Invalid, "prompt is missing; it holds the message.")
	case len(prompt) > chat.MaxPromptBytes:
		return req, problem(TooLarge, "The message is longer than 1 MiB; send a shorter one.")
	}
	req.Conversation, req.Run = id.Conversation(conversation), id.Run(run)
	req.Prompt, req.NoTools = prompt, said && !tools
	if req.Files, err = o.files(); err != nil || again == nil {
		return req, err
	}
	if len(req.Files) > 0 {
		return req, problem(Invalid, "Files can't come with regenerate_of: those of the question are sent again by themselves.")
	}
	req.Regenerate = &chat.Target{Index: *again}
	return req, nil
}

// aim adds the condition of If-Match to an answer that is to be given again.
func aim(e *entry, req *chat.SendRequest) error {
	seq, err := ifMatch(e)
	switch {
	case err != nil || seq == 0:
		return err
	case req.Regenerate == nil:
		return problem(Invalid, "If-Match goes with regenerate_of: it is the seq of the question there.")
	}
	req.Regenerate.Seq = seq
	return nil
}

// conversation returns the id that the client gave, under either name, or the
// default.
func (o object) conversation() (string, error) {
	for _, name := range []string{"chat_id", "session"} {
		c, there, err := o.text(name)
		if err != nil || there {
			return c, err
		}
	}
	return defaultConversation, nil
}

func badID(name string) *Problem {
	return problem(Invalid, fmt.Sprintf("%s may only have letters, digits, dot, dash and underscore: 1 to %d of them.", name, id.MaxBytes))
}

type cancelled struct {
	OK  bool   `json:"ok"`
	Run id.Run `json:"run_id"`
}

func (a *API) cancelByPath(w *reply, e *entry) error { return a.cancel(w, e, e.parts["run_id"]) }

func (a *API) cancelByBody(w *reply, e *entry) error {
	o, err := readObject(w, e, smallBodyBytes)
	if err != nil {
		return err
	}
	run, there, err := o.text("run_id")
	if err == nil && !there {
		err = problem(Invalid, "run_id is missing; it names the run to stop.")
	}
	if err != nil {
		return err
	}
	return a.cancel(w, e, run)
}

func (a *API) cancel(w *reply, e *entry, run string) error {
	if !id.Valid(run) {
		return badID("run_id")
	}
	w.run = id.Run(run)
	if err := a.opt.Commands.Cancel(e.Context(), w.run, owner, event.Via{Surface: w.surface}); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, cancelled{OK: true, Run: w.run})
}

// owner is who holds the token: there is one person behind this wire.
const owner = "owner"
