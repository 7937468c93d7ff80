package chat_test

import (
	"context"
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/chat"
)

// shelf keeps settings in memory.
type shelf map[string]string

func (s shelf) Settings(context.Context) (map[string]string, error) { return maps.Clone(s), nil }

func (s shelf) SetSettings(_ context.Context, changes map[string]*string) error {
	for k, v := range changes {
		if v == nil {
			delete(s, k)
			continue
		}
		s[k] = *v
	}
	return nil
}

func TestSettings(t *testing.T) {
	kept := shelf{}
	s := &chat.Settings{Store: kept, Defaults: map[string]any{"model": "openai/x"}}
	set := func(patch string) error {
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(patch), &m); err != nil {
			t.Fatal(err)
		}
		return s.Set(t.Context(), m)
	}
	for name, bad := range map[string]string{
		"unknown key":        `{"colour":"red"}`,
		"wrong type":         `{"temperature":"hot"}`,
		"out of range":       `{"temperature":3}`,
		"not whole":          `{"max_tokens":1.5}`,
		"not one of":         `{"reasoning_effort":"huge"}`,
		"not an address":     `{"base_url":"file:///etc"}`,
		"one bad among good": `{"model":"openai/y","top_p":-1}`,
	} {
		t.Run(name, func(t *testing.T) {
			wantCode(t, set(bad), chat.Invalid)
			if len(kept) != 0 {
				t.Errorf("something was stored: %v", kept)
			}
		})
	}
	if err := set(`{"temperature":0.5,"api_key":"sk-secret","model":"openai/y"}`); err != nil {
		t.Fatal(err)
	}
	got, err := s.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(got)
	want := `{"api_key_set":true,"base_url":null,"max_tokens":null,"model":"openai/y","reasoning_effort":null,"system_prompt":null,"temperature":0.5,"top_p":null}`
	if diff := cmp.Diff(want, string(b)); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if err := set(`{"model":null,"api_key":null}`); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.Get(t.Context()); got["model"] != "openai/x" || got["api_key_set"] != false {
		t.Errorf("after a reset: %v", got)
	}
}
