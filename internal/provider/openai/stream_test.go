package openai

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
	"verbatim/internal/llm"
)

const brokenMessage = "the connection to the provider ended before the answer was complete"

var streamTests = []struct {
	name, body string
	want       answer
	failure    string
}{
	{"text", events(delta(`"role":"assistant","content":""`), delta(`"content":" Hi"`), delta(`"content":"\n\n there "`), stop, done),
		answer{Text: " Hi\n\n there ", Finish: event.FinishStop}, ""},
	{"D8 characters of every length", events(delta(`"content":"é你好🌍"`), stop, done),
		answer{Text: "é你好🌍", Finish: event.FinishStop}, ""},
	{"escapes", events(delta(`"content":"a\"\\\/\b\f\n\r\t\u0000\u00e9\u4f60\ud83c\udf0d"`), stop, done),
		answer{Text: "a\"\\/\b\f\n\r\t\x00é你🌍", Finish: event.FinishStop}, ""},
	{"a pair cut between two events", events(delta(`"content":"a\ud83c"`), delta(`"content":""`), delta(`"content":"\udf0db"`), stop, done),
		answer{Text: "a🌍b", Finish: event.FinishStop}, ""},
	{"half a pair in the middle", events(delta(`"content":"a\ud83c"`), delta(`"content":"b\udf0d"`), stop, done),
		answer{Text: "a\ufffdb\ufffd", Finish: event.FinishStop}, ""},
	{"half a pair at the end", events(delta(`"content":"a\ud83c"`), stop, done),
		answer{Text: "a\ufffd", Finish: event.FinishStop}, ""},
	{"half a pair in reasoning, text between", events(delta(`"reasoning":"\ud83c"`), delta(`"content":"t"`), delta(`"reasoning":"\udf0d"`), stop, done),
		answer{Reasoning: "🌍", Text: "t", Finish: event.FinishStop}, ""},
	{"invalid UTF-8", events(delta("\"content\":\"a\xffb\xe4\xbdc\""), stop, done),
		answer{Text: "a\ufffdb\ufffd\ufffdc", Finish: event.FinishStop}, ""},
	{"a character cut between two events", events(delta("\"content\":\"a\xe4\xbd\""), delta("\"content\":\"\xa0b\""), stop, done),
		answer{Text: "a你b", Finish: event.FinishStop}, ""},
	{"reasoning_content", events(delta(`"reasoning_content":"so "`), delta(`"reasoning_content":"it is","content":null`), delta(`"content":"Yes"`), stop, done),
		answer{Reasoning: "so it is", Text: "Yes", Finish: event.FinishStop}, ""},
	{"reasoning", events(delta(`"reasoning":"so"`), delta(`"content":"Yes"`), stop, done),
		answer{Reasoning: "so", Text: "Yes", Finish: event.FinishStop}, ""},
	{"both spellings with one text", events(delta(`"reasoning":"so","reasoning_content":"so","reasoning_details":[{"type":"reasoning.text","text":"so"}]`), stop, done),
		answer{Reasoning: "so", Finish: event.FinishStop}, ""},
	{"details only", events(delta(`"reasoning":null,"reasoning_details":[{"type":"reasoning.text","text":"so"},{"type":"reasoning.encrypted","data":"x"},{"text":" it"}]`), stop, done),
		answer{Reasoning: "so it", Finish: event.FinishStop}, ""},
	{"F1 think tags", events(delta(`"content":"a<thi"`), delta(`"content":"nk>b</th"`), delta(`"content":"ink>c"`), stop, done),
		answer{Text: "ac", Reasoning: "b", Finish: event.FinishStop}, ""},
	{"F2 a beginning of a tag at the end", events(delta(`"content":"x <th"`), stop, done),
		answer{Text: "x <th", Finish: event.FinishStop}, ""},
	{"F2 the same when it breaks off", events(delta(`"content":"x <th"`)), answer{Text: "x <th"}, brokenMessage},
	{"F3 never closed", events(delta(`"content":"<think>Hello"`), stop, done),
		answer{Reasoning: "Hello", Finish: event.FinishStop}, ""},
	{"parts", events(delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"so"}]},{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"x"}},{"type":"text","text":"b"}]`), stop, done),
		answer{Text: "ab", Reasoning: "so", Finish: event.FinishStop}, ""},
	{"refusal", events(delta(`"content":null,"refusal":"I can't."`), stop, done), answer{Text: "I can't.", Finish: event.FinishStop}, ""},
	{"legacy call", events(delta(`"function_call":{"name":"ls","arguments":"{\"a\""}`), delta(`"function_call":{"arguments":":1}"}`), `{"choices":[{"delta":{},"finish_reason":"function_call"}]}`, done),
		answer{Tools: []llm.ToolFragment{{Name: "ls", Args: `{"a":1}`}}, Finish: event.FinishStop}, ""},
	{"length", events(delta(`"content":"a"`), `{"choices":[{"delta":{},"finish_reason":"length"}]}`, done), answer{Text: "a", Finish: event.FinishLength}, ""},
	{"content filter", events(delta(`"content":"a"`), `{"choices":[{"delta":{},"finish_reason":"content_filter"}]}`, done), answer{Text: "a", Finish: event.FinishContentFilter}, ""},
	{"unknown reason", events(delta(`"content":"a"`), `{"choices":[{"delta":{},"finish_reason":"eos"}]}`, done), answer{Text: "a", Finish: event.FinishStop}, ""},
	{"only the end mark", events(delta(`"content":"a"`), done), answer{Text: "a", Finish: event.FinishStop}, ""},
	{"only a finish", events(delta(`"content":"a"`), stop), answer{Text: "a", Finish: event.FinishStop}, ""},
	{"finish with the last text", events(`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`, done), answer{Text: "a", Finish: event.FinishStop}, ""},
	{"text after the finish", events(delta(`"content":"a"`), stop, delta(`"content":"b"`), done), answer{Text: "ab", Finish: event.FinishStop}, ""},
	{"neither end nor finish", events(delta(`"content":"a"`)), answer{Text: "a"}, brokenMessage},
	{"cut in the middle of an event", events(delta(`"content":"a"`)) + `data: {"choices":[{"del`, answer{Text: "a"}, brokenMessage},
	{"cut before the last blank line", events(delta(`"content":"a"`)) + "data: " + done, answer{Text: "a", Finish: event.FinishStop}, ""},
	{"nothing at all", "", answer{}, brokenMessage},
	{"usage", events(delta(`"content":"a"`), stop, `{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":2}}}`, done),
		answer{Text: "a", Usage: &llm.Usage{Input: 7, Output: 5, Cached: 3, Reasoning: 2}, Finish: event.FinishStop}, ""},
	{"usage in every event", events(`{"usage":{"prompt_tokens":7,"completion_tokens":1},"choices":[{"delta":{"content":"a"}}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2}}`, done),
		answer{Text: "a", Usage: &llm.Usage{Input: 7, Output: 2}, Finish: event.FinishStop}, ""},
	{"usage as null and as floats", events(`{"choices":[{"delta":{"content":"a"}}],"usage":null}`, stop, `{"choices":[],"usage":{"prompt_tokens":7.0,"completion_tokens":5e0,"prompt_cache_hit_tokens":4,"prompt_tokens_details":null}}`),
		answer{Text: "a", Usage: &llm.Usage{Input: 7, Output: 5, Cached: 4}, Finish: event.FinishStop}, ""},
	{"only the first choice", events(`{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"a"}},{"delta":{"content":"no"},"index":2}]}`, stop, done),
		answer{Text: "a", Finish: event.FinishStop}, ""},
	{"unknown fields", events(`{"x":[{"y":"}]"},null,true,-1.5e3],"choices":[{"logprobs":{"content":[{"token":"a"}]},"delta":{"z":{},"content":"a"}}]}`, stop, done),
		answer{Text: "a", Finish: event.FinishStop}, ""},
	{"comments, names and CR LF", ": hi\r\n\r\nevent: message\r\nid: 1\r\ndata: " + delta(`"content":"a"`) + "\r\n\r\ndata: " + stop + "\r\n\r\n", answer{Text: "a", Finish: event.FinishStop}, ""},
	{"one event on several lines", "data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n", answer{Text: "a", Finish: event.FinishStop}, ""},
	{"an error inside", events(delta(`"content":"a"`), `{"error":{"message":"over\nloaded","type":"server_error"}}`),
		answer{Text: "a"}, "the provider had an error of its own: over loaded"},
	{"an error that is a text", events(`{"error":"no such model"}`), answer{}, "the provider refused the request: no such model"},
	{"an error with its own status", events(`{"error":{"message":"slow","code":429}}`), answer{}, "the provider takes no more requests just now (status 429): slow"},
	{"an error without a frame", events(`{"object":"error","message":"bad","type":"x","code":400}`), answer{}, "the provider refused the request (status 400): bad"},
	{"an event named error", "event: error\ndata: {\"message\":\"bad\",\"type\":\"overloaded_error\"}\n\n", answer{}, "the provider had an error of its own: bad"},
	{"an error as finish", events(delta(`"content":"a"`), `{"choices":[{"delta":{},"finish_reason":"error"}]}`), answer{Text: "a"}, "the provider refused the request"},
	{"an error of a choice", events(`{"choices":[{"delta":{"content":"a"},"finish_reason":"error","error":{"message":"bad","code":502}}]}`), answer{Text: "a"}, "the provider could not be reached through its gateway (status 502): bad"},
	{"no error", events(`{"error":null,"choices":[{"delta":{"content":"a"}}]}`, stop), answer{Text: "a", Finish: event.FinishStop}, ""},
	{"not JSON", events(delta(`"content":"a"`), "hello"), answer{Text: "a"}, "the provider sent something that is not JSON"},
	{"a whole answer", ` {"choices":[{"index":0,"message":{"role":"assistant","content":"a<think>b</think>","reasoning_content":"c","tool_calls":[{"id":"x","type":"function","function":{"name":"ls","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
		answer{Text: "a", Reasoning: "cb", Tools: []llm.ToolFragment{{ID: "x", Name: "ls", Args: "{}"}}, Usage: &llm.Usage{Input: 1, Output: 2}, Finish: event.FinishStop}, ""},
	{"half a whole answer", `{"choices":[{"message":{"content":"a`, answer{}, "the provider sent something that is not JSON"},
}

func TestStream(t *testing.T) {
	for _, test := range streamTests {
		t.Run(test.name, func(t *testing.T) {
			whole, chunks := askChunks(t, newModel(t, respond(strings.NewReader(test.body))))
			check(t, "whole", whole, test.want, test.failure)
			for at := range len(test.body) {
				body := io.MultiReader(strings.NewReader(test.body[:at]), strings.NewReader(test.body[at:]))
				compare(t, at, body, whole, chunks)
			}
			compare(t, "byte by byte", iotest.OneByteReader(strings.NewReader(test.body)), whole, chunks)
			for seed := range uint64(10) {
				compare(t, seed, &randomReader{strings.NewReader(test.body), rand.New(rand.NewPCG(seed, 2))}, whole, chunks)
			}
		})
	}
}

// compare reads the same bytes cut otherwise: not only the text, each chunk is
// the same.
func compare(t *testing.T, cut any, body io.Reader, want answer, wantChunks []llm.Chunk) {
	t.Helper()
	got, chunks := askChunks(t, newModel(t, respond(body)))
	if diff := cmp.Diff(chunks, wantChunks); diff != "" {
		t.Fatalf("cut %v (-got +want):\n%s", cut, diff)
	}
	if got, want := errorText(got.Err), errorText(want.Err); got != want {
		t.Fatalf("cut %v: got error %q, want %q", cut, got, want)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func check(t *testing.T, name string, got, want answer, failure string) {
	t.Helper()
	message := ""
	if got.Failure != nil {
		message = got.Failure.Message
	} else if got.Err != nil {
		t.Errorf("%s: got error %v, want a failure or none", name, got.Err)
	}
	if message != failure {
		t.Errorf("%s: got failure %q, want %q", name, message, failure)
	}
	got.Failure, got.Err = nil, nil
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("%s (-got +want):\n%s", name, diff)
	}
}

type randomReader struct {
	r      io.Reader
	random *rand.Rand
}

func (r *randomReader) Read(p []byte) (int, error) {
	return r.r.Read(p[:min(len(p), 1+r.random.IntN(20))])
}

// A7: a line of 2 MiB is an event as any other; one over the limit ends the
// answer, and what came before stays.
func TestA7LongLines(t *testing.T) {
	long := strings.Repeat("x", 2<<20)
	got := ask(t, newModel(t, respond(strings.NewReader(events(delta(`"content":"`+long+`"`), delta(`"content":"ok"`), stop, done)))))
	if got.Text != long+"ok" || got.Finish != event.FinishStop {
		t.Errorf("got %d bytes and finish %q, want all and stop", len(got.Text), got.Finish)
	}
	endless := io.MultiReader(strings.NewReader(events(delta(`"content":"ok"`))+"data: "), zeros{})
	got = ask(t, newModel(t, respond(endless)))
	if got.Text != "ok" || got.Failure == nil || got.Failure.Retryable {
		t.Errorf("got text %q and %v, want ok and a failure that is final", got.Text, got.Err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestAResetAfterTheFinishLosesNothing(t *testing.T) {
	reset := iotest.ErrReader(errors.New("connection reset"))
	got := ask(t, newModel(t, respond(io.MultiReader(strings.NewReader(events(delta(`"content":"a"`), stop)), reset))))
	check(t, "after the finish", got, answer{Text: "a", Finish: event.FinishStop}, "")

	reset = iotest.ErrReader(errors.New("connection reset"))
	got = ask(t, newModel(t, respond(io.MultiReader(strings.NewReader(events(delta(`"content":"a"`))), reset))))
	if got.Text != "a" || got.Failure == nil || got.Failure.Code != event.CodeNetwork || !got.Failure.Retryable {
		t.Errorf("got text %q and %+v, want a and a network failure", got.Text, got.Failure)
	}
}
