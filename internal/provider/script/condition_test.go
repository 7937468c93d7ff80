package script

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"verbatim/internal/event"
	"verbatim/internal/llm"
)

// A script sees whether tools are offered and what the calls of the round before
// came to, and can say it.
func TestConditions(t *testing.T) {
	const text = `
:if tools
:text "tools "
:otherwise
:text "none "
:end
:if not tools
:text "really "
:end
:if result contains DID not
:text "refused "
:otherwise
:text "fine "
:end
:if result 2 starts wrote
:text "written "
:end
:if not result 1 equals a
:text "other "
:end
:text "first: "
:result 1
:text " second: "
:result 2
:text " third: "
:result 3
`
	// round is calls of the model with what they came to.
	calls := 0
	round := func(results ...string) []llm.Message {
		said := llm.Message{Role: llm.RoleAssistant}
		var told []llm.Message
		for _, text := range results {
			calls++
			call := llm.Call{ID: "call_" + strconv.Itoa(calls), Name: "write_file", Args: "{}"}
			said.Calls = append(said.Calls, call)
			told = append(told, llm.Message{Role: llm.RoleTool, Text: text, Result: &call})
		}
		return append([]llm.Message{said}, told...)
	}
	tests := []struct {
		name     string
		tools    []llm.Tool
		messages []llm.Message
		want     string
	}{
		{"nothing", nil, []llm.Message{user("x")}, "none really fine other first:  second:  third: "},
		{"tools", []llm.Tool{{Name: "a"}}, []llm.Message{user("x")}, "tools fine other first:  second:  third: "},
		{
			"results", nil, slices.Concat([]llm.Message{user("x")}, round("\n A\nb", "Wrote it; it did not fit.\r\nx")),
			"none really refused written other first: A second: Wrote it; it did not fit. third: ",
		},
		{
			"an older round's results", nil, slices.Concat([]llm.Message{user("x")}, round("did not"), round(" a\n")),
			"none really fine first: a second:  third: ",
		},
		{
			"a long result", nil, slices.Concat([]llm.Message{user("x")}, round(strings.Repeat("a", 299)+"é")),
			"none really fine other first: " + strings.Repeat("a", 299) + "… second:  third: ",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := play(t, text)
			var got strings.Builder
			finish := event.Finish("")
			for c, err := range m.Stream(t.Context(), llm.Request{Model: "x", Messages: test.messages, Tools: test.tools}) {
				if err != nil {
					t.Fatal(err)
				}
				got.WriteString(c.Text)
				if c.Finish != nil {
					finish = c.Finish.Reason
				}
			}
			if got.String() != test.want || finish != event.FinishStop {
				t.Errorf("got %q and %q, want %q", got.String(), finish, test.want)
			}
		})
	}
}
