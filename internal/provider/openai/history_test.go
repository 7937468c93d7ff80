package openai

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/llm"
)

// seen is a message as a server sees it.
type seen struct {
	Role      string  `json:"role"`
	Content   any     `json:"content"`
	ToolCalls []wired `json:"tool_calls"`
	CallID    string  `json:"tool_call_id"`
}

type wired struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func received(t *testing.T, req llm.Request) []seen {
	t.Helper()
	raw, err := encode(req, false)
	if err != nil {
		t.Fatal(err)
	}
	var body struct {
		Messages []seen `json:"messages"`
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return body.Messages
}

// lines writes messages one a line.
func lines(messages []seen) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s %v", m.Role, m.Content)
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, " %s=%s(%s)", c.ID, c.Function.Name, c.Function.Arguments)
		}
		if m.CallID != "" {
			fmt.Fprintf(&b, " for %s", m.CallID)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func callOf(id, provider string) llm.Call {
	c := llm.Call{ID: id, Name: "ls", Args: "{}"}
	if provider != "" {
		c.Provider = json.RawMessage(`{"id":"` + provider + `"}`)
	}
	return c
}

func said(text string, calls ...llm.Call) llm.Message {
	return llm.Message{Role: llm.RoleAssistant, Text: text, Calls: calls}
}

func answered(c llm.Call, text string) llm.Message {
	return llm.Message{Role: llm.RoleTool, Text: text, Result: &c}
}

func asked(text string) llm.Message { return llm.Message{Role: llm.RoleUser, Text: text} }

// I3, G5: what a strict server asks for holds whatever the history is.
func TestI3G5HistoryIsRepaired(t *testing.T) {
	a, b := callOf("call_a", "x"), callOf("call_b", "")
	tests := []struct {
		name     string
		messages []llm.Message
		want     string
	}{
		{"I3: a call without a result", []llm.Message{asked("hi"), said("", a), asked("again")},
			"user hi\nassistant <nil> x=ls({})\ntool " + noResult + " for x\nuser again\n"},
		{"I3: one of two has none", []llm.Message{said("so", a, b), answered(b, "B")},
			"assistant so x=ls({}) call_b=ls({})\ntool " + noResult + " for x\ntool B for call_b\n"},
		{"I3: a result without a call", []llm.Message{asked("hi"), answered(a, "A"), said("ok")},
			"user hi\nassistant ok\n"},
		{"I3: a result that is nobody's", []llm.Message{asked("hi"), {Role: llm.RoleTool, Text: "A"}}, "user hi\n"},
		{"I3: two results of one call", []llm.Message{said("", a), answered(a, "A"), answered(a, "A2")},
			"assistant <nil> x=ls({})\ntool A for x\n"},
		{"I3: a result in the wrong place", []llm.Message{said("", a), asked("wait"), answered(a, "A")},
			"assistant <nil> x=ls({})\ntool A for x\nuser wait\n"},
		{"I3: results in another order", []llm.Message{said("", a, b), answered(b, "B"), answered(a, "A")},
			"assistant <nil> x=ls({}) call_b=ls({})\ntool A for x\ntool B for call_b\n"},
		{"I3: an empty result", []llm.Message{said("", a), answered(a, "")}, "assistant <nil> x=ls({})\ntool  for x\n"},
		{"I3: an answer of nothing", []llm.Message{asked("hi"), said(""), asked("there")}, "user hi\nuser there\n"},
		{"G5: an id for each round", []llm.Message{said("", callOf("call_1", "bash:0")), answered(callOf("call_1", "bash:0"), "a"), said("", callOf("call_2", "bash:0")), answered(callOf("call_2", "bash:0"), "/tmp")},
			"assistant <nil> bash:0=ls({})\ntool a for bash:0\nassistant <nil> call_2=ls({})\ntool /tmp for call_2\n"},
		{"G5: an id for both calls of a round", []llm.Message{said("", callOf("call_1", "ls"), callOf("call_2", "ls")), answered(callOf("call_2", "ls"), "two"), answered(callOf("call_1", "ls"), "one")},
			"assistant <nil> ls=ls({}) call_2=ls({})\ntool one for ls\ntool two for call_2\n"},
		{"G5: an id that is ours already", []llm.Message{said("", callOf("call_1", ""), callOf("call_2", "call_1"), callOf("call_3", "call_2"), callOf("call_2", "call_1"))},
			"assistant <nil> call_1=ls({}) call_2=ls({}) call_3=ls({}) call_2_2=ls({})\n" +
				"tool " + noResult + " for call_1\ntool " + noResult + " for call_2\ntool " + noResult + " for call_3\ntool " + noResult + " for call_2_2\n"},
		{"G5: a provider's notes without an id", []llm.Message{said("", llm.Call{ID: "call_1", Name: "ls", Provider: json.RawMessage(`{"signature":"x"}`)})},
			"assistant <nil> call_1=ls({})\ntool " + noResult + " for call_1\n"},
		{"G5: a name that no server takes", []llm.Message{said("", llm.Call{ID: "call_1", Name: "functions.ls é"}, llm.Call{ID: "call_2"})},
			"assistant <nil> call_1=functions_ls__({}) call_2=unnamed({})\ntool " + noResult + " for call_1\ntool " + noResult + " for call_2\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(lines(received(t, llm.Request{Messages: test.messages})), test.want); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		})
	}
}

func TestArgumentsAreAnObject(t *testing.T) {
	tests := map[string]string{
		"": "{}", " \n": "{}", `{"a": 1}`: `{"a": 1}`, " {}": " {}",
		`{"a`: `{"invalid_arguments":"{\"a"}`, "[1]": `{"invalid_arguments":"[1]"}`,
		`"x"`: `{"invalid_arguments":"\"x\""}`, "null": `{"invalid_arguments":"null"}`, "{} {}": `{"invalid_arguments":"{} {}"}`,
	}
	for args, want := range tests {
		if got := validArgs(args); got != want {
			t.Errorf("%q: got %q, want %q", args, got, want)
		}
	}
}

var strictName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// strict reports what a strict server would refuse.
func strict(messages []seen) error {
	ids := map[string]bool{}
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		if m.Role == "tool" {
			return fmt.Errorf("message %d is a result without a call", i)
		}
		if m.Role == "assistant" && m.Content == nil && len(m.ToolCalls) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		for n, c := range m.ToolCalls {
			if c.ID == "" || ids[c.ID] {
				return fmt.Errorf("message %d has the id %q again", i, c.ID)
			}
			ids[c.ID] = true
			if !strictName.MatchString(c.Function.Name) {
				return fmt.Errorf("message %d calls %q", i, c.Function.Name)
			}
			if i+1+n >= len(messages) || messages[i+1+n].Role != "tool" || messages[i+1+n].CallID != c.ID {
				return fmt.Errorf("call %s has no result", c.ID)
			}
		}
		i += len(m.ToolCalls)
	}
	return nil
}

// Any history at all becomes one that a strict server takes, and each result that
// has a call is told with it.
func TestI3AnyHistory(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	names := []string{"ls", "", "a b", strings.Repeat("x", 70), "é"}
	for range 300 {
		var messages []llm.Message
		var calls []llm.Call
		for n := range random.IntN(12) {
			switch random.IntN(3) {
			case 0:
				messages = append(messages, asked("?"))
			case 1:
				m := said([]string{"", "text"}[random.IntN(2)])
				for k := range random.IntN(4) {
					c := callOf(fmt.Sprintf("call_%d_%d", n, k), []string{"", "a", "b", "call_0_0"}[random.IntN(4)])
					c.Name = names[random.IntN(len(names))]
					m.Calls, calls = append(m.Calls, c), append(calls, c)
				}
				messages = append(messages, m)
			default:
				c := callOf("call_x", "")
				if len(calls) > 0 && random.IntN(4) > 0 {
					c = calls[random.IntN(len(calls))]
				}
				messages = append(messages, answered(c, "result of "+c.ID))
			}
		}
		got := received(t, llm.Request{Messages: messages})
		if err := strict(got); err != nil {
			t.Fatalf("%v in\n%s", err, lines(got))
		}
		for _, m := range messages {
			known := m.Result != nil && m.Result.ID != "call_x"
			if known && !strings.Contains(lines(got), m.Text+" for ") {
				t.Fatalf("%q is not told in\n%s", m.Text, lines(got))
			}
		}
	}
}
