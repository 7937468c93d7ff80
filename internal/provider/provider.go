// Package provider turns the name of a model into the model, by one table of
// providers, and chooses a model when none is named. A name is a provider and,
// after a slash, what the provider calls the model: openai/gpt-5-mini.
package provider

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"verbatim/internal/llm"
	"verbatim/internal/provider/openai"
	"verbatim/internal/provider/script"
)

// ErrName is wrapped by the errors of Open that are about the name.
var ErrName = errors.New("no such model")

// Config is what a provider may need. The zero value leaves everything to the
// provider's defaults.
type Config struct {
	// BaseURL is where the provider's server is; empty means its default.
	BaseURL string
	// APIKey is the provider's key; empty for none.
	APIKey string
	// Idle is how long the provider may send nothing; 0 means 120 s.
	Idle time.Duration
}

type constructor func(rest string, cfg Config) (llm.Model, error)

func table() map[string]constructor {
	return map[string]constructor{
		"openai":       openOpenAI,
		"ollama":       openOllama,
		"script":       openScript,
		script.Builtin: openBuiltin,
	}
}

// Open returns the model of that name and the provider's own name for it, which
// a Request carries. It connects to nothing. The caller closes the model if it
// is an io.Closer. A name that leads nowhere is an ErrName that lists the
// providers.
func Open(name string, cfg Config) (llm.Model, string, error) {
	provider, rest := split(name)
	build, ok := table()[provider]
	if !ok {
		return nil, "", fmt.Errorf("%w as %q: a name is one of %s, then / and the provider's name for the model, such as openai/gpt-5-mini",
			ErrName, name, strings.Join(slices.Sorted(maps.Keys(table())), ", "))
	}
	if rest == "" && provider != script.Builtin {
		return nil, "", fmt.Errorf("%w as %q: after %s/ comes the provider's name for the model", ErrName, name, provider)
	}
	model, err := build(rest, cfg)
	if err != nil {
		return nil, "", fmt.Errorf("open the model %q: %w", name, err)
	}
	return model, rest, nil
}

// split cuts a name after its provider. A script may also be named with a
// colon, since its path can begin with a slash.
func split(name string) (provider, rest string) {
	if path, ok := strings.CutPrefix(name, "script:"); ok {
		return "script", path
	}
	provider, rest, _ = strings.Cut(name, "/")
	return provider, rest
}

func openOpenAI(_ string, cfg Config) (llm.Model, error) {
	return openai.New(openai.Config{BaseURL: cfg.BaseURL, Key: cfg.APIKey, Idle: cfg.Idle})
}

func openOllama(_ string, cfg Config) (llm.Model, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = defaultOllama + "/v1"
	}
	return openai.New(openai.Config{BaseURL: cfg.BaseURL, Key: cfg.APIKey, Idle: cfg.Idle})
}

func openScript(path string, _ Config) (llm.Model, error) {
	s, err := script.Load(path)
	if err != nil {
		return nil, err
	}
	return script.New(s)
}

func openBuiltin(string, Config) (llm.Model, error) { return script.New(script.BuiltinScript()) }
