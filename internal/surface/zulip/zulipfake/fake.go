// Package zulipfake is a Zulip server as its documentation describes it
// (https://zulip.com/api/rest), with one bot, for tests. Where the real one is
// lenient it is strict: it refuses parameters that an endpoint doesn't know. Where
// the real one is treacherous it is too: a text that is too long is cut without a
// word, an event that was acknowledged can't be had again, and a message that was
// edited carries its whole history.
package zulipfake

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"verbatim/internal/surface"
	"verbatim/internal/surface/surfacetest"
)

// BotID is the bot's user id.
const BotID = 5

// Options are what can be chosen of a server.
type Options struct {
	// Email, Key and Name are the bot's.
	Email, Key, Name string
	// Channels are the names of channels by id.
	Channels map[int64]string
	// MaxLength is the longest message in code points; 0 means 10,000.
	MaxLength int
	// PerMinute is how many calls the bot may make in 60 s, other than waits
	// for events; 0 means that it is not counted.
	PerMinute int
	// EditTime is how long a message can be edited; 0 means for ever.
	EditTime time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Server is the server. It is an http.Handler, and safe for concurrent use.
type Server struct {
	surfacetest.Faults
	o   Options
	mux *http.ServeMux

	mu       sync.Mutex
	messages []*message
	people   map[int64]surface.Person
	queues   map[string]*queue
	files    map[string]file
	links    map[string]link
	calls    []time.Time
	lastID   int64
	minted   int
	typed    []surface.Chat
	requests []string
}

var (
	_ surfacetest.Far     = (*Server)(nil)
	_ surfacetest.Polled  = (*Server)(nil)
	_ surfacetest.Changed = (*Server)(nil)
)

// New makes a server without messages.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxLength == 0 {
		o.MaxLength = 10000
	}
	o.Channels = maps.Clone(o.Channels)
	if o.Channels == nil {
		o.Channels = map[int64]string{}
	}
	s := &Server{
		o: o, queues: map[string]*queue{}, files: map[string]file{}, links: map[string]link{}, lastID: 1000,
		people: map[int64]surface.Person{BotID: {ID: o.Email, Name: o.Name}},
	}
	s.routes()
	return s
}

// message is a stored one. A direct one has people, the bot and the sender among
// them.
type message struct {
	id      int64
	stream  int64
	topic   string
	people  []int64
	sender  int64
	content string
	at      time.Time
	history []string
}

func (m *message) in(chat surface.Chat) bool {
	if m.stream != 0 {
		return chat.ID == fmt.Sprintf("stream:%d", m.stream) && strings.EqualFold(chat.Thread, m.topic)
	}
	return chat.ID == m.chat().ID
}

func (m *message) chat() surface.Chat {
	if m.stream != 0 {
		return surface.Chat{ID: fmt.Sprintf("stream:%d", m.stream), Thread: m.topic}
	}
	var ids []string
	for _, id := range m.people {
		if id != BotID {
			ids = append(ids, strconv.FormatInt(id, 10))
		}
	}
	return surface.Chat{ID: "direct:" + strings.Join(ids, "-")}
}

// Shown is surfacetest.Far.Shown.
func (s *Server) Shown(chat surface.Chat) []surface.Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []surface.Seen
	for _, m := range s.messages {
		if m.sender == BotID && m.in(chat) {
			out = append(out, surface.Seen{PlatformID: strconv.FormatInt(m.id, 10), Text: m.content, At: m.at})
		}
	}
	return out
}

// AddPerson makes a person known and returns the user id: the first of Other that
// is a number, else a new one. The same ID gives the same person.
func (s *Server) AddPerson(p surface.Person) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.person(p)
}

func (s *Server) person(p surface.Person) int64 {
	next := int64(10)
	for id, known := range s.people {
		if known.ID == p.ID {
			return id
		}
		next = max(next, id+1)
	}
	for _, text := range p.Other {
		if id, err := strconv.ParseInt(text, 10, 64); err == nil {
			next = id
			break
		}
	}
	if p.Name == "" {
		p.Name, _, _ = strings.Cut(p.ID, "@")
	}
	s.people[next] = p
	return next
}

// Say is surfacetest.Far.Say. A direct chat is "direct:" with the ids of people
// that AddPerson gave.
func (s *Server) Say(said surface.Message) string {
	if said.ID != "" {
		return said.ID // Zulip gives an event again until it is acknowledged, and never after
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	return s.said(said, s.lastID)
}

// Late begins a message of a person, which gets its id now, and is there only when
// the returned function is called: the server gives out ids before it stores.
func (s *Server) Late(said surface.Message) (store func() string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	id := s.lastID
	return func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.said(said, id)
	}
}

func (s *Server) said(said surface.Message, id int64) string {
	m := &message{id: id, sender: s.person(said.Sender), content: said.Text, at: s.o.Now()}
	if !s.aim(m, said.Chat) {
		panic(fmt.Sprintf("there can be no chat %q", said.Chat.ID))
	}
	if said.Mentioned {
		m.content = "@**" + s.o.Name + "** " + m.content
	}
	for _, f := range said.Files {
		m.content += fmt.Sprintf("\n[%s](%s)", f.Name, s.keep(f.Name, f.MIME, f.Data))
	}
	s.add(m)
	return strconv.FormatInt(id, 10)
}

// aim makes chat the message's place.
func (s *Server) aim(m *message, chat surface.Chat) bool {
	if text, ok := strings.CutPrefix(chat.ID, "stream:"); ok {
		id, err := strconv.ParseInt(text, 10, 64)
		m.stream, m.topic = id, chat.Thread
		if s.o.Channels[id] == "" {
			s.o.Channels[id] = "channel " + text
		}
		return err == nil
	}
	text, ok := strings.CutPrefix(chat.ID, "direct:")
	m.people = []int64{BotID, m.sender}
	for one := range strings.SplitSeq(text, "-") {
		id, err := strconv.ParseInt(one, 10, 64)
		if err != nil {
			return false
		}
		m.people = append(m.people, id)
	}
	m.people = slices.Compact(slices.Sorted(slices.Values(m.people)))
	return ok
}

// add stores a message and tells the queues of it.
func (s *Server) add(m *message) {
	s.messages = append(s.messages, m)
	slices.SortFunc(s.messages, func(a, b *message) int { return cmp.Compare(a.id, b.id) })
	s.tell(map[string]any{"type": "message", "message": s.object(m, false), "flags": s.flags(m)})
}

// Rewrite is surfacetest.Changed.Rewrite.
func (s *Server) Rewrite(_ surface.Chat, id, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.find(id); m != nil {
		s.rewrite(m, m.sender, text)
	}
}

// Erase is surfacetest.Changed.Erase.
func (s *Server) Erase(_ surface.Chat, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.find(id)
	if m == nil {
		return
	}
	s.messages = slices.DeleteFunc(s.messages, func(old *message) bool { return old == m })
	e := map[string]any{"type": "delete_message", "message_ids": []int64{m.id}, "message_type": "private"}
	if m.stream != 0 {
		e["message_type"], e["stream_id"], e["topic"] = "stream", m.stream, m.topic
	}
	s.tell(e)
}

// Move gives a message another topic, as a moderator may.
func (s *Server) Move(id, topic string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.find(id)
	e := s.changeOf(m, m.sender)
	e["orig_subject"], e["subject"], e["propagate_mode"] = m.topic, topic, "change_one"
	m.topic = topic
	s.tell(e)
}

// Preview tells that the look of a message changed, as the server does when it has
// fetched a page that a message links to.
func (s *Server) Preview(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.find(id)
	e := s.changeOf(m, m.sender)
	e["user_id"], e["rendering_only"], e["content"] = nil, true, m.content
	s.tell(e)
}

// Expire drops all event queues, as the server does with those that nobody asked
// for 10 minutes.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.queues {
		s.drop(id)
	}
}

// Typed returns the chats in which the bot was shown to be typing.
func (s *Server) Typed() []surface.Chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.typed)
}

// Requests returns the method and path of every request, in order.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func (s *Server) find(id string) *message {
	for _, m := range s.messages {
		if strconv.FormatInt(m.id, 10) == id {
			return m
		}
	}
	return nil
}

func (s *Server) rewrite(m *message, by int64, content string) {
	m.history = append(m.history, m.content)
	e := s.changeOf(m, by)
	e["orig_content"], e["content"], e["rendered_content"] = m.content, content, "<p>"+content+"</p>"
	m.content = content
	s.tell(e)
}

// changeOf is what all events update_message have
// (https://zulip.com/api/get-events#update_message).
func (s *Server) changeOf(m *message, by int64) map[string]any {
	e := map[string]any{
		"type": "update_message", "user_id": by, "rendering_only": false, "message_id": m.id,
		"message_ids": []int64{m.id}, "flags": s.flags(m), "edit_timestamp": s.o.Now().Unix(),
	}
	if m.stream != 0 {
		e["stream_id"] = m.stream
	}
	return e
}
