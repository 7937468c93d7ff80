package openai

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"verbatim/internal/event"
	"verbatim/internal/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answer is what a reader has of one round.
type answer struct {
	Text, Reasoning string
	Tools           []llm.ToolFragment
	Usage           *llm.Usage
	Finish          event.Finish
	Failure         *llm.Failure
	Err             error
}

func (a *answer) add(c llm.Chunk) {
	a.Text += c.Text
	a.Reasoning += c.Reasoning
	switch {
	case c.Tool != nil:
		a.addTool(*c.Tool)
	case c.Usage != nil:
		a.Usage = c.Usage
	case c.Finish != nil:
		a.Finish = c.Finish.Reason
	}
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

func ask(t *testing.T, m *Model) answer {
	t.Helper()
	a, _ := askChunks(t, m)
	return a
}

// askChunks also returns the chunks that came before an error.
func askChunks(t *testing.T, m *Model) (answer, []llm.Chunk) {
	t.Helper()
	var a answer
	var chunks []llm.Chunk
	ended := false
	for c, err := range m.Stream(t.Context(), llm.Request{Model: "x", Messages: []llm.Message{{Role: llm.RoleUser, Text: "hi"}}}) {
		if ended {
			t.Errorf("something follows the end: %+v %v", c, err)
		}
		ended = err != nil || c.Finish != nil
		if err != nil {
			a.Err = err
			errors.As(err, &a.Failure)
			continue
		}
		chunks = append(chunks, c)
		a.add(c)
	}
	if !ended {
		t.Error("the stream stops without an end")
	}
	return a, chunks
}

// roundTrip is a provider in a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// respond is a provider that answers with these bytes.
func respond(body io.Reader) roundTrip {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body)}, nil
	}
}

func newModel(t *testing.T, transport http.RoundTripper) *Model {
	t.Helper()
	m, err := New(Config{BaseURL: "http://provider.invalid/v1", Key: "sk-secret", Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// events frames JSON texts as a stream.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

func delta(fields string) string { return `{"choices":[{"index":0,"delta":{` + fields + `}}]}` }

const (
	stop = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	done = "[DONE]"
)
