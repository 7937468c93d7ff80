package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// SettingStore keeps settings: a line of JSON a key.
type SettingStore interface {
	// Settings returns all that are set.
	Settings(ctx context.Context) (map[string]string, error)
	// SetSettings stores values as one unit; a nil value removes the key.
	SetSettings(ctx context.Context, changes map[string]*string) error
}

// Settings are the choices that people make while the program runs. A change
// counts from the next request on. Safe for concurrent use if the store is.
type Settings struct {
	Store SettingStore
	// Defaults are the configured values, reported for keys that are not
	// set.
	Defaults map[string]any
}

// setting is what is fixed about a key.
type setting struct {
	check  func(v json.RawMessage) error
	secret bool
}

// settingKeys are the settings that this version acts on.
var settingKeys = map[string]setting{
	"model":            {check: text(200)},
	"temperature":      {check: number(0, 2)},
	"top_p":            {check: number(0, 1)},
	"max_tokens":       {check: whole(1, 1<<31)},
	"reasoning_effort": {check: oneOf("minimal", "low", "medium", "high")},
	"system_prompt":    {check: text(100_000)},
	"base_url":         {check: webAddress},
	"api_key":          {check: text(1000), secret: true},
}

// Get returns every setting with its value. A secret is never returned: KEY_set
// says whether there is one.
func (s *Settings) Get(ctx context.Context) (map[string]any, error) {
	set, err := s.Values(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for key, spec := range settingKeys {
		v, ok := set[key]
		switch {
		case spec.secret:
			d, _ := s.Defaults[key].(string)
			out[key+"_set"] = ok || d != ""
		case ok:
			out[key] = v
		default:
			out[key] = s.Defaults[key]
		}
	}
	return out, nil
}

// Values returns what is set, secrets too, for the program's own use.
func (s *Settings) Values(ctx context.Context) (map[string]json.RawMessage, error) {
	set, err := s.Store.Settings(ctx)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	values := make(map[string]json.RawMessage, len(set))
	for key, v := range set {
		values[key] = json.RawMessage(v)
	}
	return values, nil
}

// Set changes settings, all or none. null takes a key back to its default. An
// unknown key or a value that makes no sense is refused as Invalid.
func (s *Settings) Set(ctx context.Context, patch map[string]json.RawMessage) error {
	changes := make(map[string]*string, len(patch))
	for key, v := range patch {
		spec, ok := settingKeys[key]
		if !ok {
			return refuse(Invalid, "There is no setting %q.", key)
		}
		if isNull(v) {
			changes[key] = nil
			continue
		}
		if err := spec.check(v); err != nil {
			return refuse(Invalid, "The setting %s must be %s.", key, err)
		}
		changes[key] = new(string(v))
	}
	if err := s.Store.SetSettings(ctx, changes); err != nil {
		return fmt.Errorf("store settings: %w", err)
	}
	return nil
}

func isNull(v json.RawMessage) bool {
	return len(v) == 0 || bytes.Equal(bytes.TrimSpace(v), []byte("null"))
}

// The checks return what the value should have been, as an error.

func text(maxBytes int) func(json.RawMessage) error {
	return func(v json.RawMessage) error {
		var s string
		if json.Unmarshal(v, &s) != nil || len(s) > maxBytes {
			return fmt.Errorf("text of at most %d bytes", maxBytes)
		}
		return nil
	}
}

func number(low, high float64) func(json.RawMessage) error {
	return func(v json.RawMessage) error {
		var n float64
		if json.Unmarshal(v, &n) != nil || n < low || n > high {
			return fmt.Errorf("a number from %g to %g", low, high)
		}
		return nil
	}
}

func whole(low, high int64) func(json.RawMessage) error {
	return func(v json.RawMessage) error {
		var n int64
		if json.Unmarshal(v, &n) != nil || n < low || n > high {
			return fmt.Errorf("a whole number from %d to %d", low, high)
		}
		return nil
	}
}

func oneOf(values ...string) func(json.RawMessage) error {
	return func(v json.RawMessage) error {
		var s string
		if json.Unmarshal(v, &s) != nil || !slices.Contains(values, s) {
			return fmt.Errorf("one of %s", strings.Join(values, ", "))
		}
		return nil
	}
}

func webAddress(v json.RawMessage) error {
	var s string
	if json.Unmarshal(v, &s) != nil || s != "" && !strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "https://") {
		return fmt.Errorf("an http or https address")
	}
	return nil
}
