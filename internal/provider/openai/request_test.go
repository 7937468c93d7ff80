package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/llm"
)

func TestRequest(t *testing.T) {
	temperature, topP, tokens := 0.0, 0.9, int64(100)
	a := llm.Call{ID: "call_1", Name: "ls", Args: `{"p": "<&>"}`, Provider: json.RawMessage(`{"id":"ls:0"}`)}
	b := llm.Call{ID: "call_2", Name: "ls", Args: `{"p`, Provider: json.RawMessage(`{"id":"ls:0"}`)}
	c := llm.Call{ID: "call_3", Name: "now"}
	again := llm.Call{ID: "call_4", Name: "ls", Args: `{}`, Provider: json.RawMessage(`{"id":"ls:0"}`)}
	req := llm.Request{
		Model: "m/x", System: "Be brief.",
		Messages: []llm.Message{
			{Role: llm.RoleUser, Text: " a <b> & \n"},
			{Role: llm.RoleAssistant, Calls: []llm.Call{a, b, c}},
			{Role: llm.RoleTool, Text: "one", Result: &a},
			{Role: llm.RoleTool, Text: "two", Result: &b},
			{Role: llm.RoleTool, Text: "", Result: &c},
			{Role: llm.RoleAssistant, Text: "so", Calls: []llm.Call{again}},
			{Role: llm.RoleTool, Text: "four", Result: &again},
		},
		Tools:       []llm.Tool{{Name: "ls", Description: "lists", Parameters: json.RawMessage(`{"type":"object"}`)}},
		Temperature: &temperature, TopP: &topP, MaxTokens: &tokens, ReasoningEffort: "low",
	}
	// G5: the provider's ids are restored, and where it uses one again the call
	// has ours, so that each result finds its own.
	const want = `{"model":"m/x","messages":[` +
		`{"role":"system","content":"Be brief."},` +
		`{"role":"user","content":" a <b> & \n"},` +
		`{"role":"assistant","content":null,"tool_calls":[` +
		`{"id":"ls:0","type":"function","function":{"name":"ls","arguments":"{\"p\": \"<&>\"}"}},` +
		`{"id":"call_2","type":"function","function":{"name":"ls","arguments":"{\"invalid_arguments\":\"{\\\"p\"}"}},` +
		`{"id":"call_3","type":"function","function":{"name":"now","arguments":"{}"}}]},` +
		`{"role":"tool","content":"one","tool_call_id":"ls:0"},` +
		`{"role":"tool","content":"two","tool_call_id":"call_2"},` +
		`{"role":"tool","content":"","tool_call_id":"call_3"},` +
		`{"role":"assistant","content":"so","tool_calls":[{"id":"call_4","type":"function","function":{"name":"ls","arguments":"{}"}}]},` +
		`{"role":"tool","content":"four","tool_call_id":"call_4"}],` +
		`"tools":[{"type":"function","function":{"name":"ls","description":"lists","parameters":{"type":"object"}}}],` +
		`"stream":true,"stream_options":{"include_usage":true},"temperature":0,"top_p":0.9,"max_tokens":100,"reasoning_effort":"low"}` + "\n"
	var got string
	var header http.Header
	m := newModel(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		got, header = string(body), r.Header
		if r.Method != http.MethodPost || r.URL.String() != "http://provider.invalid/v1/chat/completions" {
			t.Errorf("got %s %s", r.Method, r.URL)
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(events(stop, done)))}, err
	}))
	for _, err := range m.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("body (-got +want):\n%s", diff)
	}
	for name, want := range map[string]string{"Authorization": "Bearer sk-secret", "Content-Type": "application/json", "Accept": "text/event-stream", "Accept-Encoding": ""} {
		if got := header.Get(name); got != want {
			t.Errorf("header %s: got %q, want %q", name, got, want)
		}
	}
}

func TestRequestToOpenAI(t *testing.T) {
	tokens := int64(5)
	body, err := encode(llm.Request{Model: "m", MaxTokens: &tokens}, true)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(body); !strings.Contains(text, `"max_completion_tokens":5`) || strings.Contains(text, `"max_tokens"`) {
		t.Errorf("got %s, want the limit under the server's own name", text)
	}
}
