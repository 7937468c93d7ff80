package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"verbatim/internal/surface"
)

// maxDetailBytes is how much of Telegram's own words is repeated.
const maxDetailBytes = 300

// meaning is what an error of Telegram says beyond its code.
type meaning int

const (
	// gone: the chat takes nothing from the bot, or the message can't be edited.
	gone meaning = iota + 1
	// markup: the same words without markup may be taken.
	markup
	// same: the message is so already.
	same
)

// reasons tell apart errors that have one code, 400, by what Telegram writes
// behind "Bad Request: ". The Bot API documents the field, not its values; they are
// those of its own server, https://github.com/tdlib/telegram-bot-api
// (telegram-bot-api/Client.cpp), and, in capitals, of
// https://core.telegram.org/method/messages.sendMessage#possible-errors and
// messages.editMessage beside it.
var reasons = []struct {
	begins string
	means  meaning
}{
	{"message is not modified", same},
	{"can't parse entities", markup},
	{"entities too long", markup},
	{"entities_too_long", markup},
	{"entity_bounds_invalid", markup},
	{"message is too long", markup},
	{"message caption is too long", markup},
	{"message to edit not found", gone},
	{"message can't be edited", gone},
	{"message_id_invalid", gone},
	{"message_author_required", gone},
	{"there is no text in the message to edit", gone},
	{"there is no caption in the message to edit", gone},
	{"chat not found", gone},
	{"group chat was upgraded to a supergroup chat", gone},
	{"group is deactivated", gone},
	{"message thread not found", gone},
	{"topic_closed", gone},
	{"topic_deleted", gone},
	{"peer_id_invalid", gone},
	{"channel_private", gone},
	{"chat_write_forbidden", gone},
	{"chat_restricted", gone},
	{"have no rights to send a message", gone},
	{"need administrator rights in the channel chat", gone},
	{"not enough rights to send text messages to the chat", gone},
}

// means looks up a description.
func means(description string) meaning {
	said := strings.ToLower(description)
	said = strings.TrimPrefix(said, "bad request: ")
	for _, r := range reasons {
		if strings.HasPrefix(said, r.begins) {
			return r.means
		}
	}
	return 0
}

// outcome is what a call that changes something comes to. It is Delivered where
// Telegram says so; whether it also says which message that is, is the caller's to
// see.
func (a answer) outcome() surface.Outcome {
	switch {
	case a.err != nil:
		return unanswered(a)
	case !a.own:
		detail := fmt.Sprintf("the answer, with status %d, is not Telegram's, so it may have the message or not", a.status)
		return surface.Outcome{Class: surface.Unknown, Detail: detail}
	case a.ok:
		return surface.Outcome{Class: surface.Delivered}
	}
	out := surface.Outcome{Class: surface.Refused, Detail: short(fmt.Sprintf("Telegram answered %d: %s", a.code, a.description))}
	switch {
	case a.code == http.StatusTooManyRequests:
		out.Class, out.RetryAfter = surface.NotTaken, a.retryAfter
	case a.code >= 500:
		out.Class = surface.NotTaken
	case a.migrated != 0:
		out.Gone = true
		out.Detail = fmt.Sprintf("the group became a supergroup, which is another chat: %d", a.migrated)
	case a.code == http.StatusForbidden:
		out.Gone = true
	case a.code == http.StatusBadRequest:
		m := means(a.description)
		out.Gone, out.Markup = m == gone, m == markup
	}
	return out
}

// unanswered is what a call without an answer comes to.
func unanswered(a answer) surface.Outcome {
	if !a.sent {
		return surface.Outcome{Class: surface.NotTaken, Detail: short("Telegram was not reached: " + a.err.Error())}
	}
	detail := "the connection broke before an answer came, so Telegram may have the message or not"
	if timedOut(a.err) {
		detail = "no answer came in time, so Telegram may have the message or not"
	}
	return surface.Outcome{Class: surface.Unknown, Detail: detail}
}

func timedOut(err error) bool {
	late, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && late.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

// short cuts words of others to what a receipt can hold, on one line.
func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= maxDetailBytes {
		return s
	}
	cut := maxDetailBytes
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}
