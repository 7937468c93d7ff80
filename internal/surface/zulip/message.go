package zulip

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"verbatim/internal/surface"
)

// account is who the bot is on the server.
type account struct {
	id   int64
	name string
}

// me returns who the bot is, asking once.
func (b *bot) me(ctx context.Context) (account, error) {
	if known := b.self.Load(); known != nil {
		return *known, nil
	}
	return b.askMe(ctx)
}

func (b *bot) askMe(ctx context.Context) (account, error) {
	var me account
	err := b.ask(ctx, http.MethodGet, "users/me", nil, func(name string, dec *json.Decoder) error {
		switch name {
		case "user_id":
			return dec.Decode(&me.id)
		case "full_name":
			return dec.Decode(&me.name)
		}
		return errSkip
	})
	if err == nil && me.id <= 0 {
		err = errors.New("the server did not say who the bot is")
	}
	if err != nil {
		return account{}, err
	}
	b.self.Store(&me)
	return me, nil
}

// message is what is read of Zulip's (https://zulip.com/api/get-messages).
type message struct {
	ID          int64     `json:"id"`
	Type        string    `json:"type"`
	Stream      int64     `json:"stream_id"`
	Topic       string    `json:"subject"`
	Recipient   recipient `json:"display_recipient"`
	SenderID    int64     `json:"sender_id"`
	SenderEmail string    `json:"sender_email"`
	SenderName  string    `json:"sender_full_name"`
	Realm       string    `json:"sender_realm_str"`
	Content     string    `json:"content"`
	Timestamp   int64     `json:"timestamp"`
	Flags       []string  `json:"flags"`
}

// systemRealm is where Zulip's own bots are at home, such as Notification Bot.
const systemRealm = "zulipinternal"

// recipient is the name of a channel, or the people of a direct conversation, the
// bot among them.
type recipient struct {
	name   string
	people []int64
}

func (r *recipient) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &r.name)
	}
	var people []struct {
		ID int64 `json:"id"`
	}
	err := json.Unmarshal(raw, &people)
	for _, p := range people {
		r.people = append(r.people, p.ID)
	}
	return err
}

// readMessage reads a message. A field of a new type is as good as a missing one,
// as long as the message has an id.
func readMessage(raw json.RawMessage) (message, error) {
	var m message
	err := json.Unmarshal(raw, &m)
	if m.ID > 0 && odd(err) {
		err = nil
	}
	return m, err
}

// odd reports whether a JSON value was read but for fields of another type.
func odd(err error) bool {
	_, ok := errors.AsType[*json.UnmarshalTypeError](err)
	return ok
}

func (m message) seen() surface.Seen {
	return surface.Seen{
		PlatformID: strconv.FormatInt(m.ID, 10),
		Text:       m.Content,
		At:         time.Unix(m.Timestamp, 0),
	}
}

// place is the chat of a message.
func (m message) place(me account) place {
	if m.Type == "stream" || m.Type == "channel" {
		return place{stream: m.Stream, topic: m.Topic}
	}
	others := slices.DeleteFunc(slices.Clone(m.Recipient.people), func(id int64) bool { return id == me.id })
	return place{people: others}
}

// others reports whether a message is a person's: the bot's own are left alone,
// and those of Zulip's own bots.
func (m message) others(me account) bool {
	return m.SenderID != me.id && m.Realm != systemRealm
}

// inbound makes of a message what an inbox takes; its files are still missing.
func (b *bot) inbound(m message, me account) surface.Message {
	at := m.place(me)
	out := surface.Message{
		ID:   strconv.FormatInt(m.ID, 10),
		Chat: at.chat(),
		Sender: surface.Person{
			ID:    m.SenderEmail,
			Name:  m.SenderName,
			Other: []string{strconv.FormatInt(m.SenderID, 10)},
		},
		Text:      me.unmention(m.Content),
		At:        time.Unix(m.Timestamp, 0),
		Direct:    at.stream == 0 && len(at.people) == 1,
		Mentioned: slices.Contains(m.Flags, "mentioned") || me.quotedIn(m.Content),
	}
	if at.stream != 0 {
		out.Mentioned = out.Mentioned || b.listen[strings.ToLower(m.Recipient.name)]
		out.Fields = map[string]string{"thread": m.Topic, "channel": m.Recipient.name}
	}
	return out
}

// unmention takes the mention of the account off the start of a text.
func (a account) unmention(text string) string {
	after, found := strings.CutPrefix(strings.TrimLeftFunc(text, isSpace), "@**")
	if !found {
		return text
	}
	name, rest, found := strings.Cut(after, "**")
	if !found || !a.named(name) {
		return text
	}
	rest = strings.TrimLeft(rest, " \t")
	if strings.HasPrefix(rest, ",") || strings.HasPrefix(rest, ":") {
		rest = strings.TrimLeft(rest[1:], " \t")
	}
	// Blank lines go, the indentation of the first line that is none stays.
	visible := strings.IndexFunc(rest, func(r rune) bool { return !isSpace(r) })
	if visible < 0 {
		return ""
	}
	return rest[strings.LastIndexByte(rest[:visible], '\n')+1:]
}

// named reports whether a mention, "name", "name|id" or "|id", means the account.
func (a account) named(name string) bool {
	if i := strings.LastIndexByte(name, '|'); i >= 0 && name[i+1:] == strconv.FormatInt(a.id, 10) {
		return true
	}
	return strings.EqualFold(name, a.name)
}

// quotedIn reports whether a text begins as Zulip's "quote message" does, which
// mentions the one who is quoted without waking them.
func (a account) quotedIn(text string) bool {
	after, found := strings.CutPrefix(text, "@_**")
	if !found {
		return false
	}
	name, rest, _ := strings.Cut(after, "**")
	return a.named(name) && strings.HasPrefix(rest, " [said](")
}

// asRefusal returns the answer of Zulip's own that an error is.
func asRefusal(err error) (*refusal, bool) { return errors.AsType[*refusal](err) }
