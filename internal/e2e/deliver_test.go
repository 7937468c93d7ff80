package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"verbatim/internal/client"
	"verbatim/internal/surface"
	"verbatim/internal/surface/surfacetest"
	"verbatim/internal/surface/telegram/telegramfake"
	"verbatim/internal/surface/webhook/webhookfake"
	"verbatim/internal/surface/zulip/zulipfake"
)

// What must never be written down, of all surfaces.
const (
	hookSecret = "hook-secret-not-to-be-written-down"
	outSecret  = "post-secret-not-to-be-written-down"
	urlSecret  = "address-secret-not-to-be-written-down"
	zulipKey   = "zulip-key-not-to-be-written-down"
	phoneToken = "4242:telegram-token-not-to-be-written-down"
)

// The surfaces of a town. Of the two webhooks, hook drops what it has seen and
// blind doesn't.
const (
	onHook  = "hook"
	onBlind = "blind"
	onTeam  = "team"
	onPhone = "phone"
)

var allSurfaces = []string{onHook, onBlind, onTeam, onPhone}

// channel is the Zulip channel of all topics.
const channel = "stream:7"

// town is the program with a surface on each platform, and these platforms, each
// over a network connection as in life.
type town struct {
	t     *testing.T
	p     *product
	u     *upstream
	hook  *webhookfake.Far
	blind *webhookfake.Far
	team  *zulipfake.Server
	phone *telegramfake.Fake
	sites map[string]*site
	// url is where the program is, for those that call it.
	url atomic.Pointer[string]
}

// plan is what can be chosen of a town.
type plan struct {
	// global are lines of verbatim.yaml, extra those of a surface by its name.
	global string
	extra  map[string]string
	args   []string
}

// guarded, as an extra of a webhook, leaves its target to be one that must be on the
// public internet.
const guarded = "    # guarded\n"

// newTown prepares a town whose model answers as said. It does not start it.
func newTown(t *testing.T, answer func(ask) []step, how plan) *town {
	t.Helper()
	w := &town{t: t, u: newUpstream(t, answer), sites: map[string]*site{}}
	w.hook = webhookfake.New(webhookfake.Options{Secret: outSecret, SenderSecret: hookSecret, Dedupe: true})
	w.blind = webhookfake.New(webhookfake.Options{Secret: outSecret, SenderSecret: hookSecret})
	w.team = zulipfake.New(zulipfake.Options{Email: "bot@chat.example.org", Key: zulipKey, Name: "Verbatim", Channels: map[int64]string{7: "general"}})
	w.phone = telegramfake.New(phoneToken, "verbatim_bot")
	t.Cleanup(w.phone.Close)
	for name, h := range map[string]http.Handler{
		onHook: asIn(w.hook), onBlind: asIn(w.blind), onTeam: w.team, onPhone: w.phone,
	} {
		w.sites[name] = newSite(t, h)
	}
	w.hook.Reach(w.reach(onHook))
	w.blind.Reach(w.reach(onBlind))
	w.p = newProduct(t, w.u, append([]string{"--config", w.config(how)}, how.args...)...)
	t.Cleanup(w.inspect)
	return w
}

// asIn takes the secret out of the address of a post, as a receiver does that was
// given one.
func asIn(far http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.RawQuery = ""
		far.ServeHTTP(w, r)
	})
}

func (w *town) config(how plan) string {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "verbatim.yaml")
	var b strings.Builder
	b.WriteString(how.global + "\nsurfaces:\n")
	for _, name := range allSurfaces {
		fmt.Fprintf(&b, "  %s:\n%s%s", name, w.keys(name, how.extra[name]), how.extra[name])
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return file
}

// keys are what a surface needs; those of a person that extra sets are left to it.
func (w *town) keys(name, extra string) string {
	at := w.sites[name].url()
	lines := map[string]string{
		onTeam:  "    platform: zulip\n    site: " + at + "\n    email: bot@chat.example.org\n    api_key: " + zulipKey + "\n",
		onPhone: "    platform: telegram\n    api_base: " + at + "\n    token: \"" + phoneToken + "\"\n",
	}[name]
	if lines == "" {
		return fmt.Sprintf("    platform: webhook\n    secret: %s\n    conversation: \"{{thread}}\"\n"+
			"    deliver: {url: \"%s/in?key=%s\", secret: %s, allow_private: %t, idempotent: %t}\n",
			hookSecret, at, urlSecret, outSecret, !strings.Contains(extra, guarded), name == onHook)
	}
	for line := range strings.Lines("    may_talk: [\"*\"]\n    edit_interval: 150ms\n    buffer_threshold: 1\n") {
		key, _, _ := strings.Cut(line, ":")
		if !strings.Contains(extra, key+":") {
			lines += line
		}
	}
	return lines
}

// start starts the program. The first time it waits until Zulip is listened to,
// since before that nothing is heard there; later on it is caught up with.
func (w *town) start() {
	w.t.Helper()
	w.p.start()
	at := w.p.ready.URL
	w.url.Store(&at)
	until(w.t, "Zulip is listened to", calm(func() bool {
		return slices.ContainsFunc(w.team.Requests(), func(r string) bool { return strings.HasSuffix(r, "/events") })
	}))
}

// calm slows down a look that is taken again and again.
func calm(holds func() bool) func() bool {
	return func() bool {
		ok := holds()
		if !ok {
			<-time.After(100 * time.Millisecond)
		}
		return ok
	}
}

// reach is the way from a sender of webhooks to the program, wherever it is now.
func (w *town) reach(name string) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		at := w.url.Load()
		body, err := io.ReadAll(r.Body)
		if at == nil || err != nil {
			rw.WriteHeader(http.StatusBadGateway)
			return
		}
		req, err := http.NewRequestWithContext(r.Context(), r.Method, *at+"/hooks/"+name, bytes.NewReader(body))
		if err != nil {
			rw.WriteHeader(http.StatusBadGateway)
			return
		}
		req.Header = r.Header
		res, err := w.p.client.Do(req)
		if err != nil {
			rw.WriteHeader(http.StatusBadGateway)
			return
		}
		defer res.Body.Close()
		rw.WriteHeader(res.StatusCode)
		_, _ = io.Copy(rw, res.Body) // into memory; an answer that was cut is asked for again
	})
}

// inspect looks for what a platform must never be asked and nobody ever told.
func (w *town) inspect() {
	said := w.p.stderr.String()
	for _, secret := range []string{hookSecret, outSecret, urlSecret, zulipKey, phoneToken, "telegram-token"} {
		if strings.Contains(said, secret) {
			w.t.Errorf("the secret %q is on standard error", secret)
		}
	}
	for name, wrong := range map[string][]string{onHook: w.hook.Wrong(), onBlind: w.blind.Wrong()} {
		if len(wrong) > 0 {
			w.t.Errorf("%s: posts that are not as documented: %q", name, wrong)
		}
	}
}

// far is the other end of a surface.
func (w *town) far(name string) surfacetest.Far {
	switch name {
	case onHook:
		return w.hook
	case onBlind:
		return w.blind
	case onTeam:
		return w.team
	default:
		return w.phone
	}
}

// talk is a chat of a surface with the conversation that it is bound to.
type talk struct {
	surface      string
	chat         surface.Chat
	conversation string
	person       surface.Person
}

// talkOn is the n-th chat of a surface.
func talkOn(name string, n int) *talk {
	switch name {
	case onTeam:
		return &talk{
			surface: name, chat: surface.Chat{ID: channel, Thread: fmt.Sprintf("t%d", n)},
			conversation: fmt.Sprintf("team.stream_3a7_-t%d", n), person: surface.Person{ID: "ann@example.org"},
		}
	case onPhone:
		number := fmt.Sprint(1000 + n)
		return &talk{surface: name, chat: surface.Chat{ID: number}, conversation: "phone." + number, person: surface.Person{ID: number, Name: "Ann"}}
	}
	thread := fmt.Sprintf("t%d", n)
	return &talk{surface: name, chat: surface.Chat{ID: thread}, conversation: name + "." + thread, person: surface.Person{ID: "ann"}}
}

// say lets the person of a chat write. On a webhook it returns when it was taken.
func (w *town) say(k *talk, text string) {
	w.far(k.surface).Say(surface.Message{
		Chat: k.chat, Sender: k.person, Text: text, At: time.Now(), Mentioned: true,
	})
}

// shown is what a reader of a chat sees.
func (w *town) shown(k *talk) []surface.Seen {
	far, ok := w.far(k.surface).(*webhookfake.Far)
	if !ok {
		return w.far(k.surface).Shown(k.chat)
	}
	var out []surface.Seen
	all := far.Shown(k.chat)
	for i, post := range far.Posts()[:len(all)] {
		if post.Conversation == k.conversation {
			out = append(out, all[i])
		}
	}
	return out
}

// text is all that a reader of a chat sees.
func (w *town) text(k *talk) string {
	var b strings.Builder
	for _, m := range w.shown(k) {
		b.WriteString(m.Text + "\n")
	}
	return b.String()
}

// sees waits until a reader of a chat sees a text.
func (w *town) sees(k *talk, part string) {
	w.t.Helper()
	ok := false
	defer func() {
		if !ok {
			w.t.Logf("%s shows:\n%s", k.surface, w.text(k))
		}
	}()
	until(w.t, fmt.Sprintf("%s shows %q", k.surface, part), calm(func() bool { return strings.Contains(w.text(k), part) }))
	ok = true
}

// runsOf returns the runs of a conversation, oldest first, and whether all of them
// are over.
func (w *town) runsOf(k *talk) (runs []string, over bool) {
	w.t.Helper()
	var c struct {
		Running  *string
		Messages []struct {
			Role   string   `json:"role"`
			Runs   []string `json:"version_runs"`
			Status string   `json:"status"`
		}
	}
	if status := w.p.door().call(w.t, "GET", "/chats/"+k.conversation, nil, &c); status != http.StatusOK {
		return nil, false
	}
	for _, m := range c.Messages {
		if m.Role == "assistant" {
			runs = append(runs, m.Runs...)
		}
	}
	return runs, c.Running == nil && len(c.Messages) > 0 && 2*len(runs) >= len(c.Messages)
}

// receipts are those of a run.
func (w *town) receipts(run string) client.Receipts {
	w.t.Helper()
	var r client.Receipts
	if status := w.p.door().call(w.t, "GET", "/api/v1/runs/"+run+"/receipts", nil, &r); status != http.StatusOK {
		w.t.Fatalf("receipts of %s: status %d", run, status)
	}
	return r
}

// settled waits until a conversation has so many runs, and all of them are shown,
// and returns their receipts.
func (w *town) settled(k *talk, questions int) []client.Receipts {
	w.t.Helper()
	var all []client.Receipts
	until(w.t, fmt.Sprintf("%s has settled %d runs", k.conversation, questions), calm(func() bool {
		runs, over := w.runsOf(k)
		if !over || len(runs) < questions {
			return false
		}
		all = nil
		for _, run := range runs {
			r := w.receipts(run)
			if len(r.Surfaces) == 0 || slices.ContainsFunc(r.Surfaces, func(s client.Surface) bool { return s.State == "delivering" }) {
				return false
			}
			all = append(all, r)
		}
		return true
	}))
	return all
}

// command runs the program beside the one that serves, and returns what it said
// and its exit code.
func (w *town) command(args ...string) (said string, code int) {
	w.t.Helper()
	cmd := w.p.command(append(args, "--data", w.p.dir)...)
	var out, problems output
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := world.spawner.start(cmd); err != nil {
		w.t.Fatal(err)
	}
	_ = cmd.Wait() // the state is in ProcessState
	if problems.String() != "" {
		w.t.Logf("%v: standard error: %s", args, &problems)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// site is a platform's address, which can be away for a while: then no connection
// can be made.
type site struct {
	t       testing.TB
	handler http.Handler
	address string

	mu     sync.Mutex
	server *http.Server
	done   chan struct{}
}

func newSite(t testing.TB, h http.Handler) *site {
	t.Helper()
	s := &site{t: t, handler: h, address: "127.0.0.1:0"}
	s.open()
	t.Cleanup(s.shut)
	return s
}

func (s *site) url() string { return "http://" + s.address }

func (s *site) open() {
	s.t.Helper()
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = l.Addr().String()
	server, done := &http.Server{Handler: s.handler, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}, make(chan struct{})
	s.server, s.done = server, done
	go func() {
		defer close(done)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.t.Errorf("a platform: %v", err)
		}
	}()
}

// shut cuts all connections.
func (s *site) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil {
		return
	}
	_ = s.server.Close() // what is cut off is to be
	<-s.done
	s.server = nil
}
