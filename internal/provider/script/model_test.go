package script

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"verbatim/internal/event"
	"verbatim/internal/llm"
	"verbatim/internal/provider/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answer is what a reader has of one round.
type answer struct {
	Text, Reasoning string
	Tools           []llm.ToolFragment
	Usage           *llm.Usage
	Finish          event.Finish
	Failure         string
	Code            event.ErrorCode
	Retryable       bool
}

func read(t *testing.T, m llm.Model, messages ...llm.Message) answer {
	t.Helper()
	var a answer
	for c, err := range m.Stream(t.Context(), llm.Request{Model: "x", Messages: messages}) {
		var f *llm.Failure
		switch {
		case errors.As(err, &f):
			a.Failure, a.Code, a.Retryable = f.Message, f.Code, f.Retryable
		case err != nil:
			a.Failure = err.Error()
		case c.Tool != nil:
			a.addTool(*c.Tool)
		case c.Usage != nil:
			a.Usage = c.Usage
		case c.Finish != nil:
			a.Finish = c.Finish.Reason
		}
		a.Text += c.Text
		a.Reasoning += c.Reasoning
	}
	return a
}

func (a *answer) addTool(f llm.ToolFragment) {
	for len(a.Tools) <= f.Index {
		a.Tools = append(a.Tools, llm.ToolFragment{Index: len(a.Tools)})
	}
	have := &a.Tools[f.Index]
	if f.ID != "" {
		have.ID = f.ID
	}
	if f.Name != "" {
		have.Name = f.Name
	}
	have.Args += f.Args
}

func user(text string) llm.Message { return llm.Message{Role: llm.RoleUser, Text: text} }

func play(t *testing.T, text string) *Model {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func TestPlay(t *testing.T) {
	const text = `
: what a script can say
:when starts hello
:reasoning
Let me think.

:text
# A heading

  indented   words
::directive-like line

last
:usage input=7 output=5 reasoning=2 cached=1

:when equals exact
:text " \n tabs\t"
:text "<think>thoughts</think> and text 🌍"
:finish length

:when contains tool
:tool list_directory {"path": "."}
:tool id=x index=0 read_file {"path": "a b"}
:round
:text "There are two files."

:when equals broken
:text "Half a sen"
:drop

:when equals unfinished
:text "Half a sen"
:finish none

:when equals inside
:text "Half"
:error 429 type=rate_limit_error slow down

:when equals retry
:error 503 retry_after=1
:again
:text "now"

:when equals bytes
:raw "data: {\"choices\":[{\"delta\":{\"content\":\"r\xc3\xa4w\"},\"finish_reason\":\"stop\"}]}\n\n"
:finish none
`
	call := llm.Call{ID: "c", Name: "list_directory", Args: "{}"}
	tests := []struct {
		name     string
		messages []llm.Message
		want     answer
	}{
		{"blocks", []llm.Message{user(" Hello you")}, answer{
			Reasoning: "Let me think.\n",
			Text:      "# A heading\n\n  indented   words\n:directive-like line\n\nlast",
			Usage:     &llm.Usage{Input: 7, Output: 5, Reasoning: 2, Cached: 1}, Finish: event.FinishStop,
		}},
		{"exact pieces", []llm.Message{user("exact")}, answer{
			Reasoning: "thoughts", Text: " \n tabs\t and text 🌍",
			Usage: &llm.Usage{Input: 1, Output: 2}, Finish: event.FinishLength,
		}},
		{"first round", []llm.Message{user("use a tool")}, answer{
			Tools: []llm.ToolFragment{
				{Index: 0, ID: "call_0", Name: "list_directory", Args: `{"path": "."}`},
				{Index: 1, ID: "x", Name: "read_file", Args: `{"path": "a b"}`},
			},
			Usage: &llm.Usage{Input: 3, Output: 2}, Finish: event.FinishStop,
		}},
		{"second round", []llm.Message{
			user("use a tool"), {Role: llm.RoleAssistant, Calls: []llm.Call{call}}, {Role: llm.RoleTool, Text: "a", Result: &call},
		}, answer{Text: "There are two files.", Usage: &llm.Usage{Input: 3, Output: 1}, Finish: event.FinishStop}},
		{"dropped", []llm.Message{user("broken")}, answer{
			Text: "Half a sen", Failure: "the connection to the provider ended before the answer was complete", Code: event.CodeNetwork, Retryable: true,
		}},
		{"ended without a word", []llm.Message{user("unfinished")}, answer{
			Text: "Half a sen", Failure: "the connection to the provider ended before the answer was complete", Code: event.CodeNetwork, Retryable: true,
		}},
		{"an error inside", []llm.Message{user("inside")}, answer{
			Text: "Half", Failure: "the provider takes no more requests just now (status 429): slow down", Retryable: true,
		}},
		{"first try", []llm.Message{user("retry")}, answer{
			Failure: "the provider had an error of its own (status 503): the script says so", Code: event.CodeOverloaded, Retryable: true,
		}},
		{"second try", []llm.Message{user("retry")}, answer{Text: "now", Usage: &llm.Usage{Input: 1, Output: 1}, Finish: event.FinishStop}},
		{"raw bytes", []llm.Message{user("bytes")}, answer{Text: "räw", Finish: event.FinishStop}},
		{"no section", []llm.Message{user("else")}, answer{
			Failure: "the provider refused the request (status 400): no section of the script takes this message",
		}},
	}
	direct := play(t, text)
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(Handler(s))
	defer server.Close()
	served, err := openai.New(openai.Config{BaseURL: server.URL + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	defer served.Close()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(read(t, direct, test.messages...), test.want); diff != "" {
				t.Errorf("played here (-got +want):\n%s", diff)
			}
			if diff := cmp.Diff(read(t, served, test.messages...), test.want); diff != "" {
				t.Errorf("served (-got +want):\n%s", diff)
			}
		})
	}
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := play(t, ":else\n:pace 40ms\n:text\none two three\n:sleep 1s\n:pace 0\n:text \"at once\"\n")
		begun := time.Now()
		var at []time.Duration
		for c := range m.Stream(t.Context(), llm.Request{Messages: []llm.Message{user("go")}}) {
			if c.Text != "" {
				at = append(at, time.Since(begun))
			}
		}
		want := []time.Duration{40 * time.Millisecond, 80 * time.Millisecond, 120 * time.Millisecond, 1120 * time.Millisecond}
		if diff := cmp.Diff(at, want); diff != "" {
			t.Errorf("times of the pieces (-got +want):\n%s", diff)
		}
		_ = m.Close()
	})
}

func TestStopsWithItsReader(t *testing.T) {
	for _, body := range []string{":text \"a\"\n:hang", ":text \"a\"\n:sleep 1h", ":pace 1h\n:text \"a\"\n:text \"b\"", ":repeat 10000000 \"a\""} {
		t.Run(body, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := play(t, ":else\n"+body)
				for range m.Stream(t.Context(), llm.Request{Messages: []llm.Message{user("go")}}) {
					break
				}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				n := 0
				for _, err := range m.Stream(ctx, llm.Request{Messages: []llm.Message{user("go")}}) {
					if n++; n > 100 {
						break
					}
					if err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("got %v, want the context's error", err)
					}
				}
				_ = m.Close() // returns: both streams have ended
			})
		})
	}
}

func TestRepeat(t *testing.T) {
	m := play(t, ":when starts repeat\n:repeat prompt \"token \"\n:else\n:repeat 3 \"line {n}\\n\"\n")
	if got, want := read(t, m, user("repeat 1000 tokens")).Text, strings.Repeat("token ", 1000); got != want {
		t.Errorf("got %d bytes, want %d", len(got), len(want))
	}
	if got, want := read(t, m, user("other")).Text, "line 1\nline 2\nline 3\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
