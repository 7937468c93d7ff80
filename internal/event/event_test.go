package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestEveryKindRoundTrips(t *testing.T) {
	for _, spec := range Specs() {
		for _, sample := range spec.Samples {
			t.Run(string(spec.Kind), func(t *testing.T) {
				body := mustEncode(t, sample)
				got, err := Decode(spec.Kind, body)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(sample, got); diff != "" {
					t.Errorf("decoded differs (-sample +decoded):\n%s", diff)
				}
				if again := mustEncode(t, got); string(again) != string(body) {
					t.Errorf("encoded again:\n%s\nfirst:\n%s", again, body)
				}
				if strings.ContainsAny(string(body), "\r\n") {
					t.Errorf("not on one line: %q", body)
				}
			})
		}
	}
}

func TestTableIsWhole(t *testing.T) {
	seen := map[Kind]bool{}
	for _, s := range Specs() {
		if seen[s.Kind] || s.Doc == "" || len(s.Samples) == 0 {
			t.Errorf("%s: listed twice, without a sentence or without a sample", s.Kind)
		}
		seen[s.Kind] = true
		if s.Terminal && (!s.Run || !s.Structural) {
			t.Errorf("%s is terminal and must be structural and of a run", s.Kind)
		}
		for _, sample := range s.Samples {
			if sample.Kind() != s.Kind {
				t.Errorf("%s has a sample of %s", s.Kind, sample.Kind())
			}
		}
		if found, ok := Lookup(s.Kind); !ok || found.Doc != s.Doc {
			t.Errorf("%s is not found by its kind", s.Kind)
		}
	}
	// The vocabulary is a promise to clients: these kinds exist.
	for _, k := range []Kind{
		"user_message", "start", "reasoning", "delta", "segment_end", "tool_drafting", "tool_call", "tool_progress",
		"approval_request", "approval_resolved", "tool_result", "usage", "cancelled", "error", "end",
		"title", "version_active", "message_deleted", "message_restored", "erased", "queue", "forked_from", "settings",
		"conversation_deleted",
	} {
		if !seen[k] {
			t.Errorf("%s is not in the table", k)
		}
	}
}

func TestPayloadNamesDoNotMeetTheRecordsOwn(t *testing.T) {
	for _, s := range Specs() {
		for _, f := range s.Fields() {
			if f.Name == "" || slices.Contains(RecordFields(), f.Name) {
				t.Errorf("%s: a payload member is named %q", s.Kind, f.Name)
			}
		}
	}
}

func TestUnknownKindSurvivesByteForByte(t *testing.T) {
	for _, body := range []string{`{}`, `{ "a" : 1e400,  "b":"\u00e9<\/b>" }`, `{"a":1,"a":2}`} {
		e, err := Decode("hologram", json.RawMessage(body))
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind() != "hologram" || string(mustEncode(t, e)) != body {
			t.Errorf("%s came back as %s %s", body, e.Kind(), mustEncode(t, e))
		}
	}
}

func TestFieldsToComeArePassedOver(t *testing.T) {
	e, err := Decode("delta", json.RawMessage(`{"segment":"s1","mood":"glad","offset":3,"text":"hi"}`))
	if diff := cmp.Diff(Event(Delta{"s1", 3, "hi"}), e); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, body := range map[string]string{
		"not JSON":           `{"segment"`,
		"wrong type":         `{"segment":1,"offset":0,"text":"x"}`,
		"leading zero":       `{"segment":"s1","offset":01,"text":"x"}`,
		"control character":  "{\"segment\":\"s1\",\"offset\":1,\"text\":\"a\nb\"}",
		"bytes after it":     `{"segment":"s1","offset":1,"text":"x"}}`,
		"offset out of size": `{"segment":"s1","offset":99999999999999999999,"text":"x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			if e, err := Decode("delta", json.RawMessage(body)); err == nil {
				t.Errorf("got %#v", e)
			}
		})
	}
}

func TestEncodeRefusesWhatJSONWouldLose(t *testing.T) {
	for name, e := range map[string]Event{
		"delta":      Delta{"s1", 0, "a\xffb"},
		"draft":      ToolDrafting{Call: "call_1", Name: "list", ArgsDelta: "\xe4\xbd"},
		"prompt":     UserMessage{Text: "\xc3"},
		"attachment": UserMessage{Attachments: []Attachment{{Name: "\xed\xa0\x80"}}},
		"queued":     Queue{Message: &UserMessage{Text: "\xff"}},
		"raw":        ToolCall{Args: json.RawMessage("\"\xff\"")},
	} {
		t.Run(name, func(t *testing.T) {
			if b, err := Encode(e); !errors.Is(err, ErrText) {
				t.Errorf("got %s, %v", b, err)
			}
		})
	}
}

func TestRecordKeepsTheEventAtHand(t *testing.T) {
	r, err := NewRecord("c", "r_1", "m_1", Delta{"s1", 0, "hi"})
	if err != nil {
		t.Fatal(err)
	}
	fromDisk := Record{Kind: r.Kind, Body: r.Body}
	a, errA := r.Event()
	b, errB := fromDisk.Event()
	if diff := cmp.Diff(a, b); diff != "" || errA != nil || errB != nil {
		t.Error(errA, errB, diff)
	}
	allocs := testing.AllocsPerRun(100, func() { _, _ = r.Event() })
	if allocs != 0 {
		t.Errorf("the event at hand costs %v allocations", allocs)
	}
	if _, err := NewRecord("c", "", "", Title{"\xff"}); !errors.Is(err, ErrText) {
		t.Errorf("a record of bad text: %v", err)
	}
}

// The events on the path of every token are written without reflection, and a
// reader must not see by which way.
func TestQuickFormIsTheGeneralOne(t *testing.T) {
	for name, e := range map[string]Event{
		"delta":     Delta{"s1", 7, "a\n\"b\" <c> \u2028\x00\x7f你🌍"},
		"reasoning": Reasoning{"s2", 0, ""},
		"draft":     ToolDrafting{Call: "call_1", Index: 2, Name: "list_directory", Offset: 3, ArgsDelta: "{\"pa\\\t\u2029"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, ok := e.(appender); !ok {
				t.Errorf("%T takes the long way", e)
			}
			var general bytes.Buffer
			enc := json.NewEncoder(&general)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(e); err != nil {
				t.Fatal(err)
			}
			got := string(mustEncode(t, e)) + "\n"
			if diff := cmp.Diff(general.String(), got); diff != "" {
				t.Errorf("written otherwise (-general +quick):\n%s", diff)
			}
		})
	}
}

func TestArgsKeepWhatWasWritten(t *testing.T) {
	for name, tt := range map[string]struct{ written, args, text string }{
		"compact":        {`{"path":"."}`, `{"path":"."}`, ""},
		"spaced":         {"{\n \"path\": \".\"}", `{"path":"."}`, "{\n \"path\": \".\"}"},
		"cut short":      {`{"path": `, `null`, `{"path": `},
		"null":           {`null`, `null`, `null`},
		"nothing":        {``, `null`, ``},
		"number of 1e99": {`{"n":1E99}`, `{"n":1E99}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			args, text := NewArgs(tt.written)
			if string(args) != tt.args || text != tt.text {
				t.Errorf("got %s and %q", args, text)
			}
			call := ToolCall{Args: args, ArgsText: text}
			e, err := Decode("tool_call", mustEncode(t, call))
			if err != nil || e.(ToolCall).Text() != tt.written {
				t.Errorf("came back as %q, %v", e.(ToolCall).Text(), err)
			}
		})
	}
}

func TestAppendStringIsWhatAnyDecoderReads(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	pool := []rune{0, '\b', '\t', '\n', '\f', '\r', 0x1b, ' ', '"', '\\', '/', '<', '>', '&', 0x7f, 0x9b, 'é', '你', 0x2028, 0x2029, 0xfeff, 0xfffd, '🌍', 0x10ffff}
	for range 3000 {
		var s strings.Builder
		for range rnd.IntN(12) {
			s.WriteRune(pool[rnd.IntN(len(pool))])
		}
		text := s.String()
		written := AppendString(nil, text)
		var read string
		if err := json.Unmarshal(written, &read); err != nil || read != text {
			t.Fatalf("%q was written as %s and read as %q: %v", text, written, read, err)
		}
		if strings.ContainsAny(string(written), "\r\n\u2028\u2029") {
			t.Fatalf("%q is not on one line: %q", text, written)
		}
		for _, offset := range []int64{0, 1<<62 + 1} {
			body := mustEncode(t, Delta{"s1", offset, text})
			e, err := Decode("delta", body)
			if diff := cmp.Diff(Event(Delta{"s1", offset, text}), e); diff != "" || err != nil {
				t.Fatal(err, diff)
			}
			if _, _, _, ok := parsePiece(body); !ok {
				t.Fatalf("our own form took the long way: %s", body)
			}
		}
	}
}

func TestAppendStringReplacesWhatIsNoCharacter(t *testing.T) {
	got := string(AppendString(nil, "a\xffb\xe4\xbd"))
	if got != `"a\ufffdb\ufffd\ufffd"` {
		t.Errorf("got %s", got)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range Specs() {
		for _, sample := range s.Samples {
			f.Add(string(s.Kind), []byte(mustEncode(f, sample)))
		}
	}
	f.Add("hologram", []byte(`{"a":1}`))
	f.Add("delta", []byte(`{"text":"x","offset":1,"segment":"s1"}`))
	f.Add("delta", []byte(`{"segment":"s1","offset":0,"text":"\ud83c\udf0d\ud83c"}`))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		e, err := Decode(Kind(kind), body)
		if err != nil || !utf8.Valid(body) {
			return
		}
		once, err := Encode(e)
		if err != nil {
			return // a raw field can hold what JSON has no place for
		}
		if _, unknown := e.(Unknown); unknown {
			if string(once) != string(body) {
				t.Fatalf("an unknown kind changed: %q to %q", body, once)
			}
			return
		}
		again, err := Decode(Kind(kind), once)
		if err != nil {
			t.Fatalf("%s is not read back: %v", once, err)
		}
		twice, err := Encode(again)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("encoded twice: %s, then %s, %v", once, twice, err)
		}
		slow, err := decode[Delta](body)
		if kind == "delta" && (err != nil || !cmp.Equal(slow, e)) {
			t.Fatalf("the quick decoder reads %#v, the general one %#v, %v", e, slow, err)
		}
	})
}

func mustEncode(tb testing.TB, e Event) json.RawMessage {
	tb.Helper()
	b, err := Encode(e)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func BenchmarkDecodeDelta(b *testing.B) {
	body := mustEncode(b, Delta{"s12", 12345, "Hello, this is a piece.\nAnd more"})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode("delta", body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeDelta(b *testing.B) {
	var e Event = Delta{"s12", 12345, "Hello, this is a piece.\nAnd more"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Encode(e); err != nil {
			b.Fatal(err)
		}
	}
}
