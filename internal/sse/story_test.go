package sse_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
	"verbatim/internal/golden"
	"verbatim/internal/id"
	"verbatim/internal/sse"
	"verbatim/internal/transcript"
)

const (
	storyDir = "../../testdata/transcripts"
	epoch    = id.Epoch("e1")
)

func TestStories(t *testing.T) {
	for _, story := range golden.Stories(t, storyDir) {
		t.Run(story.Name, func(t *testing.T) {
			records := readRecords(t, story)
			runs := runsOf(records)
			told := map[string]bool{"events.jsonl": true, "state.md": true, "check.txt": true}
			for _, run := range runs {
				name := "sse.txt"
				if len(runs) > 1 {
					name = "sse-" + string(run) + ".txt"
				}
				told[name] = true
				story.Compare(t, name, stream(t, records, run))
			}
			for _, name := range story.Sections() {
				if !told[name] {
					t.Errorf("section %s is of no run", name)
				}
			}
		})
	}
}

// TestStoriesKeepToTheTable reads every stream as a client would: frames of
// the eleven events, each with the fields of the table and no other, ids that
// rise, one terminal at most and nothing after it.
func TestStoriesKeepToTheTable(t *testing.T) {
	seen := map[string]bool{}
	for _, story := range golden.Stories(t, storyDir) {
		for _, name := range story.Sections() {
			if !strings.HasPrefix(name, "sse") {
				continue
			}
			data, _ := story.Section(name)
			t.Run(story.Name+"/"+name, func(t *testing.T) { checkStream(t, string(data), seen) })
		}
	}
	for _, w := range sse.Table() {
		for _, f := range w.Fields {
			if f.Name != "reset" && f.Name != "regenerate_of" && !seen[w.Name+"."+f.Name] {
				t.Errorf("no story shows %s.%s", w.Name, f.Name)
			}
		}
	}
}

func checkStream(t *testing.T, stream string, seen map[string]bool) {
	rest, ok := strings.CutPrefix(stream, sse.Head)
	if !ok || strings.Contains(stream, "\r") {
		t.Fatal("the stream does not begin with its head, or has a CR")
	}
	last, ended := int64(0), false
	for frame := range strings.SplitSeq(strings.TrimSuffix(rest, "\n\n"), "\n\n") {
		lines := strings.Split(frame, "\n")
		if len(lines) != 3 {
			t.Fatalf("a frame of %d lines: %q", len(lines), frame)
		}
		name, _ := strings.CutPrefix(lines[0], "event: ")
		data, _ := strings.CutPrefix(lines[1], "data: ")
		number, _ := strings.CutPrefix(lines[2], "id: ")
		cursor, err := id.ParseCursor(number)
		if err != nil || cursor.Epoch != epoch || cursor.Seq <= last || ended {
			t.Errorf("id %q after %d, ended %t: %v", number, last, ended, err)
		}
		last = cursor.Seq
		ended = checkFrame(t, name, data, cursor.Seq, seen)
	}
}

func checkFrame(t *testing.T, name, data string, seq int64, seen map[string]bool) (terminal bool) {
	table := sse.Table()
	i := slices.IndexFunc(table, func(w sse.Wire) bool { return w.Name == name })
	if i < 0 {
		t.Fatalf("event %q is not in the table", name)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(data), &members); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	if string(members["seq"]) != string(id.Cursor{Seq: seq}.Append(nil)[1:]) {
		t.Errorf("seq %s in frame %d", members["seq"], seq)
	}
	if _, ok := members["provider"]; ok {
		t.Errorf("what is the provider's alone was sent: %s", data)
	}
	for _, f := range table[i].Fields {
		value, ok := members[f.Name]
		if !ok && !f.Optional {
			t.Errorf("%s has no %s: %s", name, f.Name, data)
		}
		if ok && !isType(value, f.Type) {
			t.Errorf("%s.%s is %s and should be %s", name, f.Name, value, f.Type)
		}
		seen[name+"."+f.Name] = seen[name+"."+f.Name] || ok
		delete(members, f.Name)
	}
	for field := range members {
		t.Errorf("%s has %s, which the table does not list", name, field)
	}
	return table[i].Terminal
}

func isType(value json.RawMessage, typ string) bool {
	switch typ {
	case "string":
		return value[0] == '"'
	case "boolean":
		return string(value) == "true" || string(value) == "false"
	case "array":
		return value[0] == '['
	case "any":
		return true
	case "integer or null":
		return string(value) == "null" || isType(value, "integer")
	case "integer":
		return !bytes.ContainsAny(value, `."eE[{tfn`)
	}
	return value[0] == '-' || '0' <= value[0] && value[0] <= '9'
}

func TestElevenEventsWithTheirFields(t *testing.T) {
	// What desktop clients of this wire were written against.
	want := map[string]string{
		"start":            "msg_id run_id",
		"reasoning":        "msg_id text",
		"delta":            "msg_id text",
		"tool_drafting":    "msg_id name",
		"tool_call":        "msg_id call_id name args",
		"tool_result":      "msg_id call_id name ok output seconds",
		"approval_request": "msg_id approval_id call_id name args",
		"usage":            "msg_id chars seconds ttft",
		"cancelled":        "msg_id run_id",
		"error":            "msg_id message kind",
		"end":              "msg_id user_index assistant_index versions active",
	}
	got := map[string]string{}
	for _, w := range sse.Table() {
		var basic []string
		for _, f := range w.Fields {
			if f.Doc == "" || w.Doc == "" {
				t.Errorf("%s.%s is not described", w.Name, f.Name)
			}
			if f.Basic {
				basic = append(basic, f.Name)
			}
			if f.Basic && f.Optional {
				t.Errorf("%s.%s must always be there", w.Name, f.Name)
			}
		}
		got[w.Name] = strings.Join(basic, " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-promised +table):\n%s", diff)
	}
}

// stream encodes a run as a client that follows it live gets it: its place is
// that of the moment when its end is sent.
func stream(t *testing.T, records []event.Record, run id.Run) []byte {
	t.Helper()
	live := &transcript.Conversation{}
	e := sse.NewEncoder(epoch, run, func() sse.Place {
		user, assistant, versions, active := live.Place(run)
		return sse.Place{UserIndex: user, AssistantIndex: assistant, Versions: versions, Active: active}
	})
	b := []byte(sse.Head)
	for _, r := range records {
		if err := live.Apply(r); err != nil {
			t.Fatal(err)
		}
		b = encode(t, e, b, r)
	}
	return b
}

func encode(t testing.TB, e *sse.Encoder, b []byte, r event.Record) []byte {
	t.Helper()
	b, terminal, err := e.Encode(b, r)
	if err != nil {
		t.Fatal(err)
	}
	if spec, _ := event.Lookup(r.Kind); terminal && !spec.Terminal {
		t.Errorf("%s is no terminal", r.Kind)
	}
	return b
}

func runsOf(records []event.Record) []id.Run {
	var runs []id.Run
	for _, r := range records {
		if r.Run != "" && !slices.Contains(runs, r.Run) {
			runs = append(runs, r.Run)
		}
	}
	return runs
}

func readRecords(t testing.TB, story *golden.Story) []event.Record {
	t.Helper()
	data, _ := story.Section("events.jsonl")
	var records []event.Record
	for line := range bytes.Lines(data) {
		r, err := event.ParseRecord(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			t.Fatalf("line %d: %v", len(records)+1, err)
		}
		records = append(records, r)
	}
	return records
}
