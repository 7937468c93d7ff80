package openai

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/llm"
)

// part writes an entry of tool_calls.
func part(index, id, name, args string) string {
	fields := []string{`"type":"function"`}
	if index != "" {
		fields = append(fields, `"index":`+index)
	}
	if id != "" {
		fields = append(fields, `"id":"`+id+`"`)
	}
	function := `"arguments":` + quote(args)
	if name != "" {
		function = `"name":"` + name + `",` + function
	}
	fields = append(fields, `"function":{`+function+`}`)
	return `"tool_calls":[{` + strings.Join(fields, ",") + `}]`
}

func quote(s string) string { return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"` }

func TestCalls(t *testing.T) {
	call := func(index int, id, name, args string) llm.ToolFragment {
		return llm.ToolFragment{Index: index, ID: id, Name: name, Args: args}
	}
	tests := []struct {
		name  string
		parts []string
		want  []llm.ToolFragment
	}{
		{"one call in pieces", []string{part("0", "a", "ls", ""), part("0", "", "", `{"p":`), part("0", "", "", `1}`)},
			[]llm.ToolFragment{call(0, "a", "ls", `{"p":1}`)}},
		{"G1 interleaved by index", []string{part("0", "a", "add", `{"a":1`), part("1", "b", "mul", `{"a":3`), part("0", "", "", `,"b":2}`), part("1", "", "", `,"b":4}`)},
			[]llm.ToolFragment{call(0, "a", "add", `{"a":1,"b":2}`), call(1, "b", "mul", `{"a":3,"b":4}`)}},
		{"G1 interleaved without ids", []string{part("0", "", "add", `{"a":1`), part("1", "", "mul", `{"a":3`), part("0", "", "", `}`), part("1", "", "", `}`)},
			[]llm.ToolFragment{call(0, "", "add", `{"a":1}`), call(1, "", "mul", `{"a":3}`)}},
		{"G2 one index, new id", []string{part("0", "a", "find", `{"q":"x"}`), part("0", "b", "find", `{"q":"y"}`)},
			[]llm.ToolFragment{call(0, "a", "find", `{"q":"x"}`), call(1, "b", "find", `{"q":"y"}`)}},
		{"G2 one index, no ids", []string{part("0", "", "find", `{"q":"x"}`), part("0", "", "find", `{"q":"y"}`)},
			[]llm.ToolFragment{call(0, "", "find", `{"q":"x"}`), call(1, "", "find", `{"q":"y"}`)}},
		{"G2 one index, no ids, no second name", []string{part("0", "", "find", `{"q":"x"}`), part("0", "", "", ` {"q":"y"}`)},
			[]llm.ToolFragment{call(0, "", "find", `{"q":"x"}`), call(1, "", "find", ` {"q":"y"}`)}},
		{"G2 one index, new name", []string{part("0", "", "find", `{"q":`), part("0", "", "ls", `{}`)},
			[]llm.ToolFragment{call(0, "", "find", `{"q":`), call(1, "", "ls", `{}`)}},
		{"G2 one index, interleaved by id", []string{part("0", "a", "find", `{"q":`), part("0", "b", "find", `{"q":`), part("0", "a", "", `1}`), part("0", "b", "", `2}`)},
			[]llm.ToolFragment{call(0, "a", "find", `{"q":1}`), call(1, "b", "find", `{"q":2}`)}},
		{"G2 two calls in one fragment", []string{part("0", "a", "find", `{"q":"}{"}{"q":"y"}`)},
			[]llm.ToolFragment{call(0, "a", "find", `{"q":"}{"}`), call(1, "", "find", `{"q":"y"}`)}},
		{"G5 the name as id, one index each", []string{part("0", "ls", "ls", `{"p":1}`), part("1", "ls", "ls", `{"p":2}`)},
			[]llm.ToolFragment{call(0, "ls", "ls", `{"p":1}`), call(1, "ls", "ls", `{"p":2}`)}},
		{"G5 the name as id, one index", []string{part("0", "ls", "ls", `{"p":1}`), part("0", "ls", "ls", `{"p":2}`)},
			[]llm.ToolFragment{call(0, "ls", "ls", `{"p":1}`), call(1, "ls", "ls", `{"p":2}`)}},
		{"no index at all", []string{part("", "a", "ls", `{"p":`), part("", "", "", `1}`), part("", "b", "ls", `{}`)},
			[]llm.ToolFragment{call(0, "a", "ls", `{"p":1}`), call(1, "b", "ls", `{}`)}},
		{"id and name in every fragment", []string{part("0", "a", "ls", `{"p":`), part("0", "a", "ls", `1`), part("0", "a", "ls", `}`)},
			[]llm.ToolFragment{call(0, "a", "ls", `{"p":1}`)}},
		{"the id comes late", []string{part("0", "", "ls", `{"p":`), part("0", "a", "", `1}`)},
			[]llm.ToolFragment{call(0, "a", "ls", `{"p":1}`)}},
		{"the name comes late", []string{part("0", "a", "", ""), part("0", "a", "ls", `{}`)},
			[]llm.ToolFragment{call(0, "a", "ls", `{}`)}},
		{"no arguments", []string{part("0", "a", "now", ""), part("1", "b", "now", "")},
			[]llm.ToolFragment{call(0, "a", "now", ""), call(1, "b", "now", "")}},
		{"white space after complete arguments", []string{part("0", "a", "now", "{}"), part("0", "", "", " ")},
			[]llm.ToolFragment{call(0, "a", "now", "{} ")}},
		{"rubbish after complete arguments", []string{part("0", "a", "now", "{}"), part("0", "", "", "}")},
			[]llm.ToolFragment{call(0, "a", "now", "{}}")}},
		{"arguments as an object", []string{`"tool_calls":[{"index":0,"function":{"name":"ls","arguments":{"p":"a b"}}}]`},
			[]llm.ToolFragment{call(0, "", "ls", `{"p":"a b"}`)}},
		{"two calls in one event", []string{`"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":"{}"}},{"index":1,"id":"b","function":{"name":"ls","arguments":"{}"}}]`},
			[]llm.ToolFragment{call(0, "a", "ls", "{}"), call(1, "b", "ls", "{}")}},
		{"a pair cut between two fragments", []string{`"tool_calls":[{"index":0,"function":{"name":"say","arguments":"{\"a\":\"\ud83c"}}]`, `"tool_calls":[{"index":0,"function":{"arguments":"\udf0d\"}"}}]`},
			[]llm.ToolFragment{call(0, "", "say", `{"a":"🌍"}`)}},
		{"nulls", []string{`"tool_calls":[{"index":0,"id":null,"function":{"name":"ls","arguments":null}}]`, `"tool_calls":null`, `"tool_calls":[{"index":0,"function":null}]`},
			[]llm.ToolFragment{call(0, "", "ls", "")}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var list []string
			for _, p := range test.parts {
				list = append(list, delta(p))
			}
			list = append(list, `{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`, done)
			got := ask(t, newModel(t, respond(strings.NewReader(events(list...)))))
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			if diff := cmp.Diff(got.Tools, test.want); diff != "" {
				t.Errorf("calls (-got +want):\n%s", diff)
			}
		})
	}
}
