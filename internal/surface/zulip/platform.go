package zulip

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"verbatim/internal/surface"
)

// Platform is the line in the table of platforms.
var Platform = surface.Platform{
	Name: "zulip",
	Doc:  "Zulip: a bot in the channels and direct messages of one organisation, in the cloud or on a server of your own.",
	Keys: func() any { return &keys{Limit: defaultLimit} },
	New:  newSurface,
}

const (
	// defaultLimit is the server's own default, in code points.
	defaultLimit = 10000
	// leastLimit leaves room for the fences of plain text.
	leastLimit = 64
	// perToken keeps an account within 200 calls a minute, which is what a
	// server allows by default (https://zulip.com/api/http-headers).
	perToken = 300 * time.Millisecond
)

// keys are the platform's own in verbatim.yaml.
type keys struct {
	Site   string   `yaml:"site" doc:"The address of the organisation, such as https://example.zulipchat.com. It may be in a private network."`
	Email  string   `yaml:"email" doc:"The bot's email address, as its zuliprc file has it."`
	APIKey string   `yaml:"api_key" secret:"true" doc:"The bot's key, as its zuliprc file has it."`
	Listen []string `yaml:"listen" doc:"Names of channels where every message is meant for the bot. In other channels, and in direct messages of a group, it answers when it is mentioned."`
	Limit  int      `yaml:"limit" default:"10000" doc:"The most code points of a message. Set it lower where the server's own limit is."`
}

// bot is a configured account. What it learns of the server is kept in memory and
// learned again after a restart.
type bot struct {
	site            *url.URL
	email, key      string
	listen          map[string]bool
	client, guarded *http.Client
	now             func() time.Time
	log             *slog.Logger
	caps            surface.Caps

	self  atomic.Pointer[account]
	queue atomic.Pointer[string]
	// most is the longest message that the server told, in code points; 0 until
	// it did.
	most atomic.Int64
}

var (
	_ surface.Surface = (*bot)(nil)
	_ surface.Reader  = (*bot)(nil)
)

func newSurface(s surface.Setup) (surface.Surface, error) {
	k, ok := s.Keys.(*keys)
	if !ok {
		return nil, fmt.Errorf("the keys of Zulip are %T; that is a fault of the program", s.Keys)
	}
	site, err := siteOf(k.Site)
	if err != nil {
		return nil, err
	}
	switch {
	case !strings.Contains(k.Email, "@"):
		return nil, errors.New("email is missing or is no address; take the line email of the bot's zuliprc file")
	case k.APIKey == "":
		return nil, errors.New("api_key is missing; take the line key of the bot's zuliprc file")
	case k.Limit < leastLimit:
		return nil, fmt.Errorf("limit is %d; it must be at least %d", k.Limit, leastLimit)
	}
	b := &bot{
		site: site, email: k.Email, key: k.APIKey, listen: map[string]bool{},
		client: s.Client, guarded: s.Guarded, now: s.Now, log: s.Logger,
		caps: surface.Caps{
			Size:     surface.Size{Max: k.Limit, Unit: surface.CodePoints},
			Edit:     true,
			ReadBack: true,
			Typing:   true,
			Files:    true,
			PerToken: perToken,
		},
	}
	for _, name := range k.Listen {
		b.listen[strings.ToLower(strings.TrimPrefix(strings.TrimSpace(name), "#"))] = true
	}
	return b, nil
}

// siteOf reads the address of an organisation.
func siteOf(text string) (*url.URL, error) {
	if text == "" {
		return nil, errors.New("site is missing; set the address of the organisation, such as https://example.zulipchat.com")
	}
	u, err := url.Parse(strings.TrimRight(text, "/"))
	switch {
	case err != nil:
		return nil, errors.New("site is not an address; write it as https://host")
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, errors.New("site must begin with http:// or https:// and a host name")
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return nil, errors.New("site must be the bare address, without a user, a ? or a #; the key belongs into api_key")
	}
	return u, nil
}

// Caps says what Zulip can do. Buttons it hasn't.
func (b *bot) Caps() surface.Caps { return b.caps }
