package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"verbatim/internal/provider/script"
)

const (
	defaultOpenAI = "openai/gpt-5-mini"
	defaultOllama = "http://127.0.0.1:11434"
	ollamaPort    = "11434"
	probeTime     = 300 * time.Millisecond
	maxSecretFile = 64 << 10
	maxTags       = 4 << 20
)

// Choice is a model to open.
type Choice struct {
	Name   string
	Config Config
}

// Choose picks the model that is there when none was named: OpenAI (or the
// server at OPENAI_BASE_URL) if OPENAI_API_KEY is set, else the first model of
// an Ollama that answers within 300 ms, else the built-in script. env returns
// an environment variable, empty for unset; every variable also counts as
// NAME_FILE, a file that holds the value. The notes are sentences for people:
// what was found and could not be used, and why.
func Choose(ctx context.Context, env func(string) string) (Choice, []string) {
	var notes []string
	key, err := secret(env, "OPENAI_API_KEY")
	if err != nil {
		notes = append(notes, err.Error())
	}
	notes = append(notes, unusable(env)...)
	if key != "" {
		cfg, err := Configure(defaultOpenAI, env)
		if err == nil {
			return Choice{Name: defaultOpenAI, Config: cfg}, notes
		}
		notes = append(notes, err.Error())
	}
	if key == "" && err == nil && isSet(env, "OPENAI_BASE_URL") {
		notes = append(notes, "OPENAI_BASE_URL is set without OPENAI_API_KEY; name the model to use that server, as openai/NAME")
	}
	base := ollamaAddress(env("OLLAMA_HOST"))
	if model := probeOllama(ctx, base); model != "" {
		return Choice{Name: "ollama/" + model, Config: Config{BaseURL: base + "/v1"}}, notes
	}
	return Choice{Name: script.Builtin}, notes
}

// Configure returns what the environment says about the provider of a model
// that was named: OPENAI_API_KEY and OPENAI_BASE_URL, or OLLAMA_HOST. It fails
// when a file that a variable names can't be read.
func Configure(name string, env func(string) string) (Config, error) {
	switch provider, _ := split(name); provider {
	case "openai":
		key, err := secret(env, "OPENAI_API_KEY")
		if err != nil {
			return Config{}, err
		}
		base, err := secret(env, "OPENAI_BASE_URL")
		return Config{BaseURL: base, APIKey: key}, err
	case "ollama":
		return Config{BaseURL: ollamaAddress(env("OLLAMA_HOST")) + "/v1"}, nil
	}
	return Config{}, nil
}

// unusable names the keys of providers that are not built yet.
func unusable(env func(string) string) []string {
	var notes []string
	for _, name := range []string{"ANTHROPIC_API_KEY", "GEMINI_API_KEY"} {
		if isSet(env, name) {
			notes = append(notes, name+" is set, but this version can't talk to that provider yet; the key is not used")
		}
	}
	return notes
}

func isSet(env func(string) string, name string) bool {
	return env(name) != "" || env(name+"_FILE") != ""
}

// secret reads a variable, or the file that NAME_FILE names.
func secret(env func(string) string, name string) (string, error) {
	if v := env(name); v != "" {
		return strings.TrimSpace(v), nil
	}
	path := env(name + "_FILE")
	if path == "" {
		return "", nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("%s_FILE can't be read, so it is not used: %w", name, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecretFile))
	if err != nil {
		return "", fmt.Errorf("%s_FILE can't be read, so it is not used: %w", name, err)
	}
	return strings.TrimSpace(string(b)), nil
}

// ollamaAddress makes a base URL of what OLLAMA_HOST may be: a host, a port, both
// or a URL. An address that means every interface becomes loopback.
func ollamaAddress(host string) string {
	host = strings.TrimSpace(host)
	if host == "" {
		return defaultOllama
	}
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	u, err := url.Parse(host)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return defaultOllama
	}
	name, port := u.Hostname(), u.Port()
	if port == "" {
		port = map[string]string{"http": ollamaPort, "https": "443"}[u.Scheme]
	}
	if ip := net.ParseIP(name); name == "" || ip != nil && ip.IsUnspecified() {
		name = "127.0.0.1"
	}
	return u.Scheme + "://" + net.JoinHostPort(name, port) + strings.TrimRight(u.Path, "/")
}

// probeOllama returns the first model of the server at base, empty for none.
func probeOllama(ctx context.Context, base string) string {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/tags", nil)
	if err != nil {
		return ""
	}
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var tags struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if resp.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(resp.Body, maxTags)).Decode(&tags) != nil || len(tags.Models) == 0 {
		return ""
	}
	return tags.Models[0].Name
}
