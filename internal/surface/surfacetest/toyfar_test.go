package surfacetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"verbatim/internal/surface"
)

// toyFar is the far end of a platform that exists for these tests alone and has
// every ability.
type toyFar struct {
	Faults
	mu     sync.Mutex
	posts  []toyPost
	keys   map[string]string
	news   []toyNews
	more   chan struct{} // closed when there are news
	told   []string
	minted int
}

type toyPost struct {
	Key, ID, Chat, Text, By string
	Reply                   string
	Markup                  bool
	Buttons                 []string
	At                      time.Time
}

// toyNews is something that a person did.
type toyNews struct {
	Kind, Chat, ID, Text, By string
}

const toyLimit = 2000

func newToyFar() *toyFar { return &toyFar{keys: map[string]string{}, more: make(chan struct{})} }

func (f *toyFar) mint() string {
	f.minted++
	return "m" + strconv.Itoa(f.minted)
}

func (f *toyFar) tell(n toyNews) {
	f.news = append(f.news, n)
	close(f.more)
	f.more = make(chan struct{})
}

func (f *toyFar) Say(m surface.Message) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m.ID != "" {
		return m.ID
	}
	id := f.mint()
	f.posts = append(f.posts, toyPost{ID: id, Chat: m.Chat.ID, Text: m.Text, By: m.Sender.ID, At: time.Now()})
	f.tell(toyNews{"message", m.Chat.ID, id, m.Text, m.Sender.ID})
	return id
}

func (f *toyFar) Rewrite(chat surface.Chat, id, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tell(toyNews{"change", chat.ID, id, text, ""})
}

func (f *toyFar) Erase(chat surface.Chat, id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.posts = slices.DeleteFunc(f.posts, func(p toyPost) bool { return p.ID == id })
	f.tell(toyNews{"remove", chat.ID, id, "", ""})
}

func (f *toyFar) Press(chat surface.Chat, _, data string, by surface.Person) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tell(toyNews{"press", chat.ID, f.mint(), data, by.ID})
}

func (f *toyFar) Told() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.told)
}

func (f *toyFar) own(chat string) []toyPost {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []toyPost
	for _, p := range f.posts {
		if p.Chat == chat && p.By == "" {
			out = append(out, p)
		}
	}
	return out
}

func (f *toyFar) Shown(chat surface.Chat) []surface.Seen {
	var out []surface.Seen
	for _, p := range f.own(chat.ID) {
		out = append(out, surface.Seen{PlatformID: p.ID, Text: p.Text, At: p.At})
	}
	return out
}

func (f *toyFar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var p toyPost
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
			return
		}
	}
	switch r.URL.Path {
	case "/send":
		f.change(w, r, p, f.add)
	case "/edit":
		f.change(w, r, p, f.replace)
	case "/told":
		f.mu.Lock()
		f.told = append(f.told, p.Text)
		f.mu.Unlock()
		toyAnswer(w, 200, map[string]any{"ok": true})
	case "/news":
		f.read(w, r)
	case "/own":
		toyAnswer(w, 200, map[string]any{"ok": true, "posts": f.own(r.FormValue("chat"))})
	default:
		toyAnswer(w, 200, map[string]any{"ok": true})
	}
}

// add and replace return an answer.
func (f *toyFar) add(p toyPost) map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	if id, ok := f.keys[p.Key]; ok {
		return map[string]any{"ok": true, "id": id}
	}
	p.ID, p.At = f.mint(), time.Now()
	f.posts, f.keys[p.Key] = append(f.posts, p), p.ID
	return map[string]any{"ok": true, "id": p.ID}
}

func (f *toyFar) replace(p toyPost) map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.posts, func(old toyPost) bool { return old.ID == p.ID })
	if i < 0 {
		return map[string]any{"ok": false, "code": "gone"}
	}
	f.posts[i].Text = p.Text
	return map[string]any{"ok": true}
}

func (f *toyFar) change(w http.ResponseWriter, r *http.Request, p toyPost, do func(toyPost) map[string]any) {
	fault := f.Take(time.Now())
	if utf8.RuneCountInString(p.Text) > toyLimit {
		fault = Refuse
	}
	if fault == RefuseMarkup && !p.Markup {
		fault = Fine
	}
	switch fault {
	case Fine, Lost, GatewayTaken, Slow, Stall:
		out := do(p)
		if f.trouble(w, r, fault) {
			status := 200
			if out["ok"] == false {
				status = 400
			}
			toyAnswer(w, status, out)
		}
	case Lie:
		toyAnswer(w, 200, map[string]any{"ok": true, "id": "m0"})
	case Refuse:
		toyAnswer(w, 400, map[string]any{"ok": false, "code": "refused"})
	case RefuseMarkup:
		toyAnswer(w, 400, map[string]any{"ok": false, "code": "markup"})
	default:
		f.trouble(w, r, fault)
	}
}

// trouble does what has nothing to do with the call, and reports whether an
// answer is still to be given.
func (f *toyFar) trouble(w http.ResponseWriter, r *http.Request, fault Fault) bool {
	switch fault {
	case Busy:
		toyAnswer(w, 500, map[string]any{"ok": false, "code": "busy"})
	case Limit, LimitInside:
		status := http.StatusTooManyRequests
		if fault == LimitInside {
			status = 200
		}
		toyAnswer(w, status, map[string]any{"ok": false, "code": "limit", "retry_after": f.Limited(time.Now()).Seconds()})
	case Lost, Cut:
		panic(http.ErrAbortHandler)
	case Gateway, GatewayTaken:
		w.WriteHeader(http.StatusBadGateway)
		fmt.Fprint(w, "<html>bad gateway</html>")
	case Garbled:
		fmt.Fprint(w, `{"ok":true,"news":[{"Kind":"mes`)
	case Stall:
		<-r.Context().Done()
	case Slow:
		select {
		case <-time.After(SlowTime):
			return true
		case <-r.Context().Done():
		}
	default:
		return true
	}
	return false
}

func (f *toyFar) read(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.Atoi(r.FormValue("after"))
	wait := time.After(25 * time.Second)
	for {
		f.mu.Lock()
		news, more := f.news, f.more
		f.mu.Unlock()
		if err != nil {
			after = len(news)
		}
		if len(news) > after || err != nil {
			if f.trouble(w, r, f.TakeRead()) {
				toyAnswer(w, 200, map[string]any{"ok": true, "news": news[after:], "after": after})
			}
			return
		}
		select {
		case <-more:
		case <-wait:
			toyAnswer(w, 200, map[string]any{"ok": true, "after": after})
			return
		case <-r.Context().Done():
			return
		}
	}
}

func toyAnswer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	var b strings.Builder
	json.NewEncoder(&b).Encode(v)
	fmt.Fprint(w, b.String())
}
