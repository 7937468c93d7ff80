package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"verbatim/internal/chat"
	"verbatim/internal/config"
	"verbatim/internal/delivery"
	"verbatim/internal/id"
	"verbatim/internal/inbound"
	"verbatim/internal/netguard"
	"verbatim/internal/surface"
)

// surfaces are the chat platforms that are set up: who posts, and who listens.
type surfaces struct {
	hub   *delivery.Hub
	doors map[string]*door

	listening context.CancelFunc
	wg        sync.WaitGroup
}

// door is one surface with what comes in by it.
type door struct {
	surface surface.Surface
	inbox   *inbound.Inbox
}

// ServeHook implements httpapi.Hooks.
func (s *surfaces) ServeHook(name string, w http.ResponseWriter, r *http.Request) bool {
	d := s.doors[name]
	if d == nil {
		return false
	}
	hook, ok := d.surface.(surface.Hook)
	if ok {
		hook.ServeHook(w, r, d.inbox)
	}
	return ok
}

// openSurfaces makes the surfaces of the configuration. Nothing is sent and nobody
// is listened to before the last process's work is taken up.
func (a *App) openSurfaces(context.Context) error {
	a.surfaces = &surfaces{doors: map[string]*door{}, listening: func() {}}
	ends := map[string]delivery.Endpoint{}
	for name, cfg := range a.cfg.Surfaces {
		made, err := a.makeSurface(cfg)
		if err != nil {
			return fmt.Errorf("the surface %s: %w", name, err)
		}
		a.surfaces.doors[name] = &door{surface: made}
		ends[name] = delivery.Endpoint{Surface: made, Policy: policyOf(cfg, a.cfg.PublicURL+a.cfg.BasePath)}
	}
	a.surfaces.hub = delivery.New(delivery.Options{
		Log: a.log, Store: a.db, Endpoints: ends, ReadBlob: a.readBlob,
		Mint: func() string { return id.Mint{}.Post() }, Logger: a.opt.Logger,
	})
	for name, d := range a.surfaces.doors {
		inbox, err := a.makeInbox(name, d.surface)
		if err != nil {
			return fmt.Errorf("the surface %s: conversation: %w", name, err)
		}
		d.inbox = inbox
	}
	a.onFailure(func() error { a.surfaces.stop(ended()); return nil })
	return nil
}

// maxFile is the longest file that a message brings along, in bytes.
const maxFile = 64 << 20

func (a *App) readBlob(name string) ([]byte, error) { return a.blobs.Read(name, maxFile) }

func (a *App) makeSurface(cfg config.Surface) (surface.Surface, error) {
	i := slices.IndexFunc(Platforms(), func(p surface.Platform) bool { return p.Name == cfg.Platform })
	if i < 0 {
		return nil, fmt.Errorf("there is no platform %q", cfg.Platform)
	}
	guard := &netguard.Dialer{}
	return Platforms()[i].New(surface.Setup{
		Name: cfg.Name, Keys: cfg.Keys, PublicURL: publicURL(a.cfg), Now: time.Now, Logger: a.opt.Logger.With("surface", cfg.Name),
		Client:  once((&net.Dialer{Timeout: netguard.DefaultTimeout}).DialContext),
		Guarded: once(guard.DialContext),
	})
}

func publicURL(cfg config.Config) string {
	if cfg.PublicURL == "" {
		return ""
	}
	return cfg.PublicURL + cfg.BasePath
}

// once makes a client whose every call is one request: it follows nothing, and
// makes no call again by itself.
func once(dial func(ctx context.Context, network, addr string) (net.Conn, error)) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dial, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute,
			TLSHandshakeTimeout: 10 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// policyOf is what the configuration says about a surface.
func policyOf(cfg config.Surface, link string) delivery.Policy {
	return delivery.Policy{
		Reasoning: delivery.Reasoning(cfg.Show.Reasoning), Tools: delivery.Level(cfg.Show.Tools),
		Commentary: cfg.Show.Commentary == "full", Streaming: cfg.Streaming != "off",
		EditInterval: cfg.EditInterval, BufferThreshold: cfg.BufferThreshold, MaxAge: cfg.MaxAge,
		Echo: cfg.Echo, NoAnswer: cfg.NoAnswer, Link: link,
	}
}

func (a *App) makeInbox(name string, s surface.Surface) (*inbound.Inbox, error) {
	cfg := a.cfg.Surfaces[name]
	template := cfg.Conversation
	if template == "" && cfg.Platform == "webhook" {
		template = inbound.OneConversation
	}
	return inbound.New(inbound.Options{
		Surface: name, Template: template, MayTalk: cfg.MayTalk, MayDecide: cfg.MayDecide, Caps: s.Caps(),
		Store: binder{a.db, a.surfaces.hub}, Chat: a.chat, Log: a.log, Desk: a.desk, Blobs: attachments{a.blobs},
		Say: a.surfaces.hub.Say, Again: a.surfaces.hub.Again, Model: a.modelFor, Logger: a.opt.Logger,
	})
}

// modelFor names the model that answers in a conversation.
func (a *App) modelFor(ctx context.Context, own string) (string, error) {
	choice, err := a.models.choose(ctx, chat.Want{Model: own})
	return choice.Name, err
}

// binder stores bindings by way of the hub, which shows them.
type binder struct {
	inbound.Store
	hub *delivery.Hub
}

// Bind implements inbound.Store.
func (b binder) Bind(ctx context.Context, at delivery.Address, c id.Conversation) (delivery.Binding, error) {
	b.hub.Revive(at)
	return b.hub.Bind(ctx, at, c)
}

// begin takes up what came in and what is to be shown, then listens.
func (s *surfaces) begin(ctx context.Context, a *App) error {
	var errs []error
	for _, d := range s.doors {
		errs = append(errs, d.inbox.Recover(ctx))
	}
	if err := errors.Join(append(errs, s.hub.Start(ctx))...); err != nil {
		return err
	}
	listening, cancel := context.WithCancel(context.Background())
	s.listening = cancel
	for name, d := range s.doors {
		s.wg.Go(func() {
			err := d.surface.Listen(listening, d.inbox)
			if err != nil && listening.Err() == nil {
				a.opt.Logger.Error("nobody is listened to any more on this surface; mend its configuration and start again", "surface", name, "err", err)
			}
		})
	}
	return nil
}

// stop takes nothing in any more, then begins no call any more; calls under way
// have until ctx ends.
func (s *surfaces) stop(ctx context.Context) {
	s.hush()
	s.hub.Stop(ctx)
}

// hush takes nothing in any more.
func (s *surfaces) hush() {
	s.listening()
	s.wg.Wait()
	for _, d := range s.doors {
		if d.inbox != nil {
			d.inbox.Close()
		}
	}
}
