package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"verbatim/internal/llm"
)

// noResult stands for the result of a call that has none.
const noResult = "The call ended without a result; it may have run."

// maxNameBytes is the longest name of a function that servers take.
const maxNameBytes = 64

// history puts the calls of a conversation and their results in the form that
// strict servers ask for: after each message with calls exactly one result for
// each of them, in their order, and an id that no other call of the request has.
// A result whose call is not there is left out; a call without a result gets one
// that says so.
type history struct {
	// results are the texts that wait for their call, by callKey, in order.
	results map[string][]string
	// used are the ids that the server sees.
	used map[string]bool
}

func newHistory(messages []llm.Message) *history {
	h := &history{results: map[string][]string{}, used: map[string]bool{}}
	for _, m := range messages {
		if m.Role == llm.RoleTool && m.Result != nil {
			key := callKey(*m.Result)
			h.results[key] = append(h.results[key], m.Text)
		}
	}
	return h
}

// round returns what the assistant said and called, then the results. A message
// that neither says nor calls anything, which some servers refuse, is none.
func (h *history) round(m llm.Message) []message {
	if m.Text == "" && len(m.Calls) == 0 {
		return nil
	}
	said := message{Role: string(llm.RoleAssistant), Content: &m.Text}
	if m.Text == "" {
		said.Content = nil
	}
	var results []message
	for _, c := range m.Calls {
		id := h.unique(c)
		said.ToolCalls = append(said.ToolCalls, toolCall{
			ID: id, Type: "function",
			Function: function{Name: validName(c.Name), Arguments: validArgs(c.Args)},
		})
		text := h.result(c)
		results = append(results, message{Role: string(llm.RoleTool), Content: &text, ToolCallID: id})
	}
	return append([]message{said}, results...)
}

func (h *history) result(c llm.Call) string {
	key := callKey(c)
	if len(h.results[key]) == 0 {
		return noResult
	}
	text := h.results[key][0]
	h.results[key] = h.results[key][1:]
	return text
}

// unique returns the id that the server sees: the one that the provider gave the
// call, or ours where it gave none or another call has it already.
func (h *history) unique(c llm.Call) string {
	id := providerID(c)
	if id == "" || h.used[id] {
		id = c.ID
	}
	for n := 2; id == "" || h.used[id]; n++ {
		id = fmt.Sprintf("%s_%d", c.ID, n)
	}
	h.used[id] = true
	return id
}

// callKey tells calls apart.
func callKey(c llm.Call) string { return c.ID + "\x00" + string(c.Provider) }

// providerID is the id in a call's Provider, empty for none.
func providerID(c llm.Call) string {
	var kept struct {
		ID string `json:"id"`
	}
	if len(c.Provider) == 0 || json.Unmarshal(c.Provider, &kept) != nil {
		return ""
	}
	return kept.ID
}

// validName returns a name that a server takes: one that a model made up, with a
// dot or a blank in it, would have the whole conversation refused for ever.
func validName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	if name == "" {
		return "unnamed"
	}
	return name[:min(len(name), maxNameBytes)]
}

// validArgs returns arguments that a server takes: one that parses them would
// refuse the whole conversation for ever for a call that was no JSON object.
func validArgs(args string) string {
	blank := strings.TrimLeft(args, " \t\r\n")
	switch {
	case blank == "":
		return "{}"
	case blank[0] == '{' && json.Valid([]byte(args)):
		return args
	}
	wrapped, err := json.Marshal(map[string]string{"invalid_arguments": args})
	if err != nil {
		return "{}"
	}
	return string(wrapped)
}
