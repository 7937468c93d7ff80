// Package openai speaks the chat completions protocol with OpenAI's server and
// any that is compatible with it. It promises that the texts it yields, joined,
// are what the server sent, however the bytes were cut on their way; what is
// not UTF-8 becomes U+FFFD. It does not retry.
package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/llm"
)

// DefaultBaseURL is OpenAI's own server.
const DefaultBaseURL = "https://api.openai.com/v1"

// DefaultIdle is how long a server may send nothing.
const DefaultIdle = 120 * time.Second

// Config says which server is asked. The zero value is OpenAI's, without a key.
type Config struct {
	// BaseURL is the address up to, but not including, /chat/completions;
	// empty means DefaultBaseURL. A query is kept.
	BaseURL string
	// Key is sent as the bearer token; empty for none.
	Key string
	// Idle is how long the server may send nothing, from the request on;
	// 0 means DefaultIdle.
	Idle time.Duration
	// Transport carries the requests; nil means a pool of its own that
	// keeps connections for hundreds of streams.
	Transport http.RoundTripper
}

// Model asks one server. It is safe for concurrent use.
type Model struct {
	url       string
	ownServer bool
	key       string
	idle      time.Duration
	client    *http.Client
}

// New checks cfg and returns the model. It connects to nothing.
func New(cfg Config) (*Model, error) {
	base := cfg.BaseURL
	if base == "" {
		base = DefaultBaseURL
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the base URL of the model is no http or https address, such as " + DefaultBaseURL)
	}
	m := &Model{ownServer: u.Hostname() == "api.openai.com", key: cfg.Key, idle: cfg.Idle}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions") + "/chat/completions"
	m.url = u.String()
	if m.idle <= 0 {
		m.idle = DefaultIdle
	}
	transport := cfg.Transport
	if transport == nil {
		transport = newTransport()
	}
	m.client = &http.Client{Transport: transport, CheckRedirect: sameHost}
	return m, nil
}

// Close closes the connections that are idle. Streams go on; a stream begun
// afterwards opens a new connection.
func (m *Model) Close() error {
	m.client.CloseIdleConnections()
	return nil
}

// Stream implements llm.Model. A server that answers with one JSON object
// instead of a stream is understood too.
func (m *Model) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if m.key == "" && m.ownServer {
			yield(llm.Chunk{}, &llm.Failure{Kind: event.ErrorAuth, Message: "no API key is set: set OPENAI_API_KEY, or api_key in the settings"})
			return
		}
		body, err := encode(req, m.ownServer)
		if err != nil {
			yield(llm.Chunk{}, &llm.Failure{Kind: event.ErrorInternal, Code: event.CodeBug, Message: "the request could not be written", Err: err})
			return
		}
		w := newWatch(ctx, m.idle)
		defer w.stop()
		resp, err := m.post(w.ctx, body)
		if err != nil {
			yield(llm.Chunk{}, w.explain(err, unreachable))
			return
		}
		w.body = resp.Body
		defer resp.Body.Close()
		if err := m.unfit(resp, w); err != nil {
			yield(llm.Chunk{}, err)
			return
		}
		s := &stream{model: m, watch: w, yield: yield}
		s.run()
	}
}

func (m *Model) post(ctx context.Context, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("User-Agent", "verbatim")
	if m.key != "" {
		req.Header.Set("Authorization", "Bearer "+m.key)
	}
	return m.client.Do(req)
}

// unfit returns why an answer is none.
func (m *Model) unfit(resp *http.Response, w *watch) error {
	if resp.StatusCode != http.StatusOK {
		w.touch()
		f := m.refusal(resp)
		if f.Err != nil && w.ctx.Err() != nil {
			return w.explain(f.Err, broken)
		}
		return f
	}
	kind := resp.Header.Get("Content-Type")
	if strings.HasPrefix(kind, "text/html") {
		return &llm.Failure{
			Kind: event.ErrorInternal, Code: event.CodeConfig, Status: resp.StatusCode,
			Message: fmt.Sprintf("the base URL leads to a web page, not to a model (%s); it usually ends with /v1", kind),
		}
	}
	return nil
}
