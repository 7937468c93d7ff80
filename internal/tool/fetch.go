package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/netguard"
)

// The limits of a fetch.
const (
	// DefaultFetchTimeout bounds a fetch from its first look-up to its last
	// byte, all redirects together.
	DefaultFetchTimeout = 30 * time.Second
	// MaxFetchBytes is how much of a body is read, after decompression.
	MaxFetchBytes = 5 << 20
	// maxFailureBytes is how much is shown of a page that says why it is none.
	maxFailureBytes = 64 << 10
	// maxHops is how many redirects are followed.
	maxHops = 5
)

// FetchConfig is what the person who runs the program may change of fetch_url.
// The zero value is ready to use.
type FetchConfig struct {
	// Dialer connects. Hosts of a private network are allowed in it by name.
	// If nil, only the public internet is reached.
	Dialer *netguard.Dialer
	// UserAgent is sent with each request; "Verbatim" if empty.
	UserAgent string
	// Timeout is how long a fetch may take; DefaultFetchTimeout if zero.
	Timeout time.Duration
}

// fetchURL is fetch_url: it reads a page of the internet as text. It sends no
// cookies, credentials or referrer and uses no proxy.
type fetchURL struct {
	dialer    *netguard.Dialer
	transport http.RoundTripper
	agent     string
	timeout   time.Duration
	named     *redirects
}

// newFetchURL returns the tool.
func newFetchURL(cfg FetchConfig) Tool {
	f := &fetchURL{dialer: cfg.Dialer, agent: cfg.UserAgent, timeout: cfg.Timeout, named: newRedirects()}
	if f.dialer == nil {
		f.dialer = &netguard.Dialer{}
	}
	if f.agent == "" {
		f.agent = "Verbatim"
	}
	if f.timeout <= 0 {
		f.timeout = DefaultFetchTimeout
	}
	f.transport = f.dialer.Transport()
	return f
}

// Spec returns what is fixed about the tool.
func (f *fetchURL) Spec() Spec {
	return Spec{
		Name: "fetch_url",
		Description: "Fetches a page from the internet with GET and returns it as text: HTML with its links as [text](address), other text and JSON as they are. " +
			"Other kinds of files are not read. A redirect to another host is not followed but reported; fetch the address it names if you want it.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"url":{"type":"string","description":"The whole address, beginning with https:// or http://."}},` +
			`"required":["url"],"additionalProperties":false}`),
		Risk:     event.RiskMedium,
		ReadOnly: true,
	}
}

// Prepare reads {url}. Nothing is looked up or sent.
func (f *fetchURL) Prepare(args json.RawMessage) (Action, error) {
	var raw string
	if err := readArguments(args, text("url", &raw)); err != nil {
		return Action{}, err
	}
	u, err := f.dialer.ParseURL(raw)
	if err != nil {
		return Action{}, err
	}
	return Action{
		Reason: f.reason(u),
		Run:    func(ctx context.Context, out Output) error { return f.run(ctx, out, u) },
	}, nil
}

// reason tells where a fetch goes and, if a page that was fetched before sent
// there, which host it was. That stands in front where the address is long.
func (f *fetchURL) reason(u *url.URL) string {
	address := u.String()
	host, ok := f.named.from(address)
	if !ok {
		return shown("fetches " + address)
	}
	reason := fmt.Sprintf("fetches %s (redirected from %s)", address, host)
	if len(reason) > MaxReasonRunes {
		reason = fmt.Sprintf("fetches, redirected from %s, %s", host, address)
	}
	return shown(reason)
}
