// Package ntfy is the smallest platform that is of use: it posts what the agent
// says to a topic of an ntfy server, from where phones show it. It is the example
// of docs/recipes/new-platform.md, and works.
package ntfy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"verbatim/internal/surface"
)

// Platform is the line for the table of platforms.
var Platform = surface.Platform{
	Name: "ntfy", Doc: "A topic of an ntfy server. It takes posts and can't change them.",
	Keys: func() any { return new(keys) },
	New:  open,
}

// keys are what verbatim.yaml says beside the keys of every surface.
type keys struct {
	Topic string `yaml:"topic" doc:"The address of the topic, such as https://ntfy.sh/my-agent."`
	Token string `yaml:"token" secret:"true" doc:"An access token, for a topic that is not open."`
}

type topic struct {
	keys
	client *http.Client
	now    func() time.Time
}

func open(s surface.Setup) (surface.Surface, error) {
	k, ok := s.Keys.(*keys)
	if !ok {
		return nil, fmt.Errorf("the keys of ntfy are %T", s.Keys)
	}
	if u, err := url.Parse(k.Topic); err != nil || u.Host == "" {
		return nil, errors.New("topic: want an address such as https://ntfy.sh/my-agent")
	}
	return &topic{keys: *k, client: s.Client, now: s.Now}, nil
}

// Caps: a message has at most 4,096 bytes
// (https://docs.ntfy.sh/publish/#limitations).
func (t *topic) Caps() surface.Caps {
	return surface.Caps{Size: surface.Size{Max: 4096, Unit: surface.Bytes}}
}

func (t *topic) Render(markdown string, _ bool) (string, int) {
	text := strings.TrimSpace(markdown)
	return text, len(text)
}

func (t *topic) Send(ctx context.Context, _ surface.Chat, p surface.Post) surface.Outcome {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Topic, strings.NewReader(p.Text))
	if err != nil {
		return surface.Outcome{Class: surface.Refused, Detail: "no request can be made of this post"}
	}
	// The library must not send it a second time by itself.
	req.GetBody, req.Close = nil, true
	if t.Token != "" {
		req.Header.Set("Authorization", "Bearer "+t.Token)
	}
	resp, err := t.client.Do(req)
	switch {
	case err != nil && surface.NotWritten(err):
		return surface.Outcome{Class: surface.NotTaken, Detail: "the server can't be reached"}
	case err != nil:
		return surface.Outcome{Class: surface.Unknown, Detail: "the connection broke before an answer came"}
	}
	defer resp.Body.Close()
	return outcome(resp)
}

// outcome says what an answer means; ntfy's own answers are JSON
// (https://docs.ntfy.sh/publish/#publish-as-json).
func outcome(resp *http.Response) surface.Outcome {
	var said struct {
		ID    string `json:"id"`
		Error string `json:"error"`
	}
	own := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&said) == nil
	out := surface.Outcome{Class: surface.Unknown, Detail: resp.Status}
	switch {
	case resp.StatusCode == http.StatusOK && own:
		return surface.Outcome{Class: surface.Delivered, PlatformID: said.ID}
	case own && (resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500):
		out.Class = surface.NotTaken
	case own && resp.StatusCode >= 400:
		out.Class, out.Detail = surface.Refused, said.Error
	}
	return out
}

// Edit and Typing are never called: Caps says so.
func (t *topic) Edit(context.Context, surface.Chat, string, surface.Post) surface.Outcome {
	return surface.Outcome{Class: surface.Refused}
}

func (t *topic) Typing(context.Context, surface.Chat) surface.Outcome {
	return surface.Outcome{Class: surface.Refused}
}

// Listen has nobody to listen to.
func (t *topic) Listen(ctx context.Context, _ surface.Inbox) error {
	<-ctx.Done()
	return ctx.Err()
}
