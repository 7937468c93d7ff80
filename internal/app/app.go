// Package app is the process as an object: it puts the parts together, starts
// them and stops them. The command and the end-to-end tests use it.
//
// Guarantee: Start either returns an app that serves or has undone everything;
// after Stop nothing of the app runs, and what was committed is on disk. What a
// crash left is taken up before the first request that has to do with it:
// requests that come earlier wait at the door.
package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"verbatim/internal/approval"
	"verbatim/internal/blob"
	"verbatim/internal/chat"
	"verbatim/internal/config"
	"verbatim/internal/httpapi"
	"verbatim/internal/id"
	"verbatim/internal/library"
	"verbatim/internal/sse"
	"verbatim/internal/store"
	"verbatim/internal/tool"
	"verbatim/internal/turnlog"
)

// Options are what an App needs beside its configuration.
type Options struct {
	// Env returns an environment variable, empty for unset; it is asked for
	// the variables of model providers. nil means that there are none.
	Env func(name string) string
	// Logger takes the log; nil discards it.
	Logger *slog.Logger
	// Private keeps the app off the network: nobody but its own Client
	// reaches it, and no address is written into the data directory.
	Private bool
}

// App is one Verbatim over one data directory. Start and Stop are called once
// each, in this order.
type App struct {
	cfg config.Config
	opt Options

	db       *store.DB
	meter    *meter
	log      *turnlog.Log
	models   *models
	blobs    *blob.Store
	tools    *tool.Set
	desk     *approval.Desk
	chat     *chat.Service
	streams  *sse.Server
	api      *httpapi.API
	surfaces *surfaces
	token    string
	outcomes outcomes

	recovery recovery
	listener net.Listener
	inside   *pipe // the listener, when the app is private
	server   *http.Server
	cert     string // fingerprint of the TLS certificate, empty without TLS
	served   chan struct{}
	failure  error          // of the listener, set before served is closed
	undo     []func() error // what Start has done so far, newest last
}

// New returns an app that has not started. It touches nothing.
func New(cfg config.Config, opt Options) *App {
	if opt.Env == nil {
		opt.Env = func(string) string { return "" }
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	return &App{
		cfg: cfg, opt: opt, served: make(chan struct{}),
		recovery: recovery{done: make(chan struct{})},
	}
}

// Start opens the data directory, serves, and begins to take up what the last
// process left; requests that must wait for that do. When it returns an error
// everything it did is undone; the error is a sentence for people. When what was
// left can't be taken up, Served is closed and Stop returns why.
func (a *App) Start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		a.checkWorkspace, a.openStore, a.openLog, a.openModels, a.openWork, a.listen,
		a.buildParts, a.serve, a.announce, a.beginRecovery,
	} {
		if err := step(ctx); err != nil {
			return errors.Join(err, a.rollBack())
		}
	}
	return nil
}

// rollBack undoes the steps of Start, newest first.
func (a *App) rollBack() error {
	var errs []error
	for i := len(a.undo) - 1; i >= 0; i-- {
		errs = append(errs, a.undo[i]())
	}
	a.undo = nil
	return errors.Join(errs...)
}

func (a *App) onFailure(undo func() error) { a.undo = append(a.undo, undo) }

func (a *App) openStore(context.Context) error {
	ballast := a.cfg.BallastBytes
	if ballast == 0 {
		ballast = -1 // for the store, 0 means its default
	}
	db, err := store.Open(a.cfg.Data, store.Options{BallastBytes: ballast, Logger: a.opt.Logger})
	if err != nil {
		return err
	}
	a.db = db
	return nil
}

func (a *App) openLog(context.Context) error {
	a.meter = &meter{Store: a.db}
	a.log = turnlog.New(a.meter, turnlog.Options{Logger: a.opt.Logger})
	a.onFailure(a.log.Close)
	token, err := loadToken(filepath.Join(a.cfg.Data, tokenName))
	a.token = token
	return err
}

func (a *App) openModels(ctx context.Context) error {
	a.models = &models{
		settings: &chat.Settings{Store: &recall{store: a.db}, Defaults: settingDefaults(a.cfg)}, projects: a.db,
		env: a.opt.Env, idle: a.cfg.IdleTimeout, log: a.opt.Logger,
	}
	a.onFailure(a.models.close)
	return a.models.begin(ctx)
}

func (a *App) buildParts(ctx context.Context) error {
	a.chat = chat.New(chat.Options{
		Log: a.log, Blobs: attachments{a.blobs}, Choose: a.models.choose, ContextTokens: a.cfg.ContextTokens,
		Tools: a.tools, Approvals: a.desk, Spool: a.spool,
		AutoTitle: func(ctx context.Context) bool { return a.models.autoTitle(ctx) },
		Logger:    a.opt.Logger, Ended: a.outcomes.count,
		Hidden: func(c id.Conversation) { a.streams.Forget(c) },
	})
	if err := a.openSurfaces(ctx); err != nil {
		return err
	}
	shelf := library.New(a.log)
	a.streams = sse.New(sse.Options{
		Log: a.log, Place: placer(shelf, a.opt.Logger), KeepAlive: a.cfg.KeepAlive, Logger: a.opt.Logger,
	})
	a.onFailure(func() error { return a.streams.Stop(ended()) })
	api, err := httpapi.New(a.native(httpapi.Options{
		Commands: a.chat, Approvals: a.desk, Settings: a.models.settings, Library: shelf, Search: a.db, Projects: a.db, Runs: a.log, Streams: a.streams,
		Token: a.token, AllowHosts: a.allowHosts(), AllowOrigins: a.cfg.AllowOrigins,
		PublicURL: a.cfg.PublicURL, TrustedProxies: a.cfg.TrustedProxies, BasePath: a.cfg.BasePath,
		Version: Version, Epoch: a.log.Epoch(), Model: a.models.name,
		Held: true, HasRoom: a.log.HasRoom, Figures: a.figures, Logger: a.opt.Logger,
	}))
	a.api = api
	return err
}

// placer asks the library where a run's rows are. When the log can't tell, the
// rows count as gone: an end without places is better than none.
func placer(shelf *library.Library, log *slog.Logger) func(context.Context, id.Conversation, id.Run) sse.Place {
	return func(ctx context.Context, c id.Conversation, r id.Run) sse.Place {
		p, err := shelf.Place(ctx, c, r)
		if err != nil {
			log.Error("place of a run", "conversation", c, "run", r, "err", err)
		}
		return sse.Place(p)
	}
}

// ended returns a context that is over: what is stopped with it is cut short.
func ended() context.Context {
	ctx, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	cancel()
	return ctx
}
