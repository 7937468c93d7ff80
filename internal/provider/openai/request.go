package openai

import (
	"bytes"
	"encoding/json"
	"fmt"

	"verbatim/internal/llm"
)

// request is what a body has beside the model and the messages, which are written
// first and piece by piece: files are large.
type request struct {
	Tools         []tool `json:"tools,omitempty"`
	Stream        bool   `json:"stream"`
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
	rest := request{
		Stream:      true,
		Temperature: req.Temperature, TopP: req.TopP, ReasoningEffort: req.ReasoningEffort,
	}
	rest.StreamOptions.IncludeUsage = true
	if ownServer {
		rest.MaxCompletionTokens = req.MaxTokens
	} else {
		rest.MaxTokens = req.MaxTokens
	}
	for _, t := range req.Tools {
		rest.Tools = append(rest.Tools, encodeTool(t))
	}
	b := body{Buffer: bytes.NewBuffer(make([]byte, 0, estimate(req)))}
	b.WriteString(`{"model":`)
	b.json(req.Model)
	b.WriteString(`,"messages":[`)
	b.messages(req)
	b.WriteString("],")
	b.members(rest)
	b.WriteByte('\n')
	if b.err != nil {
		return nil, fmt.Errorf("encode the request: %w", b.err)
	}
	return b.Bytes(), nil
}

func encodeTool(t llm.Tool) tool {
	out := tool{Type: "function"}
	out.Function.Name, out.Function.Description, out.Function.Parameters = t.Name, t.Description, t.Parameters
	return out
}
