package openai

import (
	"bytes"
	"encoding/json"
	"fmt"

	"verbatim/internal/llm"
)

type request struct {
	Model         string    `json:"model"`
	Messages      []message `json:"messages"`
	Tools         []tool    `json:"tools,omitempty"`
	Stream        bool      `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Temperature         *float64 `json:"temperature,omitempty"`
	TopP                *float64 `json:"top_p,omitempty"`
	MaxTokens           *int64   `json:"max_tokens,omitempty"`
	MaxCompletionTokens *int64   `json:"max_completion_tokens,omitempty"`
	ReasoningEffort     string   `json:"reasoning_effort,omitempty"`
}

type message struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	} `json:"function"`
}

// encode writes a request. ownServer says that it is for OpenAI's own server,
// which has another name for the limit of tokens than the compatible ones.
func encode(req llm.Request, ownServer bool) ([]byte, error) {
	out := request{
		Model: req.Model, Stream: true,
		Temperature: req.Temperature, TopP: req.TopP, ReasoningEffort: req.ReasoningEffort,
	}
	out.StreamOptions.IncludeUsage = true
	if ownServer {
		out.MaxCompletionTokens = req.MaxTokens
	} else {
		out.MaxTokens = req.MaxTokens
	}
	if req.System != "" {
		out.Messages = append(out.Messages, message{Role: "system", Content: &req.System})
	}
	ids := map[string]string{}
	for _, m := range req.Messages {
		out.Messages = append(out.Messages, encodeMessage(m, ids))
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, encodeTool(t))
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return b.Bytes(), nil
}

// encodeMessage writes one message. ids holds, for our ids of the last calls,
// those that the server sees.
func encodeMessage(m llm.Message, ids map[string]string) message {
	out := message{Role: string(m.Role), Content: &m.Text}
	switch m.Role {
	case llm.RoleAssistant:
		out.ToolCalls = encodeCalls(m.Calls, ids)
		if m.Text == "" && len(m.Calls) > 0 {
			out.Content = nil
		}
	case llm.RoleTool:
		if m.Result != nil {
			out.ToolCallID = ids[callKey(*m.Result)]
			if out.ToolCallID == "" {
				out.ToolCallID = wireID(*m.Result)
			}
		}
	case llm.RoleUser:
	}
	return out
}

// encodeCalls gives each call the id that its provider gave it, or ours where
// it gave none or the same to two calls of one message.
func encodeCalls(list []llm.Call, ids map[string]string) []toolCall {
	if len(list) == 0 {
		return nil
	}
	clear(ids)
	used := map[string]bool{}
	out := make([]toolCall, 0, len(list))
	for _, c := range list {
		wire := wireID(c)
		if used[wire] {
			wire = fmt.Sprintf("%s_%d", wire, len(out))
		}
		used[wire] = true
		ids[callKey(c)] = wire
		out = append(out, toolCall{ID: wire, Type: "function", Function: function{Name: c.Name, Arguments: validArgs(c.Args)}})
	}
	return out
}

// callKey tells the calls of a message apart.
func callKey(c llm.Call) string { return c.ID + "\x00" + string(c.Provider) }

// wireID is the id that a call's Provider holds, else its ID.
func wireID(c llm.Call) string {
	var kept struct {
		ID string `json:"id"`
	}
	if len(c.Provider) > 0 && json.Unmarshal(c.Provider, &kept) == nil && kept.ID != "" {
		return kept.ID
	}
	return c.ID
}

// validArgs returns arguments that a server takes: one that parses them would
// refuse the whole conversation for ever for a call that was not JSON.
func validArgs(args string) string {
	if args == "" {
		return "{}"
	}
	if json.Valid([]byte(args)) {
		return args
	}
	wrapped, err := json.Marshal(map[string]string{"invalid_arguments": args})
	if err != nil {
		return "{}"
	}
	return string(wrapped)
}

func encodeTool(t llm.Tool) tool {
	out := tool{Type: "function"}
	out.Function.Name, out.Function.Description, out.Function.Parameters = t.Name, t.Description, t.Parameters
	return out
}
