package telegramfake

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"verbatim/internal/surface"
)

// person is a user: https://core.telegram.org/bots/api#user.
type person struct {
	ID       int64  `json:"id"`
	Bot      bool   `json:"is_bot"`
	First    string `json:"first_name"`
	Username string `json:"username,omitempty"`
}

func userOf(p surface.Person) person {
	id, err := strconv.ParseInt(p.ID, 10, 64)
	if err != nil {
		panic("telegramfake: the person " + strconv.Quote(p.ID) + " has no number")
	}
	out := person{ID: id, First: p.Name}
	for _, name := range p.Other {
		out.Username = strings.TrimPrefix(name, "@")
	}
	return out
}

// where is the chat of a message.
func (m *message) where() surface.Chat {
	chat := surface.Chat{ID: strconv.FormatInt(m.chat, 10)}
	if m.thread != 0 {
		chat.Thread = strconv.FormatInt(m.thread, 10)
	}
	return chat
}

// Say is surfacetest.Far.Say. Each file is a message of its own, all of them an
// album whose first one has the text.
func (f *Fake) Say(m surface.Message) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m.ID != "" {
		f.sayAgain(m)
		return m.ID
	}
	r := f.open(m.Chat)
	made := &message{from: userOf(m.Sender), shown: true, text: m.Text}
	made.thread, _ = strconv.ParseInt(m.Chat.Thread, 10, 64)
	if m.Mentioned && r.kind != "private" {
		made.named = true
		f.name(made)
	}
	if len(m.Files) > 1 {
		f.sent++
		made.group = fmt.Sprintf("album%d", f.sent)
	}
	first := ""
	for i := range max(1, len(m.Files)) {
		one := *made
		if i > 0 {
			one.text, one.marks = "", nil
		}
		if len(m.Files) > 0 {
			one.files = []upload{{m.Files[i].Name, m.Files[i].Data}}
		}
		f.add(r, &one)
		f.happen("message", f.json(&one))
		if i == 0 {
			first = strconv.FormatInt(one.id, 10)
		}
	}
	return first
}

// name begins a text with the bot's name.
func (f *Fake) name(m *message) {
	name := "@" + f.me.Username
	m.text = name + " " + m.text
	m.marks = []Entity{{Type: "mention", Offset: 0, Length: utf16Len(name)}}
}

// sayAgain tells a message once more to a webhook, under a number of its own.
func (f *Fake) sayAgain(m surface.Message) {
	id, err := strconv.ParseInt(m.ID, 10, 64)
	old := f.find(f.open(m.Chat).id, id)
	if err == nil && old != nil && f.hook.URL != "" {
		f.happen("message", f.json(old))
	}
}

// Rewrite is surfacetest.Changed.Rewrite.
func (f *Fake) Rewrite(chat surface.Chat, id, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.of(chat, id)
	m.text, m.marks = text, nil
	if m.named {
		f.name(m)
	}
	out := f.json(m)
	out["edit_date"] = time.Now().Unix()
	if !m.own {
		f.happen("edited_message", out)
	}
}

// Erase is surfacetest.Changed.Erase. Telegram tells a bot of no deletion.
func (f *Fake) Erase(chat surface.Chat, id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of(chat, id).erased = true
}

func (f *Fake) of(chat surface.Chat, id string) *message {
	n, err := strconv.ParseInt(id, 10, 64)
	m := f.find(f.open(chat).id, n)
	if err != nil || m == nil {
		panic("telegramfake: there is no message " + strconv.Quote(id))
	}
	return m
}

// Press is surfacetest.Pressed.Press. A button that is not there can't be pressed.
func (f *Fake) Press(chat surface.Chat, platformID, data string, by surface.Person) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.of(chat, platformID)
	if m.markup == nil || !slices.ContainsFunc(slices.Concat(m.markup.Rows...), func(b button) bool { return b.Data == data }) {
		return
	}
	f.sent++
	id := fmt.Sprintf("press%d", f.sent)
	f.presses[id] = true
	f.happen("callback_query", map[string]any{
		"id": id, "from": userOf(by), "message": f.json(m), "chat_instance": "1", "data": data,
	})
}

// Told is surfacetest.Pressed.Told.
func (f *Fake) Told() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.told)
}

// answerCallbackQuery is https://core.telegram.org/bots/api#answercallbackquery.
func (f *Fake) answerCallbackQuery(q *query) reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch text := q.values["text"]; {
	case !f.presses[q.values["callback_query_id"]]:
		return badRequest("query is too old and response timeout expired or query ID is invalid")
	case utf16Len(text) > 200:
		return badRequest("MESSAGE_TOO_LONG")
	default:
		f.told = append(f.told, text)
		return success(true)
	}
}

// stored is a file that can be fetched.
type stored struct {
	path string
	data []byte
}

// jsonFile adds the file of a message: a picture in two sizes, or a document.
func (f *Fake) jsonFile(out map[string]any, m *message) {
	u := m.files[0]
	id := fmt.Sprintf("file-%d-%d", m.chat, m.id)
	f.files[id] = stored{"documents/" + id, u.data}
	described := map[string]any{"file_id": id, "file_unique_id": id, "file_size": len(u.data)}
	if kind := http.DetectContentType(u.data); !strings.HasPrefix(kind, "image/") {
		described["file_name"] = u.name
		described["mime_type"], _, _ = strings.Cut(kind, ";")
		out["document"] = described
		return
	}
	small := map[string]any{"file_id": id + "-small", "file_unique_id": id + "-small", "file_size": 1, "width": 1, "height": 1}
	f.files[id+"-small"] = stored{"photos/" + id, u.data[:1]}
	described["width"], described["height"] = 2, 2
	out["photo"] = []any{small, described}
}

// getFile is https://core.telegram.org/bots/api#getfile.
func (f *Fake) getFile(q *query) reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := q.values["file_id"]
	file, ok := f.files[id]
	if !ok {
		return badRequest("invalid file_id")
	}
	if len(file.data) > 20<<20 {
		return badRequest("file is too big")
	}
	return success(map[string]any{"file_id": id, "file_unique_id": id, "file_size": len(file.data), "file_path": file.path})
}

func (f *Fake) serveFile(w http.ResponseWriter, r *http.Request, path string) {
	f.mu.Lock()
	var data []byte
	found := false
	for _, file := range f.files {
		if file.path == path {
			data, found = file.data, true
		}
	}
	f.mu.Unlock()
	if !found || r.Method != http.MethodGet {
		write(w, failure(http.StatusNotFound, "Not Found"))
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}
