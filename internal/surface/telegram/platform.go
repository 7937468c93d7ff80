package telegram

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/yuin/goldmark/parser"

	"verbatim/internal/surface"
)

// Platform is the line in the table of platforms.
var Platform = surface.Platform{
	Name: "telegram",
	Doc:  "A Telegram bot, in private chats, groups and topics.",
	Keys: func() any { return &keys{APIBase: defaultBase, Limit: defaultLimit} },
	New:  newBot,
}

const (
	defaultBase = "https://api.telegram.org"
	// defaultLimit is how long Telegram lets a message be, in UTF-16 units:
	// https://core.telegram.org/bots/api#sendmessage.
	defaultLimit = 4096
	// betweenCalls keeps a bot below the 30 messages a second of
	// https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this.
	// The other limits named there, one message a second in a chat and 20 a
	// minute in a group, are not kept here: short bursts are allowed, edits come
	// more often than that, and Telegram says itself how long to wait.
	betweenCalls = 34 * time.Millisecond
)

// keys are the platform's own in verbatim.yaml.
type keys struct {
	Token   string `yaml:"token" secret:"true" doc:"The bot's token, as @BotFather gave it."`
	APIBase string `yaml:"api_base" default:"https://api.telegram.org" doc:"Address of the Bot API server; a self-hosted one works too."`
	Webhook bool   `yaml:"webhook" default:"false" doc:"Telegram calls <public_url>/hooks/<name> with what people write, instead of being asked. public_url must be reachable from the internet by https."`
	Limit   int    `yaml:"limit" default:"4096" doc:"The most UTF-16 units of a message. Telegram takes no more than 4096."`
}

// tokens are the bot's number, a colon and the secret.
var tokens = regexp.MustCompile(`^[0-9]{1,20}:[A-Za-z0-9_-]{8,256}$`)

// bot is a configured Telegram bot.
type bot struct {
	name     string
	api      *api
	markdown parser.Parser
	caps     surface.Caps
	now      func() time.Time
	log      *slog.Logger
	// hook is where Telegram calls, empty for polling; proof is what it shows
	// then.
	hook, proof string
	// me is what getMe said, nil before it did.
	me atomic.Pointer[user]
}

func newBot(s surface.Setup) (surface.Surface, error) {
	k, ok := s.Keys.(*keys)
	if !ok {
		return nil, fmt.Errorf("the keys of a Telegram bot are %T; that is a fault of the program", s.Keys)
	}
	if err := k.check(s.PublicURL); err != nil {
		return nil, err
	}
	b := &bot{
		name:     s.Name,
		api:      newAPI(k, s.Client),
		markdown: newParser(),
		now:      s.Now,
		log:      s.Logger,
		caps: surface.Caps{
			Size: surface.Size{Max: k.Limit, Unit: surface.UTF16},
			Edit: true, Typing: true, Buttons: true, Files: true,
			PerToken: betweenCalls,
		},
	}
	if k.Webhook {
		b.hook = strings.TrimRight(s.PublicURL, "/") + "/hooks/" + s.Name
		b.proof = proofOf(k.Token)
	}
	return b, nil
}

func (k *keys) check(public string) error {
	switch {
	case k.Token == "":
		return errors.New("token is missing; write to @BotFather in Telegram to get one")
	case !tokens.MatchString(k.Token):
		return errors.New("token does not look like one of Telegram, which is a number, a colon and about 35 letters and digits; copy it again from @BotFather")
	case k.Limit < 1, k.Limit > defaultLimit:
		return fmt.Errorf("limit is %d; it must be from 1 to %d", k.Limit, defaultLimit)
	}
	base, err := url.Parse(k.APIBase)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" {
		return errors.New("api_base must begin with http:// or https:// and a host name, such as " + defaultBase)
	}
	if k.Webhook && !strings.HasPrefix(public, "https://") {
		return errors.New("webhook is set, but public_url is no https address; set public_url to where Telegram reaches this server, or remove webhook")
	}
	return nil
}

// proofOf returns what Telegram is told to show at each call of the webhook. It
// follows from the token, so it needs no place to be kept, and tells nothing of it.
func proofOf(token string) string {
	m := hmac.New(sha256.New, []byte(token))
	m.Write([]byte("verbatim telegram webhook"))
	return hex.EncodeToString(m.Sum(nil))
}

// Caps says what a bot can do. Telegram has no idempotency key, and a bot can't
// read what it wrote.
func (b *bot) Caps() surface.Caps { return b.caps }
