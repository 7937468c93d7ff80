package zulipfake

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"verbatim/internal/surface"
)

// normal is what the server makes of a content: white space at the end and line
// feeds at the start go, and what is too long is cut
// (https://zulip.com/api/send-message#parameter-content).
func (s *Server) normal(content string) (text, problem string) {
	text = strings.TrimRightFunc(content, func(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f })
	text = strings.TrimLeft(text, "\n")
	switch {
	case text == "":
		return "", "Message must not be empty"
	case strings.Contains(text, "\x00"):
		return "", "Message must not contain null bytes"
	}
	const mark = "\n[message truncated]"
	if runes := []rune(text); len(runes) > s.o.MaxLength {
		text = string(runes[:s.o.MaxLength-len(mark)]) + mark
	}
	return text, ""
}

// send makes a message (https://zulip.com/api/send-message).
func (s *Server) send(w http.ResponseWriter, r *http.Request) {
	values, ok := params(w, r, "type", "to", "topic", "content", "queue_id", "local_id")
	if !ok {
		return
	}
	content := values.Get("content")
	s.change(w, r, content, func() (int, map[string]any) {
		s.mu.Lock()
		defer s.mu.Unlock()
		m, code, msg := s.made(values)
		if msg != "" {
			return http.StatusBadRequest, map[string]any{"result": "error", "code": code, "msg": msg}
		}
		s.lastID++
		m.id = s.lastID
		s.add(m)
		return http.StatusOK, map[string]any{"result": "success", "msg": "", "id": m.id}
	}, s.phantom)
}

// phantom is the answer for a message that there is not.
func (s *Server) phantom() map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	return map[string]any{"id": s.lastID}
}

func (s *Server) made(values url.Values) (m *message, code, msg string) {
	text, problem := s.normal(values.Get("content"))
	if problem != "" {
		return nil, "BAD_REQUEST", problem
	}
	if values.Has("queue_id") && values.Get("local_id") == "" {
		return nil, "BAD_REQUEST", "Missing local_id"
	}
	m = &message{sender: BotID, content: text, at: s.o.Now()}
	switch values.Get("type") {
	case "stream", "channel":
		if !read(values, "to", &m.stream) {
			return nil, "REQUEST_VARIABLE_INVALID", "Invalid data type for channel ID"
		}
		if s.o.Channels[m.stream] == "" {
			return nil, "STREAM_DOES_NOT_EXIST", "Channel with ID '" + values.Get("to") + "' does not exist"
		}
		if !values.Has("topic") {
			return nil, "BAD_REQUEST", "Missing topic"
		}
		m.topic = values.Get("topic")
	case "direct", "private":
		if !read(values, "to", &m.people) || len(m.people) == 0 {
			return nil, "REQUEST_VARIABLE_INVALID", "Message must have recipients"
		}
		for _, id := range m.people {
			if _, known := s.people[id]; !known {
				return nil, "BAD_REQUEST", "Invalid user ID " + strconv.FormatInt(id, 10)
			}
		}
		m.people = slices.Compact(slices.Sorted(slices.Values(append(m.people, BotID))))
	default:
		return nil, "REQUEST_VARIABLE_INVALID", "Invalid type"
	}
	return m, "", ""
}

// edit replaces a text (https://zulip.com/api/update-message).
func (s *Server) edit(w http.ResponseWriter, r *http.Request) {
	values, ok := params(w, r, "content")
	if !ok {
		return
	}
	s.change(w, r, values.Get("content"), func() (int, map[string]any) {
		s.mu.Lock()
		defer s.mu.Unlock()
		m := s.find(r.PathValue("id"))
		text, problem := s.normal(values.Get("content"))
		switch {
		case m == nil:
			problem = "Invalid message(s)"
		case !values.Has("content"):
			problem = "Nothing to change"
		case m.sender != BotID:
			problem = "You don't have permission to edit this message"
		case s.o.EditTime > 0 && s.o.Now().Sub(m.at) > s.o.EditTime:
			problem = "The time limit for editing this message has passed"
		case text == "":
			text, problem = "(deleted)", ""
		}
		if problem != "" {
			return http.StatusBadRequest, map[string]any{"result": "error", "code": "BAD_REQUEST", "msg": problem}
		}
		s.rewrite(m, BotID, text)
		return http.StatusOK, map[string]any{"result": "success", "msg": "", "detached_uploads": []any{}}
	}, func() map[string]any { return nil })
}

// single gives one message (https://zulip.com/api/get-message).
func (s *Server) single(w http.ResponseWriter, r *http.Request) {
	values, ok := params(w, r, "apply_markdown")
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.find(r.PathValue("id"))
	if m == nil {
		refuse(w, http.StatusBadRequest, "BAD_REQUEST", "Invalid message(s)")
		return
	}
	object := s.object(m, values.Get("apply_markdown") != "false")
	object["flags"] = s.flags(m)
	succeed(w, map[string]any{"raw_content": m.content, "message": object})
}

// list gives messages around an anchor (https://zulip.com/api/get-messages).
// Without a narrow it is what the bot uses to catch up, and hit by NextRead.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	values, ok := params(w, r, "anchor", "num_before", "num_after", "include_anchor", "narrow", "apply_markdown")
	if !ok {
		return
	}
	if !values.Has("narrow") && !s.trouble(w, r, s.TakeRead()) {
		return
	}
	q, bad := readQuery(values)
	if bad != "" {
		invalid(w, bad)
		return
	}
	for _, t := range q.Narrow {
		if !slices.Contains([]string{"stream", "channel", "topic", "sender", "dm"}, t.Operator) {
			refuse(w, http.StatusBadRequest, "BAD_NARROW", "Invalid narrow operator: unknown operator "+t.Operator)
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found, newest := q.pick(s.matching(q.Narrow))
	objects := []map[string]any{}
	for _, m := range found {
		object := s.object(m, values.Get("apply_markdown") != "false")
		object["flags"] = s.flags(m)
		objects = append(objects, object)
	}
	succeed(w, map[string]any{"messages": objects, "found_newest": newest, "found_oldest": false, "found_anchor": false, "history_limited": false})
}

type query struct {
	anchor        int64 // the highest there can be for "newest"
	before, after int
	withAnchor    bool
	Narrow        []term
}

type term struct {
	Operator string          `json:"operator"`
	Operand  json.RawMessage `json:"operand"`
}

func readQuery(values url.Values) (q query, bad string) {
	q.withAnchor = true
	if !read(values, "num_before", &q.before) || !values.Has("num_before") || q.before < 0 {
		return q, "num_before"
	}
	if !read(values, "num_after", &q.after) || !values.Has("num_after") || q.after < 0 || q.before+q.after > 5000 {
		return q, "num_after"
	}
	switch anchor := values.Get("anchor"); anchor {
	case "newest":
		q.anchor = 1 << 62
	case "oldest":
	default:
		id, err := strconv.ParseInt(anchor, 10, 64)
		if err != nil {
			return q, "anchor"
		}
		q.anchor = id
	}
	if !read(values, "include_anchor", &q.withAnchor) || !q.withAnchor && q.before > 0 && q.after > 0 {
		return q, "include_anchor"
	}
	if !read(values, "narrow", &q.Narrow) {
		return q, "narrow"
	}
	return q, ""
}

// pick chooses from messages in order, and tells whether the newest are among
// them. As in Zulip, an anchor above all messages counts as the last one.
func (q query) pick(all []*message) (found []*message, newest bool) {
	i := slices.IndexFunc(all, func(m *message) bool { return m.id >= q.anchor })
	if i < 0 {
		i = len(all)
	}
	from, to := max(0, i-q.before), i
	if i < len(all) && all[i].id == q.anchor {
		if q.withAnchor {
			to++
		} else if q.before == 0 {
			from++
			to++
		}
	}
	to = min(len(all), to+q.after)
	return all[min(from, to):to], to == len(all)
}

// matching are the messages that a narrow leaves
// (https://zulip.com/api/construct-narrow).
func (s *Server) matching(narrow []term) []*message {
	var out []*message
	for _, m := range s.messages {
		if !slices.ContainsFunc(narrow, func(t term) bool { return !t.keeps(m) }) {
			out = append(out, m)
		}
	}
	return out
}

func (t term) keeps(m *message) bool {
	var id int64
	var ids []int64
	var text string
	switch t.Operator {
	case "stream", "channel":
		return json.Unmarshal(t.Operand, &id) == nil && m.stream == id
	case "topic":
		return json.Unmarshal(t.Operand, &text) == nil && strings.EqualFold(m.topic, text)
	case "sender":
		return json.Unmarshal(t.Operand, &id) == nil && m.sender == id
	case "dm":
		ok := json.Unmarshal(t.Operand, &ids) == nil
		ids = slices.Compact(slices.Sorted(slices.Values(append(ids, BotID))))
		return ok && slices.Equal(ids, m.people)
	}
	return false
}

// object is a message as the API gives it.
func (s *Server) object(m *message, html bool) map[string]any {
	sender := s.people[m.sender]
	o := map[string]any{
		"id": m.id, "sender_id": m.sender, "sender_email": sender.ID, "sender_full_name": sender.Name,
		"sender_realm_str": "example", "client": "website", "timestamp": m.at.Unix(), "content": m.content,
		"content_type": "text/x-markdown", "is_me_message": strings.HasPrefix(m.content, "/me "),
		"reactions": []any{}, "submessages": []any{}, "topic_links": []any{}, "recipient_id": 17, "avatar_url": nil,
	}
	if strings.HasSuffix(sender.ID, "@zulip.com") {
		o["sender_realm_str"] = "zulipinternal"
	}
	if html {
		o["content"], o["content_type"] = "<p>"+m.content+"</p>", "text/html"
	}
	if m.stream != 0 {
		o["type"], o["stream_id"], o["subject"], o["display_recipient"] = "stream", m.stream, m.topic, s.o.Channels[m.stream]
	} else {
		people := []map[string]any{}
		for _, id := range m.people {
			people = append(people, map[string]any{"id": id, "email": s.people[id].ID, "full_name": s.people[id].Name, "is_mirror_dummy": false})
		}
		o["type"], o["subject"], o["display_recipient"] = "private", "", people
	}
	if len(m.history) > 0 {
		edits := []map[string]any{}
		for _, old := range m.history {
			edits = append(edits, map[string]any{"prev_content": old, "prev_rendered_content": "<p>" + old + "</p>", "prev_rendered_content_version": 1, "timestamp": s.o.Now().Unix(), "user_id": m.sender})
		}
		slices.Reverse(edits)
		o["edit_history"], o["last_edit_timestamp"] = edits, s.o.Now().Unix()
	}
	return o
}

// mention is what mentions somebody
// (https://zulip.com/api/message-formatting#mentions).
var mention = regexp.MustCompile(`(?:^|[\s'"({\[/<])@\*\*([^*]+)\*\*`)

// flags are the bot's of a message
// (https://zulip.com/api/update-message-flags#available-flags). Mentions in code
// count here, though they don't on the real server.
func (s *Server) flags(m *message) []string {
	flags := []string{}
	for _, found := range mention.FindAllStringSubmatch(m.content, -1) {
		switch name := found[1]; name {
		case "all", "everyone", "channel", "stream":
			flags = append(flags, "wildcard_mentioned", "stream_wildcard_mentioned")
		case "topic":
			flags = append(flags, "wildcard_mentioned", "topic_wildcard_mentioned")
		default:
			if full, id, _ := strings.Cut(name, "|"); strings.EqualFold(name, s.o.Name) || id == strconv.Itoa(BotID) && (full == "" || full == s.o.Name) {
				flags = append(flags, "mentioned")
			}
		}
	}
	return flags
}

// typing shows that the bot is typing (https://zulip.com/api/set-typing-status).
func (s *Server) typing(w http.ResponseWriter, r *http.Request) {
	values, ok := params(w, r, "type", "op", "to", "stream_id", "topic")
	if !ok {
		return
	}
	m := &message{sender: BotID}
	good := values.Get("op") == "start" || values.Get("op") == "stop"
	switch values.Get("type") {
	case "stream", "channel":
		good = good && values.Has("stream_id") && values.Has("topic") && read(values, "stream_id", &m.stream)
		m.topic = values.Get("topic")
	case "direct":
		good = good && values.Has("to") && read(values, "to", &m.people) && len(m.people) > 0
	default:
		good = false
	}
	if !good {
		invalid(w, "to")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.typed = append(s.typed, m.chat())
	succeed(w, nil)
}

// whoami says who the bot is (https://zulip.com/api/get-own-user).
func (s *Server) whoami(w http.ResponseWriter, r *http.Request) {
	if _, ok := params(w, r); !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	succeed(w, map[string]any{"user_id": BotID, "email": s.o.Email, "full_name": s.o.Name, "is_bot": true, "is_active": true})
}

// Rename gives the bot another name.
func (s *Server) Rename(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.o.Name = name
	s.people[BotID] = surface.Person{ID: s.o.Email, Name: name}
}
