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
		"unknown key":         `{"colour":"red"}`,
		"wrong type":          `{"temperature":"hot"}`,
		"out of range":        `{"temperature":3}`,
		"not whole":           `{"max_tokens":1.5}`,
		"not one of":          `{"reasoning_effort":"huge"}`,
		"not an address":      `{"base_url":"file:///etc"}`,
		"not true or false":   `{"auto_title":1}`,
		"a mode of its own":   `{"approval_mode":"yolo"}`,
		"an expiry too short": `{"approval_timeout":9}`,
		"one bad among good":  `{"model":"openai/y","top_p":-1}`,
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
	want := `{"api_key_set":true,"approval_mode":"ask","approval_timeout":300,"auto_title":false,"base_url":"","code_font_size":14,` +
		`"collapse_reasoning":false,"condense_paste":4000,"confirm_delete":true,"font_size":16,"max_tokens":null,"model":"openai/y",` +
		`"reasoning_effort":null,"reduce_motion":false,"show_reasoning":true,"show_stats":true,"streaming":true,"streaming_speed":0.4,` +
		`"system_prompt":"","temperature":0.5,"theme":"system","tool_detail":"truncated","top_p":null}`
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

// Every setting takes its own default, and the schema shows no secret.
func TestSchema(t *testing.T) {
	s := &chat.Settings{Store: shelf{}, Defaults: map[string]any{"api_key": "sk-secret", "approval_mode": "smart"}}
	patch := map[string]json.RawMessage{}
	for _, spec := range s.Schema() {
		if spec.Secret && spec.Default != nil {
			t.Errorf("%s shows %v", spec.Key, spec.Default)
		}
		if spec.Key == "approval_mode" && spec.Default != "smart" {
			t.Errorf("the configured default is %v", spec.Default)
		}
		if spec.Default == nil {
			continue
		}
		v, err := json.Marshal(spec.Default)
		if err != nil {
			t.Fatal(err)
		}
		patch[spec.Key] = v
	}
	if err := s.Set(t.Context(), patch); err != nil {
		t.Error(err)
	}
	var seconds int64
	if err := s.Value(t.Context(), "approval_timeout", &seconds); err != nil || seconds != 300 {
		t.Errorf("got %d, %v", seconds, err)
	}
}
