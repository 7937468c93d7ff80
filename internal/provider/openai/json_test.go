package openai

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/llm"
)

// plainFrame is what the reference reads of an event.
type plainFrame struct {
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			Content   string `json:"content"`
			Reasoning string `json:"reasoning_content"`
			Tools     []struct {
				Index    int    `json:"index"`
				ID       string `json:"id"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"delta"`
		Finish string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Input  int64 `json:"prompt_tokens"`
		Output int64 `json:"completion_tokens"`
	} `json:"usage"`
}

// FuzzFrame compares our reading of an event with encoding/json's, where that
// can read it, and only asks for an end where it can't.
func FuzzFrame(f *testing.F) {
	for _, test := range streamTests {
		for line := range strings.Lines(test.body) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				f.Add([]byte(strings.TrimSuffix(data, "\n")))
			}
		}
	}
	f.Add([]byte(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":3,"id":"a","function":{"name":"ls","arguments":"{\"p\":1}"}}]}}],"usage":{"prompt_tokens":12,"completion_tokens":-3}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var fr frame
		fr.parse(data, false, false)
		var want plainFrame
		isObject := bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) // null unmarshals into anything
		if isObject && unambiguous(data) && json.Unmarshal(data, &want) == nil {
			compareFrames(t, &fr, want)
		}
	})
}

// unambiguous reports whether data is an object that both readers take alike:
// keys as we write them, once each, and no repeated first choice.
func unambiguous(data []byte) bool {
	if bytes.Contains(data, []byte(`\u`)) || !utf8.Valid(data) || !json.Valid(data) || bytes.Contains(data, []byte("function_call")) || bytes.Count(data, []byte(`"index"`)) > 2 {
		return false
	}
	for _, key := range []string{"choices", "index", "delta", "content", "reasoning_content", "tool_calls", "id", "function", "name", "arguments", "finish_reason", "usage", "prompt_tokens", "completion_tokens"} {
		quoted := `"` + key + `"`
		if bytes.Count(bytes.ToLower(data), []byte(quoted)) > 1 && key != "index" || bytes.Count(bytes.ToLower(data), []byte(quoted)) != bytes.Count(data, []byte(quoted)) {
			return false
		}
	}
	return true
}

func compareFrames(t *testing.T, got *frame, want plainFrame) {
	t.Helper()
	if got.bad {
		t.Fatal("what encoding/json reads is taken for no JSON")
	}
	if want.Usage != nil && got.usage != nil && (got.usage.Input != want.Usage.Input || got.usage.Output != want.Usage.Output) {
		t.Errorf("got usage %+v, want %+v", got.usage, want.Usage)
	}
	if len(want.Choices) != 1 || want.Choices[0].Index != 0 {
		return
	}
	c := want.Choices[0]
	if string(got.content) != c.Delta.Content || string(got.reasoning[0]) != c.Delta.Reasoning || string(got.finish) != c.Finish {
		t.Errorf("got content %q, reasoning %q, finish %q, want %+v", got.content, got.reasoning[0], got.finish, c)
	}
	if len(c.Delta.Tools) != 1 || len(got.tools) != 1 {
		if len(c.Delta.Tools) != len(got.tools) {
			t.Errorf("got %d tools, want %d", len(got.tools), len(c.Delta.Tools))
		}
		return
	}
	tool, wantTool := got.tools[0], c.Delta.Tools[0]
	if string(tool.id) != wantTool.ID || string(tool.name) != wantTool.Function.Name || string(tool.args) != wantTool.Function.Arguments {
		t.Errorf("got tool %+v, want %+v", tool, wantTool)
	}
}

// A text written as UTF-16 escapes and cut anywhere between two of them, or as
// bytes and cut anywhere, is read as it was.
func TestJoiner(t *testing.T) {
	const text = "a é 你好 🌍👩‍💻 \U0010ffff\ufffd z"
	var escaped []string
	for _, unit := range utf16Of(text) {
		escaped = append(escaped, string(appendUnit(nil, rune(unit))))
	}
	random := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		var j joiner
		var got strings.Builder
		var piece []byte
		for _, unit := range escaped {
			piece = append(piece, unit...)
			if random.IntN(2) == 0 {
				got.WriteString(j.add(piece))
				piece = piece[:0]
			}
		}
		got.WriteString(j.add(piece) + j.end())
		if got.String() != text {
			t.Fatalf("escapes: got %q, want %q", got.String(), text)
		}
	}
	for i := range len(text) {
		var j joiner
		if got := j.add([]byte(text[:i])) + j.add([]byte(text[i:])) + j.end(); got != text {
			t.Errorf("bytes cut at %d: got %q, want %q", i, got, text)
		}
	}
}

// FuzzJoiner: whatever comes, the text is valid UTF-8, independent of the cut,
// and untouched where it was valid.
func FuzzJoiner(f *testing.F) {
	f.Add([]byte("a\xed\xa0\xbc"), []byte("\xed\xbc\x8db"))
	f.Add([]byte("\xe4\xbd"), []byte("\xa0"))
	f.Add([]byte("\xed\xa0"), []byte("\xbc\xff"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		whole := append(append([]byte(nil), a...), b...)
		var j joiner
		cut := j.add(a) + j.add(b) + j.end()
		if !utf8.ValidString(cut) {
			t.Errorf("got %q, which is no UTF-8", cut)
		}
		if utf8.Valid(whole) && cut != string(whole) {
			t.Errorf("got %q, want %q", cut, whole)
		}
		if utf8.Valid(a) && utf8.Valid(b) && plain(whole) != cut {
			t.Errorf("got %q cut and %q whole", cut, plain(whole))
		}
	})
}

func utf16Of(s string) []uint16 {
	var units []uint16
	for _, r := range s {
		if r < 0x10000 {
			units = append(units, uint16(r))
			continue
		}
		r -= 0x10000
		units = append(units, uint16(0xd800+r>>10), uint16(0xdc00+r&0x3ff))
	}
	return units
}

const tokenEvent = `{"id":"chatcmpl-9aBcDeFgHiJkLmNoPqRsTuVw","object":"chat.completion.chunk","created":1767323045,"model":"gpt-5-mini","service_tier":"default","system_fingerprint":"fp_0123456789","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}],"usage":null}`

func BenchmarkDecode(b *testing.B) {
	b.Run("ours", func(b *testing.B) {
		var d decoder
		var chunks []llm.Chunk
		data := []byte(tokenEvent)
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			chunks = d.add(chunks[:0], data, nil, false)
		}
		if diff := cmp.Diff(chunks, []llm.Chunk{{Text: " token"}}); diff != "" {
			b.Errorf("chunks (-got +want):\n%s", diff)
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		data := []byte(tokenEvent)
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			var f plainFrame
			if err := json.Unmarshal(data, &f); err != nil {
				b.Fatal(err)
			}
		}
	})
}
