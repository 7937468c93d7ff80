package telegramfake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"verbatim/internal/surface"
)

// The limits of https://core.telegram.org/bots/api#sendmessage and #sendphoto, in
// UTF-16 units after the entities were parsed.
const (
	maxText    = 4096
	maxCaption = 1024
)

// message is one in a chat, by the bot or by a person.
type message struct {
	chat    int64
	thread  int64
	id      int64
	at      time.Time
	from    person
	own     bool
	erased  bool
	text    string
	marks   []Entity
	markup  *keyboard
	replyTo int64
	files   []upload
	group   string
	// named says that a person began it with the bot's name.
	named bool
	// shown is false for what the bot was told is there and is not.
	shown bool
}

type keyboard struct {
	Rows [][]button `json:"inline_keyboard"`
}

type button struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
	// CopyText is documented too; some clients name it, and set it to null.
	CopyText any `json:"copy_text,omitempty"`
}

// Post is an own message as a reader sees it.
type Post struct {
	ID       string
	Text     string
	Entities []Entity
	// Buttons are their labels, row by row.
	Buttons [][]string
	ReplyTo string
	Files   []string
}

// Shown is surfacetest.Far.Shown.
func (f *Fake) Shown(chat surface.Chat) []surface.Seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []surface.Seen
	for _, m := range f.own(chat) {
		out = append(out, surface.Seen{PlatformID: strconv.FormatInt(m.id, 10), Text: m.text, At: m.at})
	}
	return out
}

// Posts returns the own messages of a chat, oldest first, with all that is shown
// of them.
func (f *Fake) Posts(chat surface.Chat) []Post {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Post
	for _, m := range f.own(chat) {
		p := Post{ID: strconv.FormatInt(m.id, 10), Text: m.text, Entities: m.marks}
		if m.replyTo != 0 {
			p.ReplyTo = strconv.FormatInt(m.replyTo, 10)
		}
		if m.markup != nil {
			for _, row := range m.markup.Rows {
				var labels []string
				for _, b := range row {
					labels = append(labels, b.Text)
				}
				p.Buttons = append(p.Buttons, labels)
			}
		}
		for _, u := range m.files {
			p.Files = append(p.Files, u.name+": "+string(u.data))
		}
		out = append(out, p)
	}
	return out
}

func (f *Fake) own(chat surface.Chat) []*message {
	var out []*message
	for _, m := range f.messages {
		if m.own && m.shown && !m.erased && m.in(chat) {
			out = append(out, m)
		}
	}
	return out
}

func (m *message) in(chat surface.Chat) bool {
	thread := ""
	if m.thread != 0 {
		thread = strconv.FormatInt(m.thread, 10)
	}
	return strconv.FormatInt(m.chat, 10) == chat.ID && thread == chat.Thread
}

func (f *Fake) find(chat, id int64) *message {
	i := slices.IndexFunc(f.messages, func(m *message) bool { return m.chat == chat && m.id == id && !m.erased })
	if i < 0 {
		return nil
	}
	return f.messages[i]
}

// add gives a message its number and stores it.
func (f *Fake) add(r *room, m *message) {
	r.last++
	m.chat, m.id, m.at = r.id, r.last, time.Now()
	f.messages = append(f.messages, m)
}

// words reads a text or a caption with its parse_mode.
func words(q *query, name string, limit int) (string, []Entity, error) {
	text, entities := q.values[name], []Entity(nil)
	if !utf8.ValidString(text) {
		return "", nil, errors.New("strings must be encoded in UTF-8")
	}
	switch mode := q.values["parse_mode"]; mode {
	case "":
	case "HTML":
		var err error
		if text, entities, err = ParseHTML(text); err != nil {
			return "", nil, err
		}
	default:
		return "", nil, fmt.Errorf("unsupported parse_mode %q", mode)
	}
	if utf16Len(text) > limit {
		if name == "caption" {
			return "", nil, errors.New("message caption is too long")
		}
		return "", nil, errors.New("message is too long")
	}
	return text, entities, nil
}

// markup reads an inline keyboard:
// https://core.telegram.org/bots/api#inlinekeyboardbutton.
func markup(q *query) (*keyboard, error) {
	var k keyboard
	there, err := q.object("reply_markup", &k)
	if err != nil || !there || len(k.Rows) == 0 {
		return nil, err
	}
	for _, row := range k.Rows {
		for _, b := range row {
			switch {
			case strings.TrimSpace(b.Text) == "":
				return nil, errors.New("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard")
			case len(b.Data) < 1 || len(b.Data) > 64:
				return nil, errors.New("BUTTON_DATA_INVALID")
			}
		}
	}
	return &k, nil
}

// strict decodes JSON without members that the type does not have.
func strict(raw string, into any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(raw)))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func sameMessage(m *message, text string, marks []Entity, k *keyboard) bool {
	return m.text == text && (len(m.marks) == 0 && len(marks) == 0 || reflect.DeepEqual(m.marks, marks)) && reflect.DeepEqual(m.markup, k)
}

// json is a message as https://core.telegram.org/bots/api#message.
func (f *Fake) json(m *message) map[string]any {
	r := f.chats[m.chat]
	out := map[string]any{
		"message_id": m.id, "date": m.at.Unix(), "from": m.from,
		"chat": map[string]any{"id": m.chat, "type": r.kind},
	}
	if m.thread != 0 {
		out["message_thread_id"], out["is_topic_message"] = m.thread, true
	}
	text, marks := "text", "entities"
	if len(m.files) > 0 {
		text, marks = "caption", "caption_entities"
		f.jsonFile(out, m)
	}
	if m.text != "" {
		out[text] = m.text
	}
	if len(m.marks) > 0 {
		out[marks] = m.marks
	}
	if m.markup != nil {
		out["reply_markup"] = m.markup
	}
	if m.group != "" {
		out["media_group_id"] = m.group
	}
	if answered := f.find(m.chat, m.replyTo); answered != nil {
		out["reply_to_message"] = map[string]any{
			"message_id": answered.id, "date": answered.at.Unix(), "from": answered.from,
			"chat": map[string]any{"id": m.chat, "type": r.kind}, "text": answered.text,
		}
	}
	return out
}
