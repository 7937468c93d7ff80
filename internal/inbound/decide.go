package inbound

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"verbatim/internal/approval"
	"verbatim/internal/delivery"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/surface"
	"verbatim/internal/turnlog"
)

// request is a request for approval that somebody wants to decide about.
type request struct {
	approval     id.Approval
	conversation id.Conversation
	run          id.Run
	// waits says that it was waiting when it was looked for.
	waits bool
}

func requestOf(p approval.Pending) request {
	return request{p.Approval, p.Conversation, p.Run, true}
}

// shown reports whether a run is shown in a chat: nobody decides from a chat about
// what that chat does not show.
func (in *Inbox) shown(ctx context.Context, a delivery.Address, run id.Run) (bool, error) {
	receipts, err := in.opt.Store.Receipts(ctx, run)
	if err != nil {
		return false, fmt.Errorf("look where run %s is shown: %w", run, err)
	}
	return slices.ContainsFunc(receipts, func(r delivery.Receipt) bool { return r.Binding.Address == a }), nil
}

// waitingIn returns the requests of a chat that wait, oldest first.
func (in *Inbox) waitingIn(ctx context.Context, a delivery.Address) ([]approval.Pending, error) {
	var here []approval.Pending
	for _, p := range in.opt.Desk.Pending() {
		ok, err := in.shown(ctx, a, p.Run)
		if err != nil {
			return nil, err
		}
		if ok {
			here = append(here, p)
		}
	}
	return here, nil
}

// looksLikeCode reports whether a word is taken for the name of a request: its
// code, or its id.
func looksLikeCode(word string) bool {
	if strings.HasPrefix(strings.ToLower(word), "a_") {
		return true
	}
	return len(word) == len(delivery.ReplyCode("")) && strings.IndexFunc(word, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) < 0
}

// is reports whether a word names a request, by its code or its id.
func is(a id.Approval, word string) bool {
	return strings.EqualFold(word, delivery.ReplyCode(a)) || strings.EqualFold(word, string(a))
}

// named returns the requests that a word names: more than one where two have the
// same code.
func named(list []approval.Pending, word string) []approval.Pending {
	var found []approval.Pending
	for _, p := range list {
		if is(p.Approval, word) {
			found = append(found, p)
		}
	}
	return found
}

// labelled is a request in a few words, with the name to use for it: its code, or
// its id where another one has the same code.
func labelled(list []approval.Pending, p approval.Pending) string {
	name := delivery.ReplyCode(p.Approval)
	if len(named(list, name)) > 1 {
		name = string(p.Approval)
	}
	return quoted(name) + ", " + quoted(p.Name) + " (" + string(p.Risk) + " risk)"
}

// decide carries out /allow, /always and /deny.
func (l *lane) decide(ctx context.Context, r delivery.Inbound, c command) (line string, err error) {
	word, note := c.args, ""
	if i := strings.IndexFunc(c.args, unicode.IsSpace); i >= 0 {
		word, note = c.args[:i], c.args[i:]
	}
	if c.name == commandDeny && !looksLikeCode(word) {
		word, note = "", c.args
	}
	if c.name != commandDeny {
		note = ""
	}
	q, line, err := l.choose(ctx, r, word)
	if err != nil || line != "" {
		return line, err
	}
	may, err := l.in.mayDecide(ctx, r.Sender, q.conversation, q.run)
	if err != nil {
		return "", err
	}
	if !may {
		return quoted(by(r.Sender)) + ": " + l.in.notYours(q), nil
	}
	err = l.in.opt.Desk.Decide(ctx, q.approval, approval.Decision{
		Choice: choices[c.name], By: by(r.Sender), Via: l.in.via(r.Chat, r.Sender), Note: strings.TrimSpace(note),
	})
	switch {
	case err == nil && q.waits:
		// The request's own post says so.
		return "", nil
	case err == nil:
		return "That was decided so before.", nil
	}
	return told(err)
}

// told is what a person reads about a decision that was not taken. An error that
// is no answer stays one.
func told(err error) (string, error) {
	if !errors.Is(err, approval.ErrUnknown) && !errors.Is(err, approval.ErrDecided) && !errors.Is(err, approval.ErrInvalid) {
		return "", fmt.Errorf("decide about a request: %w", err)
	}
	text := err.Error()
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + ".", nil
}

var choices = map[string]event.Decision{
	commandAllow: event.DecisionAllow, commandAlways: event.DecisionAlways, commandDeny: event.DecisionDeny,
}

// choose finds the request that a word names, or the only one that waits where it
// names none. A line says why there is none.
func (l *lane) choose(ctx context.Context, r delivery.Inbound, word string) (q request, line string, err error) {
	waiting, err := l.in.waitingIn(ctx, l.to)
	if err != nil {
		return request{}, "", err
	}
	found := waiting
	if word != "" {
		found = named(waiting, word)
	}
	switch {
	case len(found) == 1:
		return requestOf(found[0]), "", nil
	case len(found) > 1:
		var list strings.Builder
		for _, p := range found {
			list.WriteString("\n- " + labelled(waiting, p))
		}
		return request{}, "Which one? Nothing was decided. These wait:" + list.String(), nil
	case word == "":
		return request{}, "Nothing waits for a decision here.", nil
	}
	q, ok, err := l.past(ctx, r.Conversation, word)
	if err != nil || ok {
		return q, "", err
	}
	return request{}, "No request " + quoted(word) + " waits here; nothing was decided.", nil
}

// past finds the newest request of a conversation that a word names and that may
// wait no more.
func (l *lane) past(ctx context.Context, c id.Conversation, word string) (q request, ok bool, err error) {
	state, err := l.in.facts(ctx, c)
	if err != nil {
		return request{}, false, err
	}
	for _, t := range slices.Backward(state.Turns) {
		for _, run := range slices.Backward(t.Runs) {
			for _, p := range slices.Backward(run.Parts) {
				if p.Tool != nil && p.Tool.Request != nil && is(p.Tool.Request.Approval, word) {
					return request{approval: p.Tool.Request.Approval, conversation: c, run: run.ID}, true, nil
				}
			}
		}
	}
	return request{}, false, nil
}

// notYours tells a person who may not decide.
func (in *Inbox) notYours(q request) string {
	who := "only those whom `may_decide` names"
	if len(in.opt.MayDecide) == 0 {
		who = "only the person who asked for this answer"
	}
	line := who + " may decide about this request. Nothing was decided"
	if q.waits {
		line += ", and it still waits"
	}
	return line + "."
}

// Press takes a press of a button of a request for approval. It decides nothing
// unless this chat shows the request and the person may decide about it; the line
// says what came of it. The same press again decides nothing new.
func (in *Inbox) Press(ctx context.Context, p surface.Press) (string, error) {
	if err := in.begin(); err != nil {
		return "", err
	}
	defer in.all.Done()
	a, choice, ok := parseButton(p.Data)
	if !ok {
		return "This button does nothing here.", nil
	}
	q, known, err := in.lookUp(ctx, in.address(p.Chat), a)
	if err != nil {
		return "", err
	}
	if !known {
		return told(approval.ErrUnknown)
	}
	may, err := in.mayDecide(ctx, p.Sender, q.conversation, q.run)
	if err != nil {
		return "", err
	}
	if !may {
		return plain(in.notYours(q)), nil
	}
	err = in.opt.Desk.Decide(ctx, a, approval.Decision{Choice: choice, By: by(p.Sender), Via: in.via(p.Chat, p.Sender)})
	if err != nil {
		return told(err)
	}
	return pressed[choice], nil
}

// lookUp finds a request by its id, if the chat shows it.
func (in *Inbox) lookUp(ctx context.Context, chat delivery.Address, a id.Approval) (q request, known bool, err error) {
	info, err := in.opt.Log.Approval(ctx, a)
	if errors.Is(err, turnlog.ErrNoApproval) {
		return request{}, false, nil
	}
	if err != nil {
		return request{}, false, fmt.Errorf("look up approval %s: %w", a, err)
	}
	known, err = in.shown(ctx, chat, info.Run)
	return request{approval: a, conversation: info.Conversation, run: info.Run, waits: info.Resolved == 0}, known, err
}

var pressed = map[event.Decision]string{
	event.DecisionAllow: "Allowed.", event.DecisionAlways: "Allowed, from now on always.", event.DecisionDeny: "Denied.",
}

// plain is a line without markup, for people who see it outside the chat.
func plain(line string) string {
	line = strings.ReplaceAll(line, "`", "")
	return strings.ToUpper(line[:1]) + line[1:]
}

// parseButton reads what delivery.ButtonData wrote.
func parseButton(data string) (a id.Approval, d event.Decision, ok bool) {
	name, choice, found := strings.Cut(strings.TrimPrefix(data, "a:"), ":")
	a, d = id.Approval(name), event.Decision(choice)
	_, known := pressed[d]
	return a, d, found && known && data == delivery.ButtonData(a, d)
}
