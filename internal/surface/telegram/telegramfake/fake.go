// Package telegramfake is a Bot API server for tests: an http.Handler that does
// what https://core.telegram.org/bots/api says, as strictly as it can be read. It
// refuses what the real one would mend or overlook: markup that is not documented,
// fields that a method does not have, texts that are too long.
//
// What the documentation leaves open, such as the wording of errors, is that of
// the real server, https://github.com/tdlib/telegram-bot-api.
package telegramfake

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"verbatim/internal/surface"
	"verbatim/internal/surface/surfacetest"
)

// Fake is the server of one bot. Safe for concurrent use.
type Fake struct {
	surfacetest.Faults
	token string
	me    person

	mu       sync.Mutex
	chats    map[int64]*room
	messages []*message
	files    map[string]stored
	queue    updates
	hook     hook
	presses  map[string]bool
	told     []string
	typed    []surface.Chat
	sent     int
	ends     context.Context
	close    context.CancelFunc
	pushes   sync.WaitGroup
}

// New returns the server of the bot with this token and user name.
func New(token, username string) *Fake {
	number, _, _ := strings.Cut(token, ":")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		id = 1
	}
	f := &Fake{
		token: token,
		me:    person{ID: id, Bot: true, First: "Bot", Username: username},
		chats: map[int64]*room{}, files: map[string]stored{}, presses: map[string]bool{},
	}
	f.ends, f.close = context.WithCancel(context.Background())
	f.queue.next = 1000
	return f
}

// Close ends the calls of a webhook that are still tried, and waits for them.
func (f *Fake) Close() {
	f.close()
	f.pushes.Wait()
}

// room is a chat.
type room struct {
	id     int64
	kind   string
	topics map[int64]bool
	// last is the id of its last message.
	last int64
	// refusal is what each call for it gets, empty for none.
	refusal reply
}

// Open makes a chat exist: a private one where id is positive, else a supergroup,
// with the topic if one is named.
func (f *Fake) Open(chat surface.Chat) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open(chat)
}

func (f *Fake) open(chat surface.Chat) *room {
	id, err := strconv.ParseInt(chat.ID, 10, 64)
	if err != nil {
		panic("telegramfake: the chat " + strconv.Quote(chat.ID) + " has no number")
	}
	r := f.chats[id]
	if r == nil {
		r = &room{id: id, kind: "supergroup", topics: map[int64]bool{}}
		if id > 0 {
			r.kind = "private"
		}
		f.chats[id] = r
	}
	if topic, err := strconv.ParseInt(chat.Thread, 10, 64); err == nil {
		r.topics[topic] = true
	}
	return r
}

// Shut lets each further call for a chat fail with an error of Telegram.
func (f *Fake) Shut(chat surface.Chat, code int, description string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open(chat).refusal = failure(code, description)
}

// Migrate makes a group a supergroup with another id.
func (f *Fake) Migrate(chat surface.Chat, to int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := failure(http.StatusBadRequest, "Bad Request: group chat was upgraded to a supergroup chat")
	r.Parameters = map[string]any{"migrate_to_chat_id": to}
	f.open(chat).refusal = r
}

// reply is an answer: https://core.telegram.org/bots/api#making-requests.
type reply struct {
	OK          bool           `json:"ok"`
	Result      any            `json:"result,omitempty"`
	Code        int            `json:"error_code,omitempty"`
	Description string         `json:"description,omitempty"`
	Parameters  map[string]any `json:"parameters,omitempty"`
}

func success(result any) reply { return reply{OK: true, Result: result} }

func failure(code int, description string) reply { return reply{Code: code, Description: description} }

func badRequest(description string) reply {
	return failure(http.StatusBadRequest, "Bad Request: "+description)
}

// ServeHTTP answers POST and GET /bot<token>/<method>, and GET
// /file/bot<token>/<path>.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, isFile := strings.CutPrefix(r.URL.Path, "/file")
	token, name, ok := strings.Cut(strings.TrimPrefix(path, "/bot"), "/")
	switch {
	case !ok || !strings.HasPrefix(path, "/bot") || !strings.Contains(token, ":"):
		write(w, failure(http.StatusNotFound, "Not Found"))
	case token != f.token:
		write(w, failure(http.StatusUnauthorized, "Unauthorized"))
	case isFile:
		f.serveFile(w, r, name)
	case r.Method != http.MethodPost && r.Method != http.MethodGet:
		write(w, failure(http.StatusMethodNotAllowed, "Method Not Allowed"))
	default:
		f.serveMethod(w, r, name)
	}
}

func write(w http.ResponseWriter, r reply) {
	status := http.StatusOK
	if !r.OK {
		status = r.Code
	}
	writeWith(w, status, r)
}

func writeWith(w http.ResponseWriter, status int, r reply) {
	raw, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(raw)
}

// method is one of the Bot API.
type method struct {
	params []string
	run    func(f *Fake, q *query) reply
	// changes and reads say which faults hit it.
	changes, reads bool
}

var methods = map[string]method{
	"getme":               {run: (*Fake).getMe, reads: true},
	"getupdates":          {params: []string{"offset", "limit", "timeout", "allowed_updates"}, run: (*Fake).getUpdates, reads: true},
	"setwebhook":          {params: []string{"url", "secret_token", "max_connections", "allowed_updates", "drop_pending_updates"}, run: (*Fake).setWebhook, reads: true},
	"deletewebhook":       {params: []string{"drop_pending_updates"}, run: (*Fake).deleteWebhook, reads: true},
	"getwebhookinfo":      {run: (*Fake).getWebhookInfo, reads: true},
	"sendmessage":         {params: slices.Concat(where, []string{"text", "parse_mode", "link_preview_options"}), run: (*Fake).sendMessage, changes: true},
	"sendphoto":           {params: slices.Concat(where, []string{"photo", "caption", "parse_mode"}), run: (*Fake).sendPhoto, changes: true},
	"senddocument":        {params: slices.Concat(where, []string{"document", "caption", "parse_mode"}), run: (*Fake).sendDocument, changes: true},
	"sendmediagroup":      {params: slices.Concat(where, []string{"media"}), run: (*Fake).sendMediaGroup, changes: true},
	"editmessagetext":     {params: []string{"chat_id", "message_id", "text", "parse_mode", "link_preview_options", "reply_markup"}, run: (*Fake).editText, changes: true},
	"editmessagecaption":  {params: []string{"chat_id", "message_id", "caption", "parse_mode", "reply_markup"}, run: (*Fake).editCaption, changes: true},
	"sendchataction":      {params: []string{"chat_id", "message_thread_id", "action"}, run: (*Fake).sendChatAction},
	"answercallbackquery": {params: []string{"callback_query_id", "text", "show_alert"}, run: (*Fake).answerCallbackQuery},
	"getfile":             {params: []string{"file_id"}, run: (*Fake).getFile},
}

// where are the parameters of all methods that send a message.
var where = []string{"chat_id", "message_thread_id", "reply_parameters", "reply_markup"}

func (f *Fake) serveMethod(w http.ResponseWriter, r *http.Request, name string) {
	m, ok := methods[strings.ToLower(name)]
	if !ok {
		write(w, failure(http.StatusNotFound, "Not Found: method not found"))
		return
	}
	q, err := parse(r)
	if err != nil {
		write(w, badRequest(err.Error()))
		return
	}
	for name := range q.values {
		// The real server overlooks fields that it doesn't know. The files of an
		// album have names of their own.
		_, file := q.files[name]
		if !slices.Contains(m.params, name) && (!file || !slices.Contains(m.params, "media")) {
			write(w, badRequest("the method has no parameter "+strconv.Quote(name)))
			return
		}
	}
	q.show = true
	switch {
	case m.changes:
		f.change(w, r, m, q)
	case m.reads:
		f.read(w, r, m, q)
	default:
		write(w, m.run(f, q))
	}
}

// change answers a call that shows or changes a message.
func (f *Fake) change(w http.ResponseWriter, r *http.Request, m method, q *query) {
	fault := f.Take(time.Now())
	if fault == surfacetest.RefuseMarkup && q.values["parse_mode"] == "" {
		fault = surfacetest.Fine
	}
	switch fault {
	case surfacetest.Fine, surfacetest.Lost, surfacetest.GatewayTaken, surfacetest.Slow, surfacetest.Stall:
		out := m.run(f, q)
		if f.trouble(w, r, fault) {
			write(w, out)
		}
	case surfacetest.Lie:
		q.show = false
		write(w, m.run(f, q))
	case surfacetest.Refuse:
		write(w, badRequest("BUTTON_TYPE_INVALID"))
	case surfacetest.RefuseMarkup:
		write(w, badRequest("can't parse entities: Unsupported start tag \"x\" at byte offset 0"))
	default:
		f.trouble(w, r, fault)
	}
}

// read answers a call that asks for what people did, or prepares that.
func (f *Fake) read(w http.ResponseWriter, r *http.Request, m method, q *query) {
	fault := f.TakeRead()
	switch fault {
	case surfacetest.Fine, surfacetest.Lost, surfacetest.Garbled:
		out := m.run(f, q)
		if f.trouble(w, r, fault) {
			write(w, out)
		}
	default:
		f.trouble(w, r, fault)
	}
}

// trouble does what has nothing to do with the call, and reports whether an answer
// is still to be given.
func (f *Fake) trouble(w http.ResponseWriter, r *http.Request, fault surfacetest.Fault) bool {
	switch fault {
	case surfacetest.Busy:
		write(w, failure(http.StatusInternalServerError, "Internal Server Error: restart"))
	case surfacetest.Limit, surfacetest.LimitInside:
		left := int(math.Ceil(f.Limited(time.Now()).Seconds()))
		out := failure(http.StatusTooManyRequests, "Too Many Requests: retry after "+strconv.Itoa(left))
		out.Parameters = map[string]any{"retry_after": left}
		status := out.Code
		if fault == surfacetest.LimitInside {
			status = http.StatusOK
		}
		writeWith(w, status, out)
	case surfacetest.Lost, surfacetest.Cut:
		panic(http.ErrAbortHandler)
	case surfacetest.Gateway, surfacetest.GatewayTaken:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(map[surfacetest.Fault]int{surfacetest.Gateway: 502, surfacetest.GatewayTaken: 504}[fault])
		w.Write([]byte("<html><head><title>Bad Gateway</title></head><body>nginx</body></html>"))
	case surfacetest.Garbled:
		w.Write([]byte(`{"ok":true,"result":[{"update_id":1,"mess`))
	case surfacetest.Stall:
		<-r.Context().Done()
	case surfacetest.Slow:
		return wait(r.Context(), surfacetest.SlowTime)
	default:
		return true
	}
	return false
}

// wait returns false if ctx ends first.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (f *Fake) getMe(*query) reply { return success(f.me) }
