package oracle

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"verbatim/internal/llm"
	"verbatim/internal/provider/openai"
)

// answer is what both sides must agree on.
type answer struct {
	Text   string
	Tools  []tool
	Usage  usage
	Failed bool
}

type tool struct{ ID, Name, Args string }

type usage struct{ Input, Output, Reasoning, Cached int64 }

// played answers every request with the recorded bytes.
type played []byte

func (p played) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(string(p))),
	}, nil
}

func ours(t *testing.T, recorded []byte) answer {
	t.Helper()
	m, err := openai.New(openai.Config{BaseURL: "http://provider.invalid/v1", Transport: played(recorded)})
	if err != nil {
		t.Fatal(err)
	}
	var a answer
	for c, err := range m.Stream(t.Context(), llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.RoleUser, Text: "hi"}}}) {
		a.Text += c.Text
		switch {
		case err != nil:
			a.Failed = true
		case c.Usage != nil:
			a.Usage = usage(*c.Usage)
		case c.Tool != nil:
			a.addTool(*c.Tool)
		}
	}
	return a
}

func (a *answer) addTool(f llm.ToolFragment) {
	for len(a.Tools) <= f.Index {
		a.Tools = append(a.Tools, tool{})
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

func theirs(ctx context.Context, recorded []byte) (answer, error) {
	client := sdk.NewClient(
		option.WithBaseURL("http://provider.invalid/v1"), option.WithAPIKey("k"), option.WithMaxRetries(0),
		option.WithHTTPClient(&http.Client{Transport: played(recorded)}),
	)
	stream := client.Chat.Completions.NewStreaming(ctx, sdk.ChatCompletionNewParams{
		Model: "m", Messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("hi")},
	})
	defer stream.Close()
	var whole sdk.ChatCompletionAccumulator
	for stream.Next() {
		if !whole.AddChunk(stream.Current()) {
			return answer{}, errors.New("the SDK can't add a chunk up")
		}
	}
	a := answer{Failed: stream.Err() != nil}
	if len(whole.Choices) > 0 {
		message := whole.Choices[0].Message
		a.Text = message.Content + message.Refusal
		for _, c := range message.ToolCalls {
			a.Tools = append(a.Tools, tool{c.ID, c.Function.Name, c.Function.Arguments})
		}
	}
	u := whole.Usage
	a.Usage = usage{u.PromptTokens, u.CompletionTokens, u.CompletionTokensDetails.ReasoningTokens, u.PromptTokensDetails.CachedTokens}
	return a, nil
}

func TestTheSDKReadsTheSame(t *testing.T) {
	files, err := filepath.Glob("testdata/*.sse")
	if err != nil || len(files) < 12 {
		t.Fatalf("got %d recordings and %v, want at least 12", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sse"), func(t *testing.T) {
			recorded, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, err := theirs(t.Context(), recorded)
			if err != nil {
				t.Fatal(err)
			}
			got := ours(t, recorded)
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("ours and the SDK's (-ours +theirs):\n%s", diff)
			}
			if got.Text == "" && len(got.Tools) == 0 && !got.Failed {
				t.Error("the recording says nothing, so it compares nothing")
			}
		})
	}
}
