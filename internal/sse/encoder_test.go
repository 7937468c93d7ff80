package sse_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
	"verbatim/internal/golden"
	"verbatim/internal/sse"
)

func TestResetIsSaidByTheStart(t *testing.T) {
	e := sse.NewEncoder(epoch, "r_1", nil)
	e.Reset = true
	got := string(encode(t, e, nil, record(t, 3, event.Start{Model: "test/model", Version: 2, RegenerateOf: "m_1"})))
	want := "event: start\ndata: {\"msg_id\":\"m_2\",\"run_id\":\"r_1\",\"conversation_id\":\"c\",\"model\":\"test/model\",\"version\":2,\"regenerate_of\":\"m_1\",\"reset\":true,\"seq\":3}\nid: e1-3\n\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if rest := string(encode(t, e, nil, record(t, 4, event.Delta{Segment: "s1", Text: "x"}))); strings.Contains(rest, "reset") {
		t.Errorf("a later frame says it too: %s", rest)
	}
}

func TestRecordsWithoutAFrame(t *testing.T) {
	other := record(t, 4, event.Delta{Segment: "s1", Text: "x"})
	other.Run = "r_2"
	fact := record(t, 5, event.Title{Title: "x"})
	fact.Run, fact.Message = "", ""
	for name, r := range map[string]event.Record{
		"another run":        other,
		"a fact":             fact,
		"a retry":            record(t, 2, event.Start{Retry: true}),
		"segment end":        record(t, 3, event.SegmentEnd{Segment: "s1"}),
		"progress":           record(t, 3, event.ToolProgress{Call: "call_1"}),
		"a decision":         record(t, 3, event.ApprovalResolved{Approval: "a_1"}),
		"an unknown kind":    record(t, 3, event.Unknown{Name: "hologram", Raw: json.RawMessage(`{}`)}),
		"a tombstone":        record(t, 3, event.Erased{Was: "delta", Bytes: 3}),
		"blank reasoning":    record(t, 3, event.Reasoning{Segment: "s1", Text: "\n\t\u00a0\u3000"}),
		"a wordless thought": record(t, 3, event.Reasoning{Segment: "s1", Text: ""}),
	} {
		t.Run(name, func(t *testing.T) {
			e := sse.NewEncoder(epoch, "r_1", nil)
			if got := encode(t, e, []byte("kept"), r); string(got) != "kept" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestDamagedRecordIsAnErrorAndLeavesTheBytes(t *testing.T) {
	e := sse.NewEncoder(epoch, "r_1", nil)
	b, terminal, err := e.Encode([]byte("kept"), event.Record{Conversation: "c", Seq: 9, Run: "r_1", Kind: "end", Body: json.RawMessage(`{"chars":"x"}`)})
	if string(b) != "kept" || terminal || err == nil || !strings.Contains(err.Error(), "record 9 of c") {
		t.Errorf("got %q, %t, %v", b, terminal, err)
	}
}

func TestEndOfARunWhoseRowsAreGone(t *testing.T) {
	got := string(encode(t, sse.NewEncoder(epoch, "r_1", nil), nil, record(t, 9, event.End{Finish: event.FinishStop})))
	if !strings.Contains(got, `"user_index":null,"assistant_index":null,"versions":1,"active":0,`) {
		t.Errorf("got %s", got)
	}
}

func TestArgumentsOfManyLinesStayOnOne(t *testing.T) {
	for name, tt := range map[string]struct{ args, want string }{
		"spaced":  {`"args":{"a": "b"}`, `"args":{"a": "b"},`},
		"broken":  {"\"args\":{\r\n\"a\":\n\"b\"}", `"args":{"a":"b"},`},
		"missing": {`"mood":1`, `"args":null,`},
	} {
		t.Run(name, func(t *testing.T) {
			body := json.RawMessage(`{"call_id":"call_1","index":1,"name":"add",` + tt.args + `}`)
			r := event.Record{Conversation: "c", Seq: 4, Run: "r_1", Message: "m_2", Kind: "tool_call", Body: body}
			got := string(encode(t, sse.NewEncoder(epoch, "r_1", nil), nil, r))
			if !strings.Contains(got, tt.want) || strings.Count(got, "\n") != 4 {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestStoriesG3AnyTwoReadersGetTheSameBytes runs each story through an encoder
// and through one that is cloned at each record, is left with what its clones
// did, and gets records now as stored and now decoded.
func TestStoriesG3AnyTwoReadersGetTheSameBytes(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for _, story := range golden.Stories(t, storyDir) {
		records := readRecords(t, story)
		for _, run := range runsOf(records) {
			one, other := sse.NewEncoder(epoch, run, nil), sse.NewEncoder(epoch, run, nil)
			var a, b []byte
			for _, r := range records {
				a = encode(t, one, a, r)
				stale := other
				other = other.Clone()
				encode(t, stale, nil, r)
				if rnd.IntN(2) == 0 {
					r = decoded(t, r)
				}
				b = encode(t, other, b, r)
			}
			if diff := cmp.Diff(string(a), string(b)); diff != "" {
				t.Fatalf("%s %s:\n%s", story.Name, run, diff)
			}
		}
	}
}

func BenchmarkEncodeDelta(b *testing.B) {
	r := record(b, 1234, event.Delta{Segment: "s12", Offset: 12345, Text: "Hello, this is a piece.\nAnd more"})
	for name, r := range map[string]event.Record{"hot": r, "stored": {Conversation: r.Conversation, Seq: r.Seq, Run: r.Run, Message: r.Message, Kind: r.Kind, Body: r.Body}} {
		b.Run(name, func(b *testing.B) {
			e := sse.NewEncoder(epoch, "r_1", nil)
			buf := make([]byte, 0, 1024)
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := e.Encode(buf, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestEncodeOfADeltaDoesNotAllocate(t *testing.T) {
	e := sse.NewEncoder(epoch, "r_1", nil)
	text := record(t, 5, event.Delta{Segment: "s2", Offset: 3, Text: "Hello\n"})
	thought := record(t, 4, event.Reasoning{Segment: "s1", Text: "Hm"})
	buf := make([]byte, 0, 1024)
	encode(t, e, buf, thought)
	allocs := testing.AllocsPerRun(100, func() {
		_, _, _ = e.Encode(buf, text)
		_, _, _ = e.Encode(buf, thought)
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func record(tb testing.TB, seq int64, ev event.Event) event.Record {
	tb.Helper()
	r, err := event.NewRecord("c", "r_1", "m_2", ev)
	if err != nil {
		tb.Fatal(err)
	}
	r.Seq, r.At = seq, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return r
}

// decoded returns the record with its event at hand, as the log has it in
// memory.
func decoded(t *testing.T, r event.Record) event.Record {
	t.Helper()
	ev, err := r.Event()
	if err != nil {
		t.Fatal(err)
	}
	fresh := record(t, r.Seq, ev)
	fresh.Conversation, fresh.Run, fresh.Message, fresh.At = r.Conversation, r.Run, r.Message, r.At
	return fresh
}
