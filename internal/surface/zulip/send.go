package zulip

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"unicode/utf8"

	"verbatim/internal/surface"
)

// badChat is the outcome for a chat that is none of Zulip's.
func badChat(chat surface.Chat) surface.Outcome {
	return surface.Outcome{
		Class:  surface.Refused,
		Detail: fmt.Sprintf("%q is no chat of Zulip; one is stream:<id> with a topic, or direct:<user ids>", chat.ID),
	}
}

// Send makes a message. Its files are uploaded before it and shown as links under
// its text; when one can't be, nothing is shown at all.
func (b *bot) Send(ctx context.Context, chat surface.Chat, p surface.Post) surface.Outcome {
	to, ok := parseChat(chat)
	if !ok {
		return badChat(chat)
	}
	content, out := b.compose(ctx, p)
	if out.Class != "" {
		return out
	}
	form := url.Values{"content": {content}}
	if to.stream != 0 {
		form.Set("type", "stream")
		form.Set("to", strconv.FormatInt(to.stream, 10))
		form.Set("topic", to.topicName())
	} else {
		form.Set("type", "direct")
		form.Set("to", encode(to.people))
	}
	if queue := b.queue.Load(); queue != nil {
		form.Set("queue_id", *queue)
		form.Set("local_id", p.ID)
	}
	req, err := b.request(ctx, http.MethodPost, "messages", form)
	if err != nil {
		return surface.Outcome{Class: surface.Refused, Detail: "no request can be made of this post"}
	}
	r, out := b.do(req)
	switch out.Class {
	case surface.Delivered:
		return b.named(r, out)
	case surface.Refused:
		out.Markup = markup(r, p)
		out.Gone = r.Code == "STREAM_DOES_NOT_EXIST"
	case surface.NotTaken, surface.Unknown:
	}
	return out
}

// named adds the id that the server gave. Without one nobody can say which
// message it was, so whether there is one is asked for.
func (b *bot) named(r reply, out surface.Outcome) surface.Outcome {
	var id int64
	if r.field("id", &id) != nil || id <= 0 {
		out.Class, out.Detail = surface.Unknown, "Zulip said that it has the message, but not which it is"
		return out
	}
	out.PlatformID = strconv.FormatInt(id, 10)
	return out
}

// markup reports whether the server could not make sense of the markup, which it
// tells by this text alone (https://zulip.com/api/render-message).
func markup(r reply, p surface.Post) bool {
	return !p.Plain && r.Msg == "Unable to render message"
}

// Edit replaces the text of a message, and its files with it. Zulip takes the
// same text once more.
func (b *bot) Edit(ctx context.Context, chat surface.Chat, platformID string, p surface.Post) surface.Outcome {
	if _, ok := parseChat(chat); !ok {
		return badChat(chat)
	}
	if _, ok := parseID(platformID); !ok {
		return surface.Outcome{Class: surface.Refused, Gone: true, Detail: fmt.Sprintf("%q is no message of Zulip", platformID)}
	}
	content, out := b.compose(ctx, p)
	if out.Class != "" {
		return out
	}
	req, err := b.request(ctx, http.MethodPatch, "messages/"+platformID, url.Values{"content": {content}})
	if err != nil {
		return surface.Outcome{Class: surface.Refused, Detail: "no request can be made of this post"}
	}
	r, out := b.do(req)
	if out.Class == surface.Refused {
		out.Markup = markup(r, p)
		out.Gone = !out.Markup && gone(r)
	}
	return out
}

// gone reports whether a refused edit says that its message is not there any more,
// or can't be edited any more. The texts are translated, so the code must do: what
// is wrong with a content has a code of its own, and what is left is about the
// message (https://zulip.com/api/update-message#response).
func gone(r reply) bool {
	return r.Code == "BAD_REQUEST" || r.Code == "" || r.status == http.StatusNotFound
}

// Typing says that the bot is writing. Zulip shows that for about 15 s.
func (b *bot) Typing(ctx context.Context, chat surface.Chat) surface.Outcome {
	to, ok := parseChat(chat)
	if !ok {
		return badChat(chat)
	}
	form := url.Values{"op": {"start"}}
	if to.stream != 0 {
		form.Set("type", "stream")
		form.Set("stream_id", strconv.FormatInt(to.stream, 10))
		form.Set("topic", to.topicName())
	} else {
		form.Set("type", "direct")
		form.Set("to", encode(to.people))
	}
	req, err := b.request(ctx, http.MethodPost, "typing", form)
	if err != nil {
		return surface.Outcome{Class: surface.Refused, Detail: "no request can be made of it"}
	}
	_, out := b.do(req)
	return out
}

// compose is the whole content of a message. An outcome with a class says why
// there is none.
func (b *bot) compose(ctx context.Context, p surface.Post) (string, surface.Outcome) {
	content := trim(p.Text)
	if out := b.tooLong(content, 0); out.Class != "" {
		return "", out
	}
	if len(p.Files) == 0 {
		return content, surface.Outcome{}
	}
	for i, f := range p.Files {
		line, out := b.upload(ctx, f)
		if out.Class != "" {
			return "", out
		}
		if i == 0 {
			content += "\n"
		}
		content += "\n" + line
	}
	return content, b.tooLong(content, len(p.Files))
}

// tooLong refuses what the server would cut without a word.
func (b *bot) tooLong(content string, files int) surface.Outcome {
	most := b.caps.Size.Max
	if told := b.most.Load(); told > 0 {
		most = min(most, int(told))
	}
	n := utf8.RuneCountInString(content)
	if n <= most {
		return surface.Outcome{}
	}
	detail := fmt.Sprintf("the message has %d code points and the server takes %d; nothing was sent", n, most)
	switch {
	case files > 0:
		detail += ", since its files need links under the text"
	case most < b.caps.Size.Max:
		detail += fmt.Sprintf("; set limit: %d", most)
	}
	return surface.Outcome{Class: surface.Refused, Detail: detail}
}

// Own returns the bot's messages in a chat after one.
func (b *bot) Own(ctx context.Context, chat surface.Chat, after string) ([]surface.Seen, error) {
	at, ok := parseChat(chat)
	if !ok {
		return nil, fmt.Errorf("%q is no chat of Zulip", chat.ID)
	}
	me, err := b.me(ctx)
	if err != nil {
		return nil, err
	}
	query := url.Values{
		"narrow":     {encode(append(at.narrow(), term{"sender", me.id}))},
		"anchor":     {"newest"},
		"num_before": {"100"},
		"num_after":  {"0"},
	}
	if after != "" {
		query = url.Values{
			"narrow":         query["narrow"],
			"anchor":         {after},
			"include_anchor": {"false"},
			"num_before":     {"0"},
			"num_after":      {"100"},
		}
	}
	found, _, err := b.messages(ctx, query)
	seen := make([]surface.Seen, 0, len(found))
	for _, m := range found {
		seen = append(seen, m.seen())
	}
	return seen, err
}

// Read returns one message as it is now.
func (b *bot) Read(ctx context.Context, _ surface.Chat, platformID string) (surface.Seen, error) {
	id, ok := parseID(platformID)
	if !ok {
		return surface.Seen{}, surface.ErrGone
	}
	m, err := b.message(ctx, id)
	return m.seen(), err
}

// message fetches a message, or returns ErrGone.
func (b *bot) message(ctx context.Context, id int64) (message, error) {
	var m message
	err := b.ask(ctx, http.MethodGet, "messages/"+strconv.FormatInt(id, 10), url.Values{"apply_markdown": {"false"}},
		func(name string, dec *json.Decoder) error {
			if name != "message" {
				return errSkip
			}
			return dec.Decode(&m)
		})
	if r, ok := asRefusal(err); ok && !r.limited() && !r.unauthorised() && r.status < http.StatusInternalServerError {
		return m, surface.ErrGone
	}
	return m, err
}

// messages fetches a list, oldest first, and whether it goes to the newest that
// there are.
func (b *bot) messages(ctx context.Context, query url.Values) (list []message, newest bool, err error) {
	query.Set("apply_markdown", "false")
	err = b.ask(ctx, http.MethodGet, "messages", query, func(name string, dec *json.Decoder) error {
		switch name {
		case "found_newest":
			return dec.Decode(&newest)
		case "messages":
			return readList(dec, func(raw json.RawMessage) error {
				m, err := readMessage(raw)
				list = append(list, m)
				return err
			})
		}
		return errSkip
	})
	return list, newest, err
}
