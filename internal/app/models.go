package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"verbatim/internal/chat"
	"verbatim/internal/config"
	"verbatim/internal/event"
	"verbatim/internal/llm"
	"verbatim/internal/provider"
)

// models finds the model that answers next: the settings of now, else the
// configuration, else what is there. Safe for concurrent use.
type models struct {
	settings *chat.Settings
	projects projects
	env      func(string) string
	idle     time.Duration
	log      *slog.Logger

	// found is what is there when nothing is configured; it is looked for
	// once, at the start.
	found provider.Choice

	mu   sync.Mutex
	open map[opening]chat.Choice
}

// projects tells the instructions of each project.
type projects interface {
	Projects(ctx context.Context) (map[string]string, error)
}

// opening is all that a model is opened with.
type opening struct {
	name string
	cfg  provider.Config
}

// values are the settings that bear on a request, as they are stored.
type values struct {
	Model           string   `json:"model"`
	SystemPrompt    string   `json:"system_prompt"`
	Temperature     *float64 `json:"temperature"`
	TopP            *float64 `json:"top_p"`
	MaxTokens       *int64   `json:"max_tokens"`
	ReasoningEffort string   `json:"reasoning_effort"`
	BaseURL         string   `json:"base_url"`
	APIKey          string   `json:"api_key"`
}

// settingDefaults are the configured values of the settings.
func settingDefaults(c config.Config) map[string]any {
	return map[string]any{
		"model": c.Model, "system_prompt": c.SystemPrompt, "temperature": c.Temperature, "top_p": c.TopP,
		"max_tokens": c.MaxTokens, "reasoning_effort": c.ReasoningEffort, "base_url": c.BaseURL, "api_key": c.APIKey,
		"approval_mode": c.ApprovalMode,
	}
}

// begin looks for a model when none is configured, and makes sure that the one
// that is can be opened: a mistyped name is found at the start, not by the
// first person who asks something.
func (m *models) begin(ctx context.Context) error {
	m.open = map[opening]chat.Choice{}
	v, err := m.values(ctx)
	if err != nil {
		return err
	}
	if configured, _ := m.settings.Defaults["model"].(string); configured == "" {
		choice, notes := provider.Choose(ctx, m.env)
		m.found = choice
		for _, note := range notes {
			m.log.Warn("model", "note", note)
		}
	}
	if _, err := m.opened(v); err != nil {
		if v.fromSettings(m.settings) {
			m.log.Error("the model in the settings can't be used; runs fail until it is changed", "err", err)
			return nil
		}
		return err
	}
	return nil
}

// fromSettings reports that a person chose the model while the program ran.
func (v values) fromSettings(s *chat.Settings) bool {
	configured, _ := s.Defaults["model"].(string)
	return v.Model != configured
}

// choose returns the model for the next run. A conversation's own model comes
// before the one of the settings; its project's instructions follow the system
// prompt.
func (m *models) choose(ctx context.Context, w chat.Want) (chat.Choice, error) {
	v, err := m.values(ctx)
	if err != nil {
		return chat.Choice{}, err
	}
	if w.Model != "" {
		v.Model = w.Model
	}
	c, err := m.opened(v)
	if err != nil {
		return chat.Choice{Name: m.nameOf(v)}, &llm.Failure{Kind: event.ErrorInternal, Code: event.CodeConfig, Message: err.Error()}
	}
	c.TextOnly = provider.TextOnly(c.Name)
	c.Request.System, c.Request.ReasoningEffort = v.SystemPrompt, v.ReasoningEffort
	if w.Project != "" {
		instructions, err := m.projects.Projects(ctx)
		if err != nil {
			return chat.Choice{}, err
		}
		c.Request.System = joinParagraphs(c.Request.System, instructions[w.Project])
	}
	c.Request.Temperature, c.Request.TopP, c.Request.MaxTokens = v.Temperature, v.TopP, v.MaxTokens
	return c, nil
}

func joinParagraphs(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// autoTitle reports whether conversations are to be named by the model.
func (m *models) autoTitle(ctx context.Context) bool {
	var on bool
	if err := m.settings.Value(ctx, "auto_title", &on); err != nil {
		m.log.Error("read the setting auto_title", "err", err)
	}
	return on
}

// name returns the full name of the model that would answer next.
func (m *models) name(ctx context.Context) string {
	v, err := m.values(ctx)
	if err != nil {
		return ""
	}
	return m.nameOf(v)
}

func (m *models) nameOf(v values) string {
	if v.Model != "" {
		return v.Model
	}
	return m.found.Name
}

// values are the stored settings over the configured ones.
func (m *models) values(ctx context.Context) (values, error) {
	all := map[string]any{}
	for key, v := range m.settings.Defaults {
		all[key] = v
	}
	set, err := m.settings.Values(ctx)
	if err != nil {
		return values{}, err
	}
	for key, v := range set {
		all[key] = v
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return values{}, fmt.Errorf("settings: %w", err)
	}
	var v values
	if err := json.Unmarshal(raw, &v); err != nil {
		return values{}, fmt.Errorf("stored settings: %w", err)
	}
	return v, nil
}

// opened returns the model of some settings; each is opened once.
func (m *models) opened(v values) (chat.Choice, error) {
	o, err := m.opening(v)
	if err != nil {
		return chat.Choice{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.open[o]; ok {
		return known, nil
	}
	model, own, err := provider.Open(o.name, o.cfg)
	if err != nil {
		return chat.Choice{}, err
	}
	c := chat.Choice{Model: llm.Retry(model, llm.Policy{}), Name: o.name, Request: llm.Request{Model: own}}
	m.open[o] = c
	return c, nil
}

func (m *models) opening(v values) (opening, error) {
	o := opening{name: v.Model}
	if o.name == "" {
		o.name, o.cfg = m.found.Name, m.found.Config
	} else {
		cfg, err := provider.Configure(o.name, m.env)
		if err != nil {
			return opening{}, err
		}
		o.cfg = cfg
	}
	configured, _ := m.settings.Defaults["base_url"].(string)
	key, _ := m.settings.Defaults["api_key"].(string)
	if v.BaseURL != "" && v.BaseURL != o.cfg.BaseURL {
		// The environment's key belongs to the environment's server.
		o.cfg = provider.Config{BaseURL: v.BaseURL}
	}
	if v.APIKey != "" && (v.APIKey != key || v.BaseURL == configured) {
		// And the configured key to the configured one.
		o.cfg.APIKey = v.APIKey
	}
	o.cfg.Idle = m.idle
	return o, nil
}

// close ends idle connections. Call it when no run goes on.
func (m *models) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var first error
	for _, choice := range m.open {
		if c, ok := choice.Model.(io.Closer); ok {
			if err := c.Close(); err != nil && first == nil {
				first = err
			}
		}
	}
	clear(m.open)
	return first
}
