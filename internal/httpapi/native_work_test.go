package httpapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/approval"
	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/search"
)

func TestStartRun(t *testing.T) {
	rows := []struct {
		name, body string
		want       chat.SendRequest
		kind       Kind
	}{
		{name: "a message", body: `{"conversation":"c1","run_id":"r1","prompt":" hi\n","tools":false}`, want: chat.SendRequest{Conversation: "c1", Run: "r1", Prompt: " hi\n", NoTools: true}},
		{name: "I5 again", body: `{"conversation":"c1","run_id":"r1","regenerate_of":"u_1"}`, want: chat.SendRequest{Conversation: "c1", Run: "r1", Regenerate: &chat.Target{Message: "u_1"}}},
		{name: "no prompt", body: `{"conversation":"c1"}`, kind: Invalid},
		{name: "a prompt that is no text", body: `{"conversation":"c1","prompt":7}`, kind: Invalid},
		{name: "a long prompt", body: `{"conversation":"c1","prompt":"` + strings.Repeat("x", chat.MaxPromptBytes+1) + `"}`, kind: TooLarge},
		{name: "a bad conversation", body: `{"conversation":"a b","prompt":"x"}`, kind: Invalid},
		{name: "a bad run", body: `{"run_id":"","prompt":"x"}`, kind: Invalid},
		{name: "again by its row", body: `{"conversation":"c1","regenerate_of":0}`, kind: Invalid},
		{name: "again with files", body: `{"conversation":"c1","regenerate_of":"u_1","attachments":[{"name":"a","text":"x"}]}`, kind: Invalid},
		{name: "K1 six files", body: `{"prompt":"x","attachments":[{"text":"1"},{"text":"2"},{"text":"3"},{"text":"4"},{"text":"5"},{"text":"6"}]}`, kind: Invalid},
		{name: "a file that is two", body: `{"prompt":"x","attachments":[{"text":"1","upload":"b_1"}]}`, kind: Invalid},
		{name: "an upload that is none", body: `{"prompt":"x","attachments":[{"upload":"b_1"}]}`, kind: Missing},
		{name: "K3 a file that is not taken", body: `{"prompt":"x","attachments":[{"url":"data:image/png;base64,AAEC"}]}`, kind: Unsupported},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w, api := newWorld(t, nil)
			rec := post(v1+"/runs", row.body).of(api)
			if row.kind != "" {
				wantDetails(t, rec, row.kind)
				if len(w.sent) > 0 {
					t.Errorf("it was sent: %v", w.sent)
				}
				return
			}
			row.want.Via = event.Via{Surface: "api"}
			if diff := cmp.Diff([]chat.SendRequest{row.want}, w.sent); diff != "" {
				t.Error(diff)
			}
			want := map[string]any{"run_id": "r1", "conversation": "c1", "state": "started"}
			if diff := cmp.Diff(want, decodeJSON(t, rec, 202)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("in a new conversation", func(t *testing.T) {
		w, api := newWorld(t, nil)
		got := decodeJSON(t, post(v1+"/runs", `{"prompt":"x"}`).of(api), 202)
		if c, _ := got["conversation"].(string); !strings.HasPrefix(c, "c_") || len(w.sent) != 1 || w.sent[0].Run == "" {
			t.Errorf("answer %v, sent %v", got, w.sent)
		}
	})
}

func TestRunStatusAndCancel(t *testing.T) {
	rows := []command{
		{name: "cancel", ask: ask{method: "POST", path: v1 + "/runs/r1/cancel"}, want: []string{"cancel r1 by owner"}, answer: `{"ok": true, "run_id": "r1"}`},
		{name: "cancel what is not there", ask: ask{method: "POST", path: v1 + "/runs/gone/cancel"}, kind: Missing},
		{name: "cancel what can't be", ask: ask{method: "POST", path: v1 + "/runs/a%20b/cancel"}, kind: Invalid},
		{name: "status", ask: ask{method: "GET", path: v1 + "/runs/r1"},
			answer: `{"run_id": "r1", "conversation": "c1", "msg_id": "", "status": "running", "model": "", "waiting": 0, "started": null, "ended": null, "usage": null}`},
		{name: "status of none", ask: ask{method: "GET", path: v1 + "/runs/r9"}, kind: Missing},
		{name: "status of a deleted one", ask: ask{method: "GET", path: v1 + "/runs/r_deleted"}, kind: Missing},
	}
	for _, row := range rows {
		row.run(t)
	}
}

func TestG12NativeApprovals(t *testing.T) {
	w, api := newWorld(t, nil)
	if got := decodeJSON(t, ask{method: "GET", path: v1 + "/approvals"}.of(api), 200); !cmp.Equal(got, map[string]any{"approvals": []any{}}) {
		t.Errorf("nothing waits: %v", got)
	}
	w.pending = []approval.Pending{{Approval: "a1", Conversation: "c1", Run: "r1", Message: "m_1", Call: "k1", Name: "run_command",
		Args: json.RawMessage(`{"command":"df"}`), Risk: event.RiskHigh, Reason: "runs a command", ExpiresAt: w.now, Always: true, Words: []string{"df"}}}
	want := map[string]any{"approvals": []any{map[string]any{
		"approval_id": "a1", "conversation": "c1", "run_id": "r1", "msg_id": "m_1", "call_id": "k1", "name": "run_command",
		"args": map[string]any{"command": "df"}, "risk": "high", "reason": "runs a command", "expires_at": "2026-01-02T03:04:05Z",
		"always": true, "words": []any{"df"},
	}}}
	if diff := cmp.Diff(want, decodeJSON(t, ask{method: "GET", path: v1 + "/approvals"}.of(api), 200)); diff != "" {
		t.Error(diff)
	}
	for _, row := range []struct {
		name, body string
		err        error
		kind       Kind
		decision   approval.Decision
	}{
		{name: "deny", body: `{"decision":"deny"}`, decision: approval.Decision{Choice: "deny"}},
		{name: "other arguments", body: `{"decision":"allow","args":{"command": "df -h"},"note":" in units\n"}`,
			decision: approval.Decision{Choice: "allow", Args: json.RawMessage(`{"command": "df -h"}`), Note: " in units\n"}},
		{name: "null arguments", body: `{"decision":"allow","args":null}`, decision: approval.Decision{Choice: "allow"}},
		{name: "no decision", body: `{"args":{}}`, kind: Invalid},
		{name: "a member that is none", body: `{"decision":"allow","arg":{"command":"df"}}`, kind: Invalid},
		{name: "a note that is no text", body: `{"decision":"allow","note":7}`, kind: Invalid},
		{name: "unknown", body: `{"decision":"allow"}`, err: approval.ErrUnknown, kind: Missing},
		{name: "decided otherwise", body: `{"decision":"allow"}`, err: &approval.Decided{Decision: "deny"}, kind: Decided},
		{name: "expired", body: `{"decision":"allow"}`, err: &approval.Decided{Decision: "expired"}, kind: Decided},
		{name: "arguments that can't be used", body: `{"decision":"allow","args":{}}`, err: approval.ErrInvalid, kind: Unfit},
	} {
		t.Run(row.name, func(t *testing.T) {
			w, api := newWorld(t, nil)
			w.err = row.err
			rec := post(v1+"/approvals/a1", row.body).of(api)
			if row.kind != "" {
				wantDetails(t, rec, row.kind)
				if row.err == nil && len(w.calls) > 0 {
					t.Errorf("it did %v", w.calls)
				}
				return
			}
			row.decision.By, row.decision.Via = "owner", event.Via{Surface: "api"}
			if diff := cmp.Diff(row.decision, w.decision); diff != "" {
				t.Error(diff)
			}
			if got := decodeJSON(t, rec, 200); got["approval_id"] != "a1" || got["decision"] != string(row.decision.Choice) {
				t.Errorf("answer = %v", got)
			}
		})
	}
}

func TestRules(t *testing.T) {
	w, api := newWorld(t, nil)
	if got := decodeJSON(t, ask{method: "GET", path: v1 + "/rules"}.of(api), 200); !cmp.Equal(got, map[string]any{"rules": []any{}}) {
		t.Errorf("no rules: %v", got)
	}
	w.rules = []approval.Rule{{ID: "rule_1", Tool: "run_command", Words: []string{"git", "status"}, Created: w.now, By: "owner", Approval: "a1"}}
	want := map[string]any{"rules": []any{map[string]any{
		"id": "rule_1", "tool": "run_command", "words": []any{"git", "status"}, "created": "2026-01-02T03:04:05Z", "by": "owner", "approval_id": "a1",
	}}}
	if diff := cmp.Diff(want, decodeJSON(t, ask{method: "GET", path: v1 + "/rules"}.of(api), 200)); diff != "" {
		t.Error(diff)
	}
	command{name: "revoke", ask: ask{method: "DELETE", path: v1 + "/rules/rule_1"}, want: []string{"revoke rule_1"}, answer: `{"ok": true}`}.run(t)
	w.err = approval.ErrNoRule
	wantDetails(t, ask{method: "DELETE", path: v1 + "/rules/rule_9"}.of(api), Missing)
}

func TestNativeSearch(t *testing.T) {
	w, api := newWorld(t, nil)
	w.found = [][]search.Hit{
		{{
			Conversation: "c1", Title: "T", Message: "m_1", Run: "r1", Call: "k1", Role: search.RoleOutput, Seq: 9, Turn: 4, At: w.now,
			Snippet: search.Snippet{Text: "é word", At: 12, Ranges: []search.Range{{Start: 3, End: 7}}},
			Ranges:  []search.Range{{Start: 15, End: 19}},
		}},
		{{Conversation: "c1", Title: "T", Message: "u_1", Role: search.RoleQuestion, Seq: 4, Turn: 4, At: w.now}},
	}
	got := decodeJSON(t, ask{method: "GET", path: v1 + "/search?q=word&limit=3&tools=true&project=P&conversation=c1"}.of(api), 200)
	want := map[string]any{
		"hits": []any{map[string]any{
			"conversation": "c1", "title": "T", "message_id": "m_1", "run_id": "r1", "call_id": "k1", "role": "tool", "seq": 9.0, "turn_seq": 4.0,
			"at": "2026-01-02T03:04:05.000Z", "snippet": "é word", "snippet_at": 12.0, "ranges": []any{[]any{3.0, 7.0}},
		}},
		"next": "1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = decodeJSON(t, ask{method: "GET", path: v1 + "/search?q=word&cursor=1"}.of(api), 200)
	hits, _ := got["hits"].([]any)
	if len(hits) != 1 || got["next"] != nil {
		t.Fatalf("second page = %v", got)
	}
	if hit, _ := hits[0].(map[string]any); hit["role"] != "user" || hit["run_id"] != nil || hit["call_id"] != nil {
		t.Errorf("question = %v", hit)
	}
	asked := []search.Request{{Text: "word", Limit: 3, Tools: true, Project: new("P"), Conversation: "c1"}, {Text: "word", Before: 1}}
	if diff := cmp.Diff(asked, w.asked); diff != "" {
		t.Error(diff)
	}
	for _, query := range []string{"", "?q=a&q=b", "?q=%ff", "?q=" + strings.Repeat("x", search.MaxQueryRunes+1), "?q=x&cursor=-1", "?q=x&cursor=01", "?q=x&cursor=!",
		"?q=x&ranked=2", "?q=x&ranked=true&cursor=1", "?q=x&conversation=a%20b", "?q=x&limit=-1"} {
		wantDetails(t, ask{method: "GET", path: v1 + "/search" + query}.of(api), Invalid)
	}
	if got := decodeJSON(t, ask{method: "GET", path: v1 + "/search?q="}.of(api), 200); got["hits"] == nil {
		t.Errorf("no words = %v, want no hits", got)
	}
}

func TestModelsSettingsAndProjects(t *testing.T) {
	w, api := newWorld(t, nil)
	if got := decodeJSON(t, ask{method: "GET", path: v1 + "/models"}.of(api), 200); !cmp.Equal(got, map[string]any{"models": []any{}}) {
		t.Errorf("no models = %v", got)
	}
	w.models = []Model{{Name: "demo", Available: true, Current: true}, {Name: "openai/x", Reason: "There is no key."}}
	want := map[string]any{"models": []any{
		map[string]any{"name": "demo", "available": true, "current": true},
		map[string]any{"name": "openai/x", "available": false, "reason": "There is no key.", "current": false},
	}}
	if diff := cmp.Diff(want, decodeJSON(t, ask{method: "GET", path: v1 + "/models"}.of(api), 200)); diff != "" {
		t.Error(diff)
	}
	schema, _ := decodeJSON(t, ask{method: "GET", path: v1 + "/settings/schema"}.of(api), 200)["settings"].([]any)
	if len(schema) != len(chat.SettingTable()) {
		t.Errorf("%d settings in the schema", len(schema))
	}
	rows := []command{
		{name: "settings", ask: ask{method: "GET", path: v1 + "/settings"}, answer: `{"model": "openai/fake", "api_key_set": true}`},
		{name: "change them", ask: ask{method: "PATCH", path: v1 + "/settings", body: `{"model":"x"}`}, want: []string{"set"}, answer: `{"model": "openai/fake", "api_key_set": true}`},
		{name: "a project", ask: ask{method: "PUT", path: v1 + "/projects", body: `{"project":"P","instructions":"be brief"}`}, want: []string{`project "P" "be brief"`}, answer: `{"ok": true}`},
		{name: "a project without a name", ask: ask{method: "PUT", path: v1 + "/projects", body: `{"instructions":""}`}, kind: Invalid},
	}
	for _, row := range rows {
		row.run(t)
	}
	if got := decodeJSON(t, ask{method: "GET", path: v1 + "/projects"}.of(api), 200); !cmp.Equal(got["projects"], []any{}) {
		t.Errorf("projects = %v", got)
	}
}

func TestUndoTimeIsToldAsItIs(t *testing.T) {
	w, api := newWorld(t, nil)
	got := decodeJSON(t, ask{method: "DELETE", path: v1 + "/conversations/c1"}.of(api), 200)
	until, err := time.Parse(time.RFC3339, got["undo_until"].(string))
	if err != nil || until.Sub(w.now) > chat.UndoTime || until.Sub(w.now) < chat.UndoTime-time.Second {
		t.Errorf("undo_until = %v, %v; now is %v", got["undo_until"], err, w.now)
	}
}
