// Package httpapi is the door for programs and browsers: the routes of the
// compatible layer and of the native one, the gate before them, their errors,
// and a plain page.
//
// Guarantee: no route's code runs before the gate has let the request pass; a
// refused request changes nothing; every answer but a page or a stream is JSON,
// errors too. Not promised: anything about the text of a stream, which sse
// sends as the log has it.
package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"verbatim/internal/approval"
	"verbatim/internal/chat"
	"verbatim/internal/delivery"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/library"
	"verbatim/internal/search"
	"verbatim/internal/turnlog"
)

// Commands is what people can tell Verbatim to do; *chat.Service does it.
type Commands interface {
	Send(ctx context.Context, req chat.SendRequest) (turnlog.RunInfo, error)
	Cancel(ctx context.Context, run id.Run, by string, via event.Via) error
	Change(ctx context.Context, c id.Conversation, p chat.Patch) error
	Delete(ctx context.Context, c id.Conversation, via event.Via) error
	DeleteAll(ctx context.Context, via event.Via) (int, error)
	Restore(ctx context.Context, c id.Conversation) error
	DeleteMessage(ctx context.Context, c id.Conversation, target chat.Target, via event.Via) (remaining int, err error)
	RestoreMessage(ctx context.Context, c id.Conversation, user id.Message) error
	SetVersion(ctx context.Context, c id.Conversation, target chat.Target, n int) (chat.Version, error)
	Fork(ctx context.Context, c id.Conversation, target chat.Target) (id.Conversation, error)
	EditAndSend(ctx context.Context, c id.Conversation, target chat.Target, req chat.SendRequest) (turnlog.RunInfo, error)
	Queue(ctx context.Context, c id.Conversation) (chat.Queue, error)
	EditQueued(ctx context.Context, c id.Conversation, run id.Run, text string, via event.Via) error
	RemoveQueued(ctx context.Context, c id.Conversation, run id.Run, via event.Via) error
	Resume(ctx context.Context, c id.Conversation, via event.Via) error
}

// Approvals is where people decide about tool calls; *approval.Desk is one.
type Approvals interface {
	Decide(ctx context.Context, a id.Approval, d approval.Decision) error
	Pending() []approval.Pending
	Rules(ctx context.Context) ([]approval.Rule, error)
	Revoke(ctx context.Context, id string) error
}

// Settings are what people can change while Verbatim runs. Get never returns a
// secret. Set takes the keys to change, null to go back to a default, and
// changes all of them or, with a *chat.Error, none.
type Settings interface {
	Get(ctx context.Context) (map[string]any, error)
	Set(ctx context.Context, patch map[string]json.RawMessage) error
	Schema() []chat.SettingSpec
}

// Library is where conversations are looked up; *library.Library is one.
type Library interface {
	List(ctx context.Context) ([]library.Line, error)
	Chat(ctx context.Context, c id.Conversation) (library.Chat, error)
	Place(ctx context.Context, c id.Conversation, r id.Run) (library.Place, error)
	Positions(ctx context.Context, c id.Conversation) (map[id.Message]int, error)
	Content(ctx context.Context, c id.Conversation, r id.Run) (string, error)
	Page(ctx context.Context, q library.ListQuery) (library.ItemPage, error)
	Item(ctx context.Context, c id.Conversation) (library.Item, error)
	Conversation(ctx context.Context, c id.Conversation) (library.Conversation, error)
	Messages(ctx context.Context, c id.Conversation, before int64, limit int) (library.RowPage, error)
	Question(ctx context.Context, c id.Conversation, m id.Message) (id.Message, error)
	Version(ctx context.Context, c id.Conversation, m id.Message, r id.Run) (int, error)
	RunStatus(ctx context.Context, info turnlog.RunInfo) (library.Run, error)
}

// Searcher finds words in what was said; *store.DB does.
type Searcher interface {
	Search(ctx context.Context, q search.Request) (search.Page, error)
}

// Projects keeps what projects tell the model; *store.DB does. A project that
// only conversations name has no entry.
type Projects interface {
	Projects(ctx context.Context) (instructions map[string]string, err error)
	SetProject(ctx context.Context, name, instructions string) error
}

// Runs is where runs are looked up; *turnlog.Log is one. It answers
// turnlog.ErrNoRun for a run that there is not.
type Runs interface {
	Run(ctx context.Context, r id.Run) (turnlog.RunInfo, error)
}

// Streams answers a request with a run's stream, as the eleven events or in
// native form, or with all records of a conversation; *sse.Server does. After an error with nothing written the caller
// answers.
type Streams interface {
	ServeRun(w http.ResponseWriter, r *http.Request, run turnlog.RunInfo, cursor *id.Cursor) error
	ServeNative(w http.ResponseWriter, r *http.Request, run turnlog.RunInfo, cursor *id.Cursor) error
	ServeConversation(w http.ResponseWriter, r *http.Request, c id.Conversation, cursor *id.Cursor, follow bool) error
}

// Receipts says where runs were shown on chat platforms; *delivery.Hub does. It
// answers turnlog.ErrNoRun for a run that there is not.
type Receipts interface {
	Receipts(ctx context.Context, run id.Run) (delivery.RunReceipts, error)
	Verify(ctx context.Context, run id.Run) (delivery.RunReceipts, error)
}

// Hooks takes what others call in by a signature or a secret of their own.
type Hooks interface {
	// ServeHook answers a call of a surface; false, with nothing written, when
	// there is none of this name that is called.
	ServeHook(name string, w http.ResponseWriter, r *http.Request) bool
}

// Options are what an API is built of. All interfaces, and Token, are required.
type Options struct {
	Commands   Commands
	Approvals  Approvals
	Settings   Settings
	Library    Library
	Search     Searcher
	Projects   Projects
	Runs       Runs
	Streams    Streams
	Blobs      Blobs
	References References
	Models     Models
	Archive    Archive
	Answers    Answers
	Receipts   Receipts
	Hooks      Hooks

	// Token is the secret that lets programs in.
	Token string
	// AllowHosts are names, addresses or host:port under which the server
	// answers besides loopback. AllowOrigins are the origins of other pages
	// that may talk to it, with the token.
	AllowHosts   []string
	AllowOrigins []string
	// PublicURL is how people reach the server when it is not how the
	// server sees itself: scheme and host, without a path. Empty for none.
	PublicURL string
	// TrustedProxies are addresses or ranges whose X-Forwarded-Proto and
	// X-Forwarded-Host are believed.
	TrustedProxies []string
	// BasePath is the path under which a proxy shows the server, such as
	// /verbatim; empty for none. Requests without it are served too, so the
	// proxy may take it off or leave it.
	BasePath string

	// Version is the product's version, Epoch the log's; Model names the
	// model that the next run would ask, and is asked each time.
	Version string
	Epoch   id.Epoch
	Model   func(ctx context.Context) string
	// Held makes requests wait, behind the gate, until Open or Fail is
	// called: all but those for the page, its files, a launch link, figures
	// and health.
	Held bool
	// HasRoom reports whether new runs can be stored; nil means always.
	HasRoom func() bool
	// Figures are what /metrics tells of the other packages; nil for
	// nothing.
	Figures func() Figures

	// Now is the clock; nil means time.Now. Logger takes the access log and
	// what clients are not told; nil discards both.
	Now    func() time.Time
	Logger *slog.Logger
}

// API serves HTTP. Safe for concurrent use.
type API struct {
	opt     Options
	gate    gate
	codes   launchCodes
	routes  routeTree
	assets  assets
	metrics *metrics
	door    *door
	base    string // without a slash at the end
	log     *slog.Logger
	uploads *uploads
	keys    keys

	draining atomic.Bool
}

// New builds the API, or says which option makes no sense.
func New(o Options) (*API, error) {
	if o.Token == "" {
		return nil, errors.New("httpapi: a token is required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	g, err := newGate(o)
	if err != nil {
		return nil, err
	}
	base, err := parseBasePath(o.BasePath)
	if err != nil {
		return nil, err
	}
	a := &API{opt: o, gate: g, base: base, log: o.Logger, assets: loadAssets(), door: newDoor()}
	if !o.Held {
		a.Open()
	}
	a.codes.now = o.Now
	a.uploads = newUploads(o.Blobs, o.Now, o.Logger)
	a.metrics = newMetrics(o.Figures)
	a.routes = newRouteTree(a.table())
	return a, nil
}

func newGate(o Options) (gate, error) {
	hosts, err := newHostList(o.AllowHosts)
	if err != nil {
		return gate{}, err
	}
	public, err := parsePublicURL(o.PublicURL)
	if err != nil {
		return gate{}, err
	}
	if public != nil {
		hosts = append(hosts, authority{name: public.name})
	}
	origins, err := newOriginList(public, o.AllowOrigins)
	if err != nil {
		return gate{}, err
	}
	proxies, err := newProxyList(o.TrustedProxies)
	if err != nil {
		return gate{}, err
	}
	return gate{hosts: hosts, origins: origins, proxies: proxies, key: newKey(o.Token)}, nil
}

func parsePublicURL(s string) (*origin, error) {
	if s == "" {
		return nil, nil
	}
	o, ok := parseOrigin(strings.TrimSuffix(s, "/"))
	if !ok {
		return nil, fmt.Errorf("public_url: %q is not like https://verbatim.example.org, without a path", s)
	}
	return &o, nil
}

func parseBasePath(s string) (string, error) {
	if s == "" || s == "/" {
		return "", nil
	}
	s = strings.TrimSuffix(s, "/")
	if s[0] != '/' || path.Clean(s) != s || (&url.URL{Path: s}).EscapedPath() != s {
		return "", fmt.Errorf("base_path: %q is not like /verbatim", s)
	}
	return s, nil
}

// Drain makes /readyz say that no new work should be sent here. Nothing else
// changes; a second call does nothing.
func (a *API) Drain() { a.draining.Store(true) }
