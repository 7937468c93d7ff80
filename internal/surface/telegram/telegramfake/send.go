package telegramfake

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"verbatim/internal/surface"
)

// asks runs f with what a call for a chat needs, unless the chat refuses it.
func (f *Fake) asks(q *query, do func(r *room) (any, error)) reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	id, err := q.number("chat_id", 0)
	if err != nil || id == 0 {
		return badRequest("chat_id is empty")
	}
	r := f.chats[id]
	if r == nil {
		return badRequest("chat not found")
	}
	if r.refusal.Code != 0 {
		return r.refusal
	}
	result, err := do(r)
	if err != nil {
		return badRequest(err.Error())
	}
	return success(result)
}

// draft is a message that is being sent, where it is to stand.
func (f *Fake) draft(q *query, r *room) (*message, error) {
	m := &message{own: true, from: f.me, shown: q.show}
	var err error
	if m.thread, err = q.number("message_thread_id", 0); err != nil {
		return nil, err
	}
	if m.thread != 0 && !r.topics[m.thread] {
		return nil, errors.New("message thread not found")
	}
	if m.markup, err = markup(q); err != nil {
		return nil, err
	}
	var answers struct {
		ID      int64 `json:"message_id"`
		Without bool  `json:"allow_sending_without_reply"`
	}
	there, err := q.object("reply_parameters", &answers)
	if err != nil {
		return nil, err
	}
	if there && f.find(r.id, answers.ID) == nil {
		if !answers.Without {
			return nil, errors.New("message to be replied not found")
		}
		answers.ID = 0
	}
	m.replyTo = answers.ID
	return m, nil
}

func (f *Fake) sendMessage(q *query) reply {
	return f.asks(q, func(r *room) (any, error) {
		m, err := f.draft(q, r)
		if err != nil {
			return nil, err
		}
		if err := checkPreview(q); err != nil {
			return nil, err
		}
		m.text, m.marks, err = text(q)
		if err != nil {
			return nil, err
		}
		f.add(r, m)
		return f.json(m), nil
	})
}

// text reads the text of a message. Blanks alone are none.
func text(q *query) (string, []Entity, error) {
	text, marks, err := words(q, "text", maxText)
	if err == nil && strings.TrimSpace(text) == "" {
		err = errors.New("message text is empty")
	}
	return text, marks, err
}

func checkPreview(q *query) error {
	var options struct {
		Disabled bool `json:"is_disabled"`
	}
	_, err := q.object("link_preview_options", &options)
	return err
}

func (f *Fake) sendPhoto(q *query) reply    { return f.sendFile(q, "photo") }
func (f *Fake) sendDocument(q *query) reply { return f.sendFile(q, "document") }

func (f *Fake) sendFile(q *query, kind string) reply {
	return f.asks(q, func(r *room) (any, error) {
		m, err := f.draft(q, r)
		if err != nil {
			return nil, err
		}
		file, ok := q.files[kind]
		if !ok {
			return nil, fmt.Errorf("there is no %s in the request", kind)
		}
		m.files = []upload{file}
		if m.text, m.marks, err = words(q, "caption", maxCaption); err != nil {
			return nil, err
		}
		f.add(r, m)
		return f.json(m), nil
	})
}

// sendMediaGroup makes an album: https://core.telegram.org/bots/api#sendmediagroup.
func (f *Fake) sendMediaGroup(q *query) reply {
	return f.asks(q, func(r *room) (any, error) {
		if _, ok := q.values["reply_markup"]; ok {
			return nil, errors.New("an album can't have an inline keyboard")
		}
		var items []struct {
			Type      string `json:"type"`
			Media     string `json:"media"`
			Caption   string `json:"caption"`
			ParseMode string `json:"parse_mode"`
		}
		if _, err := q.object("media", &items); err != nil {
			return nil, err
		}
		if len(items) < 2 || len(items) > 10 {
			return nil, errors.New("an album must have 2 to 10 files")
		}
		f.sent++
		group := fmt.Sprintf("album%d", f.sent)
		var made []*message
		for _, item := range items {
			m, err := f.draft(q, r)
			if err != nil {
				return nil, err
			}
			file, ok := q.files[strings.TrimPrefix(item.Media, "attach://")]
			if !ok || item.Type != items[0].Type {
				return nil, errors.New("can't use the media of the specified type in the album")
			}
			caption := &query{values: map[string]string{"caption": item.Caption, "parse_mode": item.ParseMode}}
			if m.text, m.marks, err = words(caption, "caption", maxCaption); err != nil {
				return nil, err
			}
			m.files, m.group = []upload{file}, group
			made = append(made, m)
		}
		var out []any
		for _, m := range made {
			f.add(r, m)
			out = append(out, f.json(m))
		}
		return out, nil
	})
}

func (f *Fake) editText(q *query) reply {
	return f.edit(q, func(m *message) (string, []Entity, error) {
		if len(m.files) > 0 {
			return "", nil, errors.New("there is no text in the message to edit")
		}
		if err := checkPreview(q); err != nil {
			return "", nil, err
		}
		return text(q)
	})
}

func (f *Fake) editCaption(q *query) reply {
	return f.edit(q, func(m *message) (string, []Entity, error) {
		if len(m.files) == 0 {
			return "", nil, errors.New("there is no caption in the message to edit")
		}
		return words(q, "caption", maxCaption)
	})
}

func (f *Fake) edit(q *query, read func(*message) (string, []Entity, error)) reply {
	return f.asks(q, func(r *room) (any, error) {
		id, err := q.number("message_id", 0)
		if err != nil {
			return nil, err
		}
		m := f.find(r.id, id)
		switch {
		case m == nil || !m.shown:
			return nil, errors.New("message to edit not found")
		case !m.own:
			return nil, errors.New("message can't be edited")
		}
		text, marks, err := read(m)
		if err != nil {
			return nil, err
		}
		k, err := markup(q)
		if _, ok := q.values["reply_markup"]; ok && m.group != "" {
			err = errors.New("an album can't have an inline keyboard")
		}
		if err != nil {
			return nil, err
		}
		if sameMessage(m, text, marks, k) {
			return nil, errors.New("message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
		}
		if !q.show {
			m = &message{chat: m.chat, id: m.id, thread: m.thread, at: m.at, from: m.from, files: m.files}
		}
		m.text, m.marks, m.markup = text, marks, k
		out := f.json(m)
		out["edit_date"] = time.Now().Unix()
		return out, nil
	})
}

// actions are those of https://core.telegram.org/bots/api#sendchataction.
var actions = []string{"typing", "upload_photo", "upload_document", "find_location", "choose_sticker"}

func (f *Fake) sendChatAction(q *query) reply {
	return f.asks(q, func(r *room) (any, error) {
		thread, err := q.number("message_thread_id", 0)
		switch {
		case err != nil:
			return nil, err
		case thread != 0 && !r.topics[thread]:
			return nil, errors.New("message thread not found")
		case !slices.Contains(actions, q.values["action"]):
			return nil, errors.New("wrong parameter action in request")
		}
		f.typed = append(f.typed, (&message{chat: r.id, thread: thread}).where())
		return true, nil
	})
}

// Typed returns the chats in which typing was shown, in order.
func (f *Fake) Typed() []surface.Chat {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.typed)
}
