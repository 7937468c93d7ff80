package e2e

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// spoken is a round with a bit of everything that a cut could hurt: both
// spellings of reasoning, think tags over chunks, characters of several bytes,
// an escaped pair in two chunks, comments, CRLF, a call in fragments, usage.
var spoken = []byte(strings.Join([]string{
	": hello\n\n",
	`data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n",
	`data: {"choices":[{"index":0,"delta":{"reasoning_content":"Hm, 你"}}]}` + "\n\n",
	`data: {"choices":[{"index":0,"delta":{"content":"  a < b <thi"}}]}` + "\r\n\r\n",
	`data: {"choices":[{"index":0,"delta":{"content":"nk>secret</TH"}}]}` + "\n\n",
	`data: {"choices":[{"index":0,"delta":{"content":"INK>seen \ud83c"}}]}` + "\n\n",
	`data: {"choices":[{"index":0,"delta":{"content":"\udf0d你好\n"}}]}` + "\n\n",
	`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"nope","arguments":"{\"k\":"}}]}}]}` + "\n\n",
	`data:{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"é\"}"}}]},"finish_reason":"tool_calls"}]}` + "\n\n",
	`data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":5}}` + "\n\n",
	done,
}, ""))

const (
	spokenText     = "  a < b seen 🌍你好\n"
	spokenThoughts = "Hm, 你secret"
)

// TestAnyPartition (A7, F1) sends what the model says in two pieces, cut at
// each byte, and once byte by byte: the log holds the same events each time.
func TestAnyPartition(t *testing.T) {
	u := newUpstream(t, func(a ask) []step {
		if a.Round > 0 {
			return []step{say("Done."), finish("stop")}
		}
		return partition(a.Prompt)
	})
	p := startProduct(t, u)
	d := p.door()
	names := []string{"whole", "bytes"}
	for cut := 1; cut < len(spoken); cut++ {
		names = append(names, "cut-"+strconv.Itoa(cut))
	}
	sayAll(t, d, names)
	if code := p.stop(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	var chats []id.Conversation
	for _, name := range names {
		chats = append(chats, id.Conversation(name))
	}
	stored := readStored(t, p.dir, chats...)
	want := timeless(t, stored["whole"])
	checkSpoken(t, stored["whole"])
	for _, c := range chats {
		checkRecords(t, c, stored[c])
		if diff := cmp.Diff(want, timeless(t, stored[c])); diff != "" {
			t.Fatalf("%s: events of the whole (-) and of the pieces (+):\n%s", c, diff)
		}
	}
}

// partition is the answer to a prompt that names how it is to be cut.
func partition(prompt string) []step {
	if prompt == "whole" {
		return []step{raw(spoken)}
	}
	if prompt == "bytes" {
		var steps []step
		for i := range spoken {
			steps = append(steps, raw(spoken[i:i+1]))
		}
		return steps
	}
	cut, err := strconv.Atoi(strings.TrimPrefix(prompt, "cut-"))
	if err != nil {
		return []step{drop()}
	}
	return []step{raw(spoken[:cut]), raw(spoken[cut:])}
}

// sayAll sends every prompt in a conversation of its own, a few at a time.
func sayAll(t *testing.T, d *door, prompts []string) {
	t.Helper()
	next := make(chan string)
	errs := make(chan error, len(prompts))
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for name := range next {
				errs <- sayOne(d, name)
			}
		})
	}
	for _, name := range prompts {
		next <- name
	}
	close(next)
	workers.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
}

func sayOne(d *door, name string) error {
	s, err := d.chat(prompt{Prompt: name, Chat: name, Run: name}, "")
	if err != nil {
		return err
	}
	defer s.Close()
	got := &seen{}
	if err := got.readAll(s); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if got.terminal == nil || got.terminal.Name != "end" || got.text != spokenText+"Done." {
		return fmt.Errorf("%s: %q, %+v", name, got.text, got.terminal)
	}
	return nil
}

// checkSpoken looks at the one that all are compared with.
func checkSpoken(t *testing.T, records []event.Record) {
	t.Helper()
	var text, thoughts string
	for _, r := range records {
		e, err := r.Event()
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case event.Delta:
			text += e.Text
		case event.Reasoning:
			thoughts += e.Text
		case event.ToolCall:
			if string(e.Args) != `{"k":"é"}` || e.Name != "nope" {
				t.Errorf("call of %s with %s", e.Name, e.Args)
			}
		}
	}
	if text != spokenText+"Done." || thoughts != spokenThoughts {
		t.Errorf("text %q, reasoning %q", text, thoughts)
	}
}

// timeless writes a run's events without what differs from run to run: ids
// that are minted, times, the hash of the request.
func timeless(t *testing.T, records []event.Record) []string {
	t.Helper()
	calls := map[any]string{}
	var out []string
	for _, r := range records {
		if r.Run == "" {
			continue
		}
		var body map[string]any
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		if c, ok := body["call_id"]; ok {
			if calls[c] == "" {
				calls[c] = name("call-", len(calls)+1)
			}
			body["call_id"] = calls[c]
		}
		for _, member := range []string{"seconds", "ttft", "request"} {
			delete(body, member)
		}
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(r.Kind)+" "+string(b))
	}
	return out
}
