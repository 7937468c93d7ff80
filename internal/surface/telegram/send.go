package telegram

import (
	"context"
	"encoding/json"
	"strconv"

	"verbatim/internal/surface"
)

// target is the part of a request that says where it goes.
type target struct {
	Chat   int64 `json:"chat_id"`
	Thread int64 `json:"message_thread_id,omitempty"`
}

// words are the part that says what is shown. One of Text and Caption is set.
type words struct {
	Text      string    `json:"text,omitempty"`
	Caption   string    `json:"caption,omitempty"`
	ParseMode string    `json:"parse_mode,omitempty"`
	Preview   *preview  `json:"link_preview_options,omitempty"`
	Keyboard  *keyboard `json:"reply_markup,omitempty"`
}

type preview struct {
	Disabled bool `json:"is_disabled"`
}

type keyboard struct {
	Rows [][]key `json:"inline_keyboard"`
}

type key struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

// reply names the message that is answered. One that is gone is left out.
type reply struct {
	Message int64 `json:"message_id"`
	Without bool  `json:"allow_sending_without_reply"`
}

type sending struct {
	target
	words
	Reply *reply `json:"reply_parameters,omitempty"`
}

type editing struct {
	Chat    int64 `json:"chat_id"`
	Message int64 `json:"message_id"`
	words
}

// Send makes one message of p. Files go as one message, or as one album, whose
// caption is the text.
func (b *bot) Send(ctx context.Context, chat surface.Chat, p surface.Post) surface.Outcome {
	to, ok := targetOf(chat)
	if !ok {
		return surface.Outcome{Class: surface.Refused, Gone: true, Detail: "the chat's id is no number, so it is none of Telegram"}
	}
	s := sending{target: to, words: wordsOf(p), Reply: replyTo(p.ReplyTo)}
	if len(p.Files) > 0 {
		return b.sendFiles(ctx, s, p)
	}
	s.Preview = &preview{Disabled: true}
	return sent(b.api.call(ctx, "sendMessage", s), p)
}

// sent is what a call that makes a message comes to.
func sent(a answer, p surface.Post) surface.Outcome {
	out := a.outcome()
	out.Markup = out.Markup && !p.Plain
	if out.Class != surface.Delivered {
		return out
	}
	id, ok := messageID(a.result)
	if !ok {
		return surface.Outcome{Class: surface.Unknown, Detail: "Telegram said that it has the message, but not which it is"}
	}
	out.PlatformID = id
	return out
}

// messageID reads the id of the message, or of the first of an album, that
// Telegram made.
func messageID(result json.RawMessage) (string, bool) {
	type made struct {
		ID int64 `json:"message_id"`
	}
	var one made
	if json.Unmarshal(result, &one) == nil {
		return strconv.FormatInt(one.ID, 10), one.ID > 0
	}
	var album []made
	if json.Unmarshal(result, &album) != nil || len(album) == 0 {
		return "", false
	}
	return strconv.FormatInt(album[0].ID, 10), album[0].ID > 0
}

// Edit replaces the text of a message, or the caption of one with files, and its
// buttons.
func (b *bot) Edit(ctx context.Context, chat surface.Chat, platformID string, p surface.Post) surface.Outcome {
	to, ok := targetOf(chat)
	id, err := strconv.ParseInt(platformID, 10, 64)
	if !ok || err != nil {
		return surface.Outcome{Class: surface.Refused, Gone: true, Detail: "the ids of the chat and the message are no numbers, so they are none of Telegram"}
	}
	e := editing{Chat: to.Chat, Message: id, words: wordsOf(p)}
	method := "editMessageCaption"
	if len(p.Files) == 0 {
		method = "editMessageText"
		e.Preview = &preview{Disabled: true}
	}
	// No buttons take those away that there are; an album can have none.
	if e.Keyboard == nil && len(p.Files) <= 1 {
		e.Keyboard = &keyboard{Rows: [][]key{}}
	}
	a := b.api.call(ctx, method, e)
	out := a.outcome()
	out.Markup = out.Markup && !p.Plain
	if out.Class == surface.Refused && means(a.description) == same {
		return surface.Outcome{Class: surface.Delivered, Detail: "it was so already"}
	}
	return out
}

// Typing shows for five seconds that an answer is being written.
func (b *bot) Typing(ctx context.Context, chat surface.Chat) surface.Outcome {
	to, ok := targetOf(chat)
	if !ok {
		return surface.Outcome{Class: surface.Refused, Gone: true, Detail: "the chat's id is no number, so it is none of Telegram"}
	}
	return b.api.call(ctx, "sendChatAction", struct {
		target
		Action string `json:"action"`
	}{to, "typing"}).outcome()
}

func targetOf(chat surface.Chat) (target, bool) {
	id, err := strconv.ParseInt(chat.ID, 10, 64)
	if err != nil {
		return target{}, false
	}
	if chat.Thread == "" {
		return target{Chat: id}, true
	}
	thread, err := strconv.ParseInt(chat.Thread, 10, 64)
	return target{Chat: id, Thread: thread}, err == nil && thread > 0
}

func wordsOf(p surface.Post) words {
	w := words{Text: p.Text, Keyboard: keyboardOf(p.Buttons)}
	if len(p.Files) > 0 {
		w.Text, w.Caption = "", p.Text
	}
	if !p.Plain {
		w.ParseMode = "HTML"
	}
	return w
}

// replyTo leaves out an id that is none of Telegram.
func replyTo(platformID string) *reply {
	id, err := strconv.ParseInt(platformID, 10, 64)
	if err != nil || id <= 0 {
		return nil
	}
	return &reply{Message: id, Without: true}
}

// buttonsPerRow is how many buttons a phone shows beside each other with labels
// that can be read.
const buttonsPerRow = 3

func keyboardOf(buttons []surface.Button) *keyboard {
	if len(buttons) == 0 {
		return nil
	}
	k := &keyboard{}
	for i, button := range buttons {
		if i%buttonsPerRow == 0 {
			k.Rows = append(k.Rows, nil)
		}
		last := len(k.Rows) - 1
		k.Rows[last] = append(k.Rows[last], key{Text: button.Label, Data: button.Data})
	}
	return k
}
