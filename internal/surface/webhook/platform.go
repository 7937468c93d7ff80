package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"verbatim/internal/surface"
)

// Platform is the line in the table of platforms.
var Platform = surface.Platform{
	Name: "webhook",
	Doc:  "Programs: signed messages in over HTTP, signed posts out to one address.",
	Keys: func() any { return &keys{Signature: signedVerbatim, Deliver: deliver{Limit: defaultLimit}} },
	New:  newHook,
}

// defaultLimit is how many code points a post has at most.
const defaultLimit = 16384

// keys are the platform's own in verbatim.yaml.
type keys struct {
	Secret    string  `yaml:"secret" secret:"true" doc:"The key that inbound messages are signed with. Empty means that none are taken."`
	Signature string  `yaml:"signature" default:"verbatim" oneof:"verbatim github svix" doc:"How inbound messages are signed: verbatim, github (X-Hub-Signature-256) or svix (Standard Webhooks, webhook-signature)."`
	Map       paths   `yaml:"map" doc:"Where a body that is not made for Verbatim holds the parts of a message, as dotted paths, such as issue.title or commits.0.message."`
	Deliver   deliver `yaml:"deliver" doc:"Where posts go."`
}

type paths struct {
	ID     string `yaml:"id" doc:"Path of what names the message for ever."`
	Text   string `yaml:"text" doc:"Path of its text."`
	Thread string `yaml:"thread" doc:"Path of the thread that it belongs to."`
	Sender string `yaml:"sender" doc:"Path of who wrote it."`
}

type deliver struct {
	URL          string `yaml:"url" secret:"true" doc:"The address that each post is sent to, http or https. Empty means that nothing is sent. It may hold a token and is never printed."`
	Secret       string `yaml:"secret" secret:"true" doc:"The key that posts are signed with."`
	AllowPrivate bool   `yaml:"allow_private" default:"false" doc:"The address may be in a private network or on this machine."`
	Idempotent   bool   `yaml:"idempotent" default:"false" doc:"The receiver drops a post whose Idempotency-Key it has seen. Then a post whose answer was lost is sent again; otherwise it is not, and one line says that it may be missing."`
	Limit        int    `yaml:"limit" default:"16384" min:"1" max:"4194304" doc:"The most code points of a post."`
}

// hook is a configured webhook.
type hook struct {
	name   string
	paths  paths
	signer signer // nil where nothing is taken
	target *target
	caps   surface.Caps
	now    func() time.Time
}

func newHook(s surface.Setup) (surface.Surface, error) {
	k, ok := s.Keys.(*keys)
	if !ok {
		return nil, fmt.Errorf("the keys of a webhook are %T; that is a fault of the program", s.Keys)
	}
	h := &hook{name: s.Name, paths: k.Map, now: s.Now}
	var err error
	if k.Secret != "" {
		h.signer, err = newSigner(k.Signature, k.Secret, s.Now)
	}
	if err == nil {
		err = k.Map.check()
	}
	if err == nil {
		h.target, err = newTarget(k.Deliver, s)
	}
	switch {
	case err != nil:
		return nil, err
	case h.signer == nil && h.target == nil:
		return nil, errors.New("it neither takes nor sends anything; set secret to take messages, deliver.url to send posts, or both")
	}
	h.caps = surface.Caps{
		Size:       surface.Size{Max: k.Deliver.Limit, Unit: surface.CodePoints},
		Idempotent: k.Deliver.Idempotent,
		Mute:       h.target == nil,
	}
	return h, nil
}

// target is where posts go.
type target struct {
	url    string
	secret []byte
	client *http.Client
	now    func() time.Time
}

// newTarget returns nil without an address.
func newTarget(d deliver, s surface.Setup) (*target, error) {
	if d.Limit < 1 {
		return nil, fmt.Errorf("deliver.limit is %d; it must be at least 1", d.Limit)
	}
	if d.URL == "" {
		if d.Secret != "" {
			return nil, errors.New("deliver.secret is set, but deliver.url is not; set the address that posts go to, or remove the secret")
		}
		return nil, nil
	}
	// The address may hold a token, so no error may repeat it.
	u, err := url.Parse(d.URL)
	switch {
	case err != nil:
		return nil, errors.New("deliver.url is not an address; write it as https://host/path")
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, errors.New("deliver.url must begin with http:// or https:// and a host name")
	case d.Secret == "":
		return nil, errors.New("deliver.secret is missing; posts are signed with it, so choose one that the receiver checks")
	}
	client := s.Guarded
	if d.AllowPrivate {
		client = s.Client
	}
	return &target{url: d.URL, secret: []byte(d.Secret), client: client, now: s.Now}, nil
}

// Caps says what the configuration says of the receiver.
func (h *hook) Caps() surface.Caps { return h.caps }

// Edit is not offered: what a program was told can't be taken back.
func (h *hook) Edit(context.Context, surface.Chat, string, surface.Post) surface.Outcome {
	return surface.Outcome{Class: surface.Refused, Detail: "a webhook can't change what was sent"}
}

// Typing is not offered.
func (h *hook) Typing(context.Context, surface.Chat) surface.Outcome {
	return surface.Outcome{Class: surface.Refused, Detail: "a webhook shows no typing"}
}

// Listen has nothing to ask for: messages come to ServeHook.
func (h *hook) Listen(ctx context.Context, _ surface.Inbox) error {
	<-ctx.Done()
	return ctx.Err()
}
