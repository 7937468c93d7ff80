package library_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/library"
	"verbatim/internal/turnlog"
)

func TestChatShowsWhatTheLogHolds(t *testing.T) {
	l := &fakeLog{t: t}
	l.ask("1", "  two\n questions? \r\n")
	l.say("1", "s1", "\n\n", event.PhaseReasoning) // blank: shown nowhere
	l.say("1", "s2", "Let me see. ", event.PhaseReasoning)
	l.say("1", "s3", "\nLooking. ", event.PhaseCommentary)
	l.add("r1", "m1", event.ToolCall{Call: "k1", Index: 1, Name: "list_directory", Args: json.RawMessage(`{"path":"."}`)})
	l.add("r1", "m1", event.ApprovalRequest{Approval: "a1", Call: "k1", Name: "list_directory", Args: json.RawMessage(`{}`), Risk: event.RiskLow, ExpiresAt: time.Date(2026, 1, 2, 3, 9, 0, 0, time.UTC)})
	l.add("r1", "m1", event.ApprovalResolved{Approval: "a1", Decision: event.DecisionAllow, By: "owner", Args: json.RawMessage(`{"path":"sub"}`), Note: "only sub"})
	l.add("r1", "m1", event.ToolResult{Call: "k1", Name: "list_directory", OK: true, Output: "a.txt\n", Seconds: 0.5, OutputBytes: 9, Truncated: true, Blob: "b_1"})
	l.say("1", "s4", "  Two files.\n\n", event.PhaseAnswer)
	l.add("r1", "m1", event.Usage{Chars: 24, Model: "fake", Rounds: []event.Round{}})
	l.end("1")

	want := `{
	 "id": "c1", "title": "  two  questions?  ", "project": "", "updated": 1767323060, "running": null,
	 "messages": [
	  {"role": "user", "content": "  two\n questions? \r\n", "message_id": "u1", "status": "complete",
	   "versions": ["  two\n questions? \r\n"], "active": 0, "version_count": 1, "version_active": 0,
	   "parts": [{"type": "text", "text": "  two\n questions? \r\n"}], "attachments": [], "usage": null, "seq": 1, "at": "2026-01-02T03:04:01.000Z"},
	  {"role": "assistant", "content": "\nLooking. \n\n  Two files.\n\n", "message_id": "m1", "status": "complete",
	   "versions": ["\nLooking. \n\n  Two files.\n\n"], "active": 0, "version_count": 1, "version_active": 0, "version_runs": ["r1"],
	   "parts": [
	    {"type": "reasoning", "text": "Let me see. ", "segment": "s2", "phase": "reasoning", "seconds": 1},
	    {"type": "text", "text": "\nLooking. ", "segment": "s3", "phase": "commentary", "seconds": 1},
	    {"type": "tool", "call_id": "k1", "index": 1, "name": "list_directory", "args": {"path": "."}, "ok": true, "output": "a.txt\n", "seconds": 0.5, "truncated": true, "output_bytes": 9, "blob": "b_1",
	     "approval": {"approval_id": "a1", "risk": "low", "reason": "", "expires_at": "2026-01-02T03:09:00Z", "decision": "allow", "by": "owner", "args": {"path": "sub"}, "note": "only sub"}},
	    {"type": "text", "text": "  Two files.\n\n", "segment": "s4", "phase": "answer", "seconds": 1}],
	   "attachments": [],
	   "usage": {"chars": 24, "seconds": 0, "ttft": 0, "input_tokens": 0, "output_tokens": 0, "reasoning_tokens": 0, "cached_tokens": 0, "model": "fake", "rounds": []},
	   "seq": 2, "at": "2026-01-02T03:04:02.000Z", "run_id": "r1", "model": "openai/fake", "finish": "stop", "sha256": "abc"}]}`
	var v map[string]any
	if err := json.Unmarshal([]byte(want), &v); err != nil {
		t.Fatal(err)
	}
	got := chat(t, l)
	delete(got, "updated")
	delete(v, "updated")
	if diff := cmp.Diff(v, got); diff != "" {
		t.Errorf("chat (-want +got):\n%s", diff)
	}
}

func TestReadsInPiecesGiveTheSameChat(t *testing.T) {
	build := func(piece int) *fakeLog {
		l := &fakeLog{t: t, piece: piece}
		for _, n := range []string{"1", "2", "3"} {
			l.ask(n, "question "+n)
			l.say(n, "s1", "thought "+n, event.PhaseReasoning)
			l.say(n, "s2", "answer "+n, event.PhaseAnswer)
			l.end(n)
		}
		return l
	}
	whole := chat(t, build(0))
	for piece := 1; piece <= 5; piece++ {
		if diff := cmp.Diff(whole, chat(t, build(piece))); diff != "" {
			t.Errorf("in pieces of %d (-whole +pieces):\n%s", piece, diff)
		}
	}
}

func TestStatuses(t *testing.T) {
	failed := event.Error{Type: event.ErrorRateLimit, Code: event.CodeQuota, Message: "The quota is used up.", Retryable: true, RetryAfter: 9}
	cases := []struct {
		name     string
		terminal event.Event
		want     string
		fault    any
	}{
		{"running", nil, "running", nil},
		{"complete", event.End{Finish: event.FinishStop}, "complete", nil},
		{"I1 cancelled", event.Cancelled{By: "owner"}, "cancelled", nil},
		{"A2 failed", failed, "failed", map[string]any{"kind": "rate_limit", "code": "quota", "message": "The quota is used up.", "retryable": true, "retry_after": 9.0}},
		{"interrupted", event.Error{Type: event.ErrorInternal, Code: event.CodeInterrupted, Message: "It was interrupted.", Retryable: true}, "interrupted",
			map[string]any{"kind": "internal", "code": "interrupted", "message": "It was interrupted.", "retryable": true}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l := &fakeLog{t: t}
			l.ask("1", "q")
			l.say("1", "s1", "Half a sen", event.PhaseAnswer)
			if c.terminal != nil {
				l.add("r1", "m1", c.terminal)
			}
			answer := rows(t, l)[1]
			if answer["status"] != c.want || answer["content"] != "Half a sen" {
				t.Errorf("row = %v %q, want %s with the partial text", answer["status"], answer["content"], c.want)
			}
			if diff := cmp.Diff(c.fault, answer["error"]); diff != "" {
				t.Error(diff)
			}
			want := any(nil)
			if c.terminal == nil {
				want = "r1"
			}
			if got := chat(t, l)["running"]; got != want {
				t.Errorf("running = %v, want %v", got, want)
			}
		})
	}
}

func TestJ1PartialAnswerIsThereAtOnce(t *testing.T) {
	l := &fakeLog{t: t}
	l.ask("1", "count")
	l.add("r1", "m1", event.Delta{Segment: "s1", Text: "One "})
	l.add("r1", "m1", event.Delta{Segment: "s1", Offset: 4, Text: "two "})
	answer := rows(t, l)[1]
	want := []any{map[string]any{"type": "text", "text": "One two ", "segment": "s1"}}
	if diff := cmp.Diff(want, answer["parts"]); diff != "" || answer["content"] != "One two " {
		t.Errorf("content %q, parts (-want +got):\n%s", answer["content"], diff)
	}
}

func TestI5RegeneratedAnswerIsAVersion(t *testing.T) {
	l := &fakeLog{t: t}
	l.ask("1", "U")
	l.say("1", "s1", "A", event.PhaseAnswer)
	l.end("1")
	l.ask("2", "U2")
	l.say("2", "s1", "B", event.PhaseAnswer)
	l.end("2")
	l.add("r2b", "m2", event.Start{RegenerateOf: "u2", Version: 2})
	got := rows(t, l)
	if got[3]["content"] != "B" || got[3]["version_count"] != 1.0 || got[3]["status"] != "complete" || chat(t, l)["running"] != "r2b" {
		t.Errorf("before it has text: %v, running %v; want B alone, r2b running", got[3], chat(t, l)["running"])
	}
	l.say("2b", "s1", "B'", event.PhaseAnswer)
	l.end("2b")
	got = rows(t, l)
	if len(got) != 4 || got[1]["content"] != "A" || got[3]["content"] != "B'" || got[3]["run_id"] != "r2b" || got[3]["message_id"] != "m2" {
		t.Errorf("rows = %v", got)
	}
	if diff := cmp.Diff([]any{"B", "B'"}, got[3]["versions"]); diff != "" || got[3]["active"] != 1.0 || got[3]["version_active"] != 1.0 || got[3]["version_count"] != 2.0 {
		t.Errorf("versions: %s, active %v", diff, got[3]["active"])
	}
	if got[3]["seq"] != 7.0 {
		t.Errorf("seq = %v, want that of the row's first start: the row has not moved", got[3]["seq"])
	}
}

func TestUnfinishedCallAndBadArguments(t *testing.T) {
	l := &fakeLog{t: t}
	l.ask("1", "q")
	l.add("r1", "m1", event.ToolDrafting{Call: "k1", Index: 1, Name: "read_file", ArgsDelta: `{"pa`})
	part := rows(t, l)[1]["parts"].([]any)[0].(map[string]any)
	if part["ok"] != nil || part["args"] != nil || part["args_text"] != `{"pa` {
		t.Errorf("drafted = %v", part)
	}
	l.add("r1", "m1", event.ToolCall{Call: "k1", Index: 1, Name: "read_file", Args: json.RawMessage("null"), ArgsText: `{"path": `})
	l.add("r1", "m1", event.ToolProgress{Call: "k1", Note: "12 files"})
	part = rows(t, l)[1]["parts"].([]any)[0].(map[string]any)
	if part["args"] != nil || part["args_text"] != `{"path": ` || part["ok"] != nil || !cmp.Equal(part["progress"], []any{"12 files"}) {
		t.Errorf("called = %v", part)
	}
}

func TestProviderDataStaysInside(t *testing.T) {
	l := &fakeLog{t: t}
	l.ask("1", "q")
	l.add("r1", "m1", event.Reasoning{Segment: "s1", Text: "hm"})
	l.add("r1", "m1", event.SegmentEnd{Segment: "s1", Phase: event.PhaseReasoning, Bytes: 2, Visible: true, Provider: json.RawMessage(`{"signature":"opaque"}`)})
	l.add("r1", "m1", event.ToolCall{Call: "k1", Index: 1, Name: "n", Args: json.RawMessage("{}"), Provider: json.RawMessage(`{"id":"opaque"}`)})
	c, err := library.New(l).Chat(t.Context(), "c1")
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := json.Marshal(c); bytes.Contains(b, []byte("opaque")) {
		t.Errorf("a surface gets %s", b)
	}
}

func TestMissing(t *testing.T) {
	l := &fakeLog{t: t}
	look := func(c id.Conversation) error {
		_, err := library.New(l).Chat(t.Context(), c)
		return err
	}
	if err := look("c1"); !errors.Is(err, library.ErrMissing) {
		t.Errorf("empty: %v", err)
	}
	if err := look("c9"); !errors.Is(err, library.ErrMissing) {
		t.Errorf("unknown: %v", err)
	}
	l.ask("1", "q")
	l.end("1")
	l.add("", "", event.ConversationDeleted{})
	if err := look("c1"); !errors.Is(err, library.ErrMissing) {
		t.Errorf("deleted: %v", err)
	}
	l.ask("2", "again")
	if got := rows(t, l); len(got) != 2 || got[0]["content"] != "again" {
		t.Errorf("begun anew: %v", got)
	}
}

func TestRunningConversationIsNotChasedForEver(t *testing.T) {
	l := &fakeLog{t: t, piece: 2}
	l.ask("1", "q")
	l.grow = func(l *fakeLog) {
		for range 5 {
			l.add("r1", "m1", event.Title{Title: "x"})
		}
	}
	if _, err := library.New(l).Chat(t.Context(), "c1"); err != nil {
		t.Fatal(err)
	}
	if l.reads > 2 {
		t.Errorf("%d reads for 2 records", l.reads)
	}
}

func TestErrorsOfTheLogAreTold(t *testing.T) {
	fault := errors.New("disk on fire")
	l := &fakeLog{t: t}
	l.ask("1", "q")
	l.err = fault
	lib := library.New(l)
	if _, err := lib.Chat(t.Context(), "c1"); !errors.Is(err, fault) {
		t.Errorf("chat: %v", err)
	}
	if _, err := lib.List(t.Context()); !errors.Is(err, fault) {
		t.Errorf("list: %v", err)
	}
	if p, err := lib.Place(t.Context(), "c1", "r1"); !errors.Is(err, fault) || p.Versions != 1 {
		t.Errorf("place: %+v, %v", p, err)
	}
}

func TestList(t *testing.T) {
	l := &fakeLog{t: t, lines: []turnlog.ConversationInfo{
		{Conversation: "c2", Title: "Second", Project: "P", Updated: 1767323060999, Rows: 4},
		{Conversation: "c1", Title: "First", Updated: 1767323000000, Rows: 1},
	}}
	got, err := library.New(l).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []library.Line{
		{ID: "c2", Title: "Second", Project: "P", Updated: 1767323060, Count: 4},
		{ID: "c1", Title: "First", Updated: 1767323000, Count: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPlaceReadsNoText(t *testing.T) {
	l := &fakeLog{t: t, piece: 2}
	for _, n := range []string{"1", "2"} {
		l.ask(n, "q")
		l.say(n, "s1", "answer", event.PhaseAnswer)
		l.end(n)
	}
	l.add("r2b", "m2", event.Start{RegenerateOf: "u2", Version: 2})
	l.say("2b", "s1", "another", event.PhaseAnswer)
	l.end("2b")
	l.records = slices.DeleteFunc(l.records, func(r event.Record) bool { return r.Kind == "delta" })
	place := func(run id.Run) library.Place {
		p, err := library.New(seqLog{l}).Place(t.Context(), "c1", run)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	two, three := 2, 3
	if diff := cmp.Diff(library.Place{UserIndex: &two, AssistantIndex: &three, Versions: 2, Active: 1}, place("r2b")); diff != "" {
		t.Errorf("place (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(library.Place{Versions: 1}, place("r9")); diff != "" {
		t.Errorf("unknown run (-want +got):\n%s", diff)
	}
	l.records = append(l.records, record(t, 99, event.MessageDeleted{Message: "u2"}))
	if got := place("r2b"); got.UserIndex != nil || got.AssistantIndex != nil || got.Versions < 1 {
		t.Errorf("deleted turn: %+v, want no rows and at least one version", got)
	}
}

func record(t *testing.T, seq int64, e event.Event) event.Record {
	r, err := event.NewRecord("c1", "", "", e)
	if err != nil {
		t.Fatal(err)
	}
	r.Seq = seq
	return r
}

// seqLog reads by seq, for records with gaps between them.
type seqLog struct{ *fakeLog }

func (l seqLog) Facts(_ context.Context, _ id.Conversation, after int64, _ turnlog.Limit) ([]event.Record, error) {
	var out []event.Record
	for _, r := range l.records {
		if r.Seq > after && len(out) < l.piece {
			out = append(out, r)
		}
	}
	return out, nil
}

func (l seqLog) Head(context.Context, id.Conversation) (int64, error) {
	return l.records[len(l.records)-1].Seq, nil
}
