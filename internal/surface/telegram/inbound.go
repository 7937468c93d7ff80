package telegram

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode"

	"verbatim/internal/surface"
)

// update is what happened: https://core.telegram.org/bots/api#update. Only what
// is used is read, here and below, so a new field can't make it unreadable.
type update struct {
	ID      int64     `json:"update_id"`
	Message *message  `json:"message"`
	Edited  *message  `json:"edited_message"`
	Press   *callback `json:"callback_query"`
}

// allowed are the updates that are asked for.
var allowed = []string{"message", "edited_message", "callback_query"}

type user struct {
	ID       int64  `json:"id"`
	Bot      bool   `json:"is_bot"`
	First    string `json:"first_name"`
	Last     string `json:"last_name"`
	Username string `json:"username"`
}

type room struct {
	ID       int64  `json:"id"`
	Type     string `json:"type"`
	Title    string `json:"title"`
	Username string `json:"username"`
}

type entity struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	User   *user  `json:"user"`
}

type message struct {
	ID              int64    `json:"message_id"`
	Thread          int64    `json:"message_thread_id"`
	InTopic         bool     `json:"is_topic_message"`
	From            *user    `json:"from"`
	SenderChat      *room    `json:"sender_chat"`
	Chat            room     `json:"chat"`
	Date            int64    `json:"date"`
	Text            string   `json:"text"`
	Entities        []entity `json:"entities"`
	Caption         string   `json:"caption"`
	CaptionEntities []entity `json:"caption_entities"`
	ReplyTo         *struct {
		ID   int64 `json:"message_id"`
		From *user `json:"from"`
	} `json:"reply_to_message"`
	Photo    []file `json:"photo"`
	Document *file  `json:"document"`
	others
}

// others are kinds of content that are not taken.
type others struct {
	Animation *file           `json:"animation"`
	Audio     *file           `json:"audio"`
	Voice     *file           `json:"voice"`
	Video     *file           `json:"video"`
	VideoNote *file           `json:"video_note"`
	Sticker   *file           `json:"sticker"`
	Story     json.RawMessage `json:"story"`
	Contact   json.RawMessage `json:"contact"`
	Location  json.RawMessage `json:"location"`
	Poll      json.RawMessage `json:"poll"`
}

// file is any of Telegram's kinds of files.
type file struct {
	ID    string `json:"file_id"`
	Name  string `json:"file_name"`
	MIME  string `json:"mime_type"`
	Bytes int64  `json:"file_size"`
}

type callback struct {
	ID      string   `json:"id"`
	From    user     `json:"from"`
	Message *message `json:"message"`
	Data    string   `json:"data"`
}

// chat names where a message stands. Replies in a group have a thread too, but
// only that of a topic is a place to write to.
func (m *message) chat() surface.Chat {
	c := surface.Chat{ID: strconv.FormatInt(m.Chat.ID, 10)}
	if m.InTopic {
		c.Thread = strconv.FormatInt(m.Thread, 10)
	}
	return c
}

// sender is who wrote a message. One who writes for a chat, such as an anonymous
// administrator, is that chat: all of them share one user.
func (m *message) sender() surface.Person {
	if c := m.SenderChat; c != nil {
		return surface.Person{ID: strconv.FormatInt(c.ID, 10), Name: c.Title, Other: handles(c.Username)}
	}
	if m.From == nil {
		return surface.Person{}
	}
	return m.From.person()
}

// fromBot reports whether another program wrote a message.
func (m *message) fromBot() bool { return m.SenderChat == nil && m.From != nil && m.From.Bot }

func (u *user) person() surface.Person {
	name := strings.TrimSpace(u.First + " " + u.Last)
	return surface.Person{ID: strconv.FormatInt(u.ID, 10), Name: name, Other: handles(u.Username)}
}

func handles(username string) []string {
	if username == "" {
		return nil
	}
	return []string{"@" + username}
}

// received is a message as the inbox takes it, but for its files.
func (m *message) received(me *user) surface.Message {
	text, mentioned := m.addressed(me)
	chat := m.chat()
	return surface.Message{
		ID:        strconv.FormatInt(m.ID, 10),
		Chat:      chat,
		Sender:    m.sender(),
		Text:      text,
		At:        time.Unix(m.Date, 0),
		Direct:    m.Chat.Type == "private",
		Mentioned: mentioned,
		Fields:    map[string]string{"chat": chat.ID, "thread": chat.Thread, "user": m.sender().ID},
	}
}

// addressed returns the text without the bot's name at its start, and whether it
// was named or answered.
func (m *message) addressed(me *user) (text string, mentioned bool) {
	text, entities := m.Text, m.Entities
	if text == "" {
		text, entities = m.Caption, m.CaptionEntities
	}
	// The first message of a topic is what all others in it answer.
	if r := m.ReplyTo; r != nil && r.From != nil && r.From.ID == me.ID && (!m.InTopic || r.ID != m.Thread) {
		mentioned = true
	}
	whole := text
	for _, e := range entities {
		start := byteAt(whole, e.Offset)
		end := max(start, byteAt(whole, e.Offset+e.Length))
		name := nameIn(whole[start:end], e, me)
		if name == "" {
			continue
		}
		mentioned = true
		if strings.TrimSpace(whole[:start]) == "" {
			before := strings.TrimSuffix(whole[start:end], name)
			text = before + afterName(before, whole[end:])
		}
	}
	return text, mentioned
}

// nameIn returns the part of an entity that names the bot, empty for none.
func nameIn(s string, e entity, me *user) string {
	switch at := strings.LastIndexByte(s, '@'); {
	case e.Type == "text_mention" && e.User != nil && e.User.ID == me.ID:
		return s
	case e.Type != "mention" && e.Type != "bot_command", at < 0:
		return ""
	case strings.EqualFold(s[at+1:], me.Username):
		return s[at:]
	default:
		return ""
	}
}

// afterName is what follows a name: behind a bare one, without the mark and the
// room after it.
func afterName(before, rest string) string {
	if before != "" {
		return rest
	}
	rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
	if rest != "" && (rest[0] == ',' || rest[0] == ':') {
		rest = strings.TrimLeftFunc(rest[1:], unicode.IsSpace)
	}
	return rest
}

// byteAt returns where the code point at a number of UTF-16 units begins in s.
func byteAt(s string, units int) int {
	n := 0
	for i, c := range s {
		if n >= units {
			return i
		}
		n += utf16Len(string(c))
	}
	return len(s)
}

// untaken names the content that is not taken, a line each.
func (m *message) untaken() []string {
	var lines []string
	for _, kind := range []struct {
		there bool
		name  string
	}{
		{m.Animation != nil, "an animation"},
		{m.Audio != nil, "a sound file"},
		{m.Voice != nil, "a voice message"},
		{m.Video != nil, "a video"},
		{m.VideoNote != nil, "a video message"},
		{m.Sticker != nil, "a sticker"},
		{m.Story != nil, "a story"},
		{m.Contact != nil, "a contact"},
		{m.Location != nil, "a place"},
		{m.Poll != nil, "a poll"},
	} {
		if kind.there {
			lines = append(lines, kind.name+": only text, pictures and documents are taken")
		}
	}
	return lines
}
