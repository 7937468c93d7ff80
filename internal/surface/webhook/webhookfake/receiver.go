// Package webhookfake is the program at the other end of a webhook: it checks
// each post as strictly as docs/platforms/webhook.md lets it, keeps what a reader
// would see, and sends signed messages as a sender that tries again does.
package webhookfake

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"verbatim/internal/surface"
	"verbatim/internal/surface/surfacetest"
)

// Post is the body of a post.
type Post struct {
	PostID       string `json:"post_id"`
	Conversation string `json:"conversation"`
	RunID        string `json:"run_id"`
	Kind         string `json:"kind"`
	Seq          int64  `json:"seq"`
	Part         int    `json:"part"`
	Text         string `json:"text"`
	Final        bool   `json:"final"`
}

// members are those of a Post, in the order in which they come.
var members = []string{"post_id", "conversation", "run_id", "kind", "seq", "part", "text", "final"}

var kinds = []surface.Kind{
	surface.KindText, surface.KindAnswer, surface.KindCommentary, surface.KindReasoning,
	surface.KindTool, surface.KindApproval, surface.KindNotice, surface.KindError,
}

// Options say how a Far is set up.
type Options struct {
	// Secret is the key of the posts that come, SenderSecret that of the
	// messages that go.
	Secret, SenderSecret string
	// Dedupe drops a post whose Idempotency-Key was seen, and answers as the
	// first time.
	Dedupe bool
	// Limit is the most code points of a text; 0 for 16384.
	Limit int
}

// Far is the receiver of posts, at POST /in, and the sender of messages.
type Far struct {
	surfacetest.Faults
	opt Options

	mu     sync.Mutex
	posts  []shown
	bodies map[string][]byte
	ids    map[string]string
	wrong  []string
	hook   http.Handler
	sent   map[string][]byte
	acks   []Answer
}

type shown struct {
	post Post
	id   string
	at   time.Time
}

// New returns a Far that has seen nothing.
func New(o Options) *Far {
	if o.Limit == 0 {
		o.Limit = 16384
	}
	return &Far{opt: o, bodies: map[string][]byte{}, ids: map[string]string{}, sent: map[string][]byte{}}
}

// Posts returns what a reader sees, oldest first.
func (f *Far) Posts() []Post {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Post
	for _, s := range f.posts {
		out = append(out, s.post)
	}
	return out
}

// Shown returns what a reader sees: there is one place for all chats.
func (f *Far) Shown(surface.Chat) []surface.Seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []surface.Seen
	for _, s := range f.posts {
		out = append(out, surface.Seen{PlatformID: s.id, Text: s.post.Text, At: s.at})
	}
	return out
}

// Wrong lists what calls did against the documentation.
func (f *Far) Wrong() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.wrong)
}

// ServeHTTP takes a post.
func (f *Far) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/in" {
		f.complain("%s %s was called", r.Method, r.URL.Path)
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	fault := f.Take(time.Now())
	post, status, text := f.check(r.Header, body)
	if status != 0 {
		f.complain("%s", text)
		answer(w, status, map[string]string{"error": text})
		return
	}
	f.act(w, r, fault, post)
}

func (f *Far) act(w http.ResponseWriter, r *http.Request, fault surfacetest.Fault, post Post) {
	switch fault {
	case surfacetest.Refuse:
		answer(w, http.StatusUnprocessableEntity, map[string]string{"error": "not this one"})
	case surfacetest.Busy:
		answer(w, http.StatusTooManyRequests, map[string]string{"error": "busy"})
	case surfacetest.Limit, surfacetest.LimitInside:
		left := f.Limited(time.Now())
		w.Header().Set("Retry-After", strconv.Itoa(int((left+time.Second-1)/time.Second)))
		answer(w, http.StatusTooManyRequests, map[string]string{"error": "slow down"})
	case surfacetest.Cut:
		panic(http.ErrAbortHandler)
	case surfacetest.Lost:
		f.show(post)
		panic(http.ErrAbortHandler)
	case surfacetest.Gateway:
		proxy(w, http.StatusBadGateway)
	case surfacetest.GatewayTaken:
		f.show(post)
		proxy(w, http.StatusGatewayTimeout)
	case surfacetest.Lie:
		answer(w, http.StatusOK, map[string]string{"id": "p0"})
	case surfacetest.Stall:
		f.show(post)
		<-r.Context().Done()
	case surfacetest.Slow:
		id := f.show(post)
		if wait(r, surfacetest.SlowTime) {
			answer(w, http.StatusOK, map[string]string{"id": id})
		}
	default: // Fine, and RefuseMarkup: there is no markup
		answer(w, http.StatusOK, map[string]string{"id": f.show(post)})
	}
}

func wait(r *http.Request, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) //nolint:errcheck // the other side may have left
}

// proxy answers as one does that stands in between, and repeats nothing that it
// was given.
func proxy(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	w.Write([]byte("<html><body><h1>" + http.StatusText(status) + "</h1></body></html>"))
}

// show puts a post where a reader sees it, once a key with Dedupe, and returns
// its id.
func (f *Far) show(post Post) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if id, seen := f.ids[post.PostID]; seen && f.opt.Dedupe {
		return id
	}
	id := "p" + strconv.Itoa(len(f.posts)+1)
	f.posts = append(f.posts, shown{post, id, time.Now()})
	f.ids[post.PostID] = id
	return id
}

func (f *Far) complain(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wrong = append(f.wrong, fmt.Sprintf(format, args...))
}

// check returns the status and the reason with which a call is turned down; 0
// for one that is as documented.
func (f *Far) check(h http.Header, body []byte) (post Post, status int, text string) {
	if reason := f.unsigned(h, body); reason != "" {
		return post, http.StatusUnauthorized, reason
	}
	if h.Get("Content-Type") != "application/json" || h.Get("User-Agent") != "Verbatim" {
		return post, http.StatusUnsupportedMediaType, "the content type or the user agent is another one"
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&post); err != nil {
		return post, http.StatusBadRequest, "the body can't be read: " + err.Error()
	}
	if got := order(body); !slices.Equal(got, members) {
		return post, http.StatusBadRequest, fmt.Sprintf("the members are %v", got)
	}
	status, text = f.read(post, h.Get("Idempotency-Key"), body)
	return post, status, text
}

func (f *Far) read(p Post, key string, body []byte) (status int, text string) {
	f.mu.Lock()
	before, again := f.bodies[p.PostID]
	if !again {
		f.bodies[p.PostID] = body
	}
	f.mu.Unlock()
	switch {
	case p.PostID == "" || p.PostID != key:
		return http.StatusBadRequest, "the Idempotency-Key is not the post_id"
	case again && !bytes.Equal(before, body):
		return http.StatusConflict, "the same key came with other bytes"
	case !slices.Contains(kinds, surface.Kind(p.Kind)):
		return http.StatusBadRequest, "the kind is " + p.Kind
	case p.Part < 1 || p.Seq < 0 || p.Conversation == "":
		return http.StatusBadRequest, "part, seq or conversation is none"
	case len(bytes.TrimSpace([]byte(p.Text))) == 0:
		return http.StatusUnprocessableEntity, "the text is blank"
	case utf8.RuneCountInString(p.Text) > f.opt.Limit:
		return http.StatusRequestEntityTooLarge, "the text is too long"
	}
	return 0, ""
}

func (f *Far) unsigned(h http.Header, body []byte) string {
	at := h.Get("X-Verbatim-Timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 300*time.Second {
		return "the time is missing or too far from ours"
	}
	want := "v1=" + hex.EncodeToString(mac(f.opt.Secret, at+"."+string(body)))
	if !hmac.Equal([]byte(want), []byte(h.Get("X-Verbatim-Signature"))) {
		return "the signature is wrong"
	}
	return ""
}

func mac(key, text string) []byte {
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(text))
	return m.Sum(nil)
}

// order returns the names of an object's members as they come; their values are
// plain.
func order(body []byte) []string {
	d := json.NewDecoder(bytes.NewReader(body))
	var names []string
	for i := 0; ; i++ {
		t, err := d.Token()
		if err != nil {
			return names
		}
		if name, ok := t.(string); ok && i%2 == 1 {
			names = append(names, name)
		}
	}
}
