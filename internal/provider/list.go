package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"verbatim/internal/provider/openai"
)

// ListTime is how long a server may take to say which models it has.
const ListTime = 2 * time.Second

// maxListed bounds what a server may say about its models, in bytes.
const maxListed = 4 << 20

// ErrNoKey means that a server is not asked, because it would only ask for a key.
var ErrNoKey = errors.New("there is no key for it: set OPENAI_API_KEY, or api_key in the settings")

// List asks the server of a provider, openai or ollama, which models it has, and
// returns their names as Open takes them, sorted. Those of OpenAI's own that
// can't chat are left out. It takes at most ListTime.
func List(ctx context.Context, provider string, cfg Config) ([]string, error) {
	base, err := url.Parse(listBase(provider, cfg))
	if err != nil || base.Host == "" {
		return nil, errors.New("the address of its server is no http or https address")
	}
	own := base.Hostname() == "api.openai.com"
	if own && cfg.APIKey == "" {
		return nil, ErrNoKey
	}
	base.Path = strings.TrimRight(base.Path, "/") + "/models"
	ctx, cancel := context.WithTimeout(ctx, ListTime)
	defer cancel()
	ids, err := listed(ctx, base.String(), cfg.APIKey)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, id := range ids {
		if id != "" && (!own || chats(id)) {
			names = append(names, provider+"/"+id)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func listBase(provider string, cfg Config) string {
	switch {
	case cfg.BaseURL != "":
		return cfg.BaseURL
	case provider == "ollama":
		return defaultOllama + "/v1"
	}
	return openai.DefaultBaseURL
}

// listed asks one server. What it says in an error stays with it: the text could
// repeat the key.
func listed(ctx context.Context, address, key string) ([]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("the address of its server makes no sense")
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return nil, errors.New("its server does not answer")
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("its server answers %s when it is asked for its models", http.StatusText(resp.StatusCode))
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxListed)).Decode(&list); err != nil {
		return nil, errors.New("its server does not say which models it has")
	}
	ids := make([]string, len(list.Data))
	for i, m := range list.Data {
		ids[i] = m.ID
	}
	return ids, nil
}

// chats reports whether a model of OpenAI's own server answers in a conversation,
// by what its name says.
func chats(id string) bool {
	for _, other := range []string{
		"embedding", "tts", "whisper", "dall-e", "image", "moderation", "realtime", "audio", "transcribe", "sora",
		"davinci", "babbage", "instruct", "codex", "deep-research", "computer-use",
	} {
		if strings.Contains(id, other) {
			return false
		}
	}
	return true
}

// Unusable returns the providers for which there is a key that this version
// can't use, each with a sentence that says so.
func Unusable(env func(string) string) map[string]string {
	found := map[string]string{}
	for _, note := range unusable(env) {
		name, _, _ := strings.Cut(strings.ToLower(note), "_")
		found[name] = note
	}
	return found
}
