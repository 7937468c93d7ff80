package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/library"
	"verbatim/internal/transcript"
)

const v1 = "/api/v1"

// TestM1NoNativeRouteWithoutTheGate asks every route of the layer.
func TestM1NoNativeRouteWithoutTheGate(t *testing.T) {
	asked := 0
	for _, r := range Routes() {
		if !isNative(r.Path) {
			continue
		}
		asked++
		path := regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(r.Path, "c1")
		t.Run(r.Method+" "+r.Path, func(t *testing.T) {
			w, api := newWorld(t, nil)
			body := ""
			if r.Body != "" {
				body = `{"confirm":true}`
			}
			wantDetails(t, ask{method: r.Method, path: path, body: body, noToken: true}.of(api), Unauthenticated)
			wantDetails(t, ask{method: r.Method, path: path, body: body, header: header{"Origin": "https://evil.example"}}.of(api), Denied)
			wantDetails(t, ask{method: r.Method, path: path, body: body, host: "evil.example"}.of(api), Denied)
			if len(w.calls)+len(w.sent)+len(w.listed)+len(w.asked) > 0 || w.body != "" || len(w.files.of) > 0 {
				t.Errorf("a refused request did %v", w.calls)
			}
		})
	}
	if asked < 30 {
		t.Errorf("only %d routes were asked", asked)
	}
}

// decodeJSON reads a good answer.
func decodeJSON(t *testing.T, rec *httptest.ResponseRecorder, status int) map[string]any {
	t.Helper()
	if rec.Code != status {
		t.Fatalf("status = %d %s, want %d", rec.Code, rec.Body, status)
	}
	return decode(t, rec)
}

// command is a request that changes something, and what comes of it.
type command struct {
	name string
	ask  ask
	kind Kind // of the refusal, empty for none
	// want is what was done, answer what was said.
	want   []string
	status int
	answer string
}

func (c command) run(t *testing.T) {
	t.Run(c.name, func(t *testing.T) {
		w, api := newWorld(t, nil)
		rec := c.ask.of(api)
		if diff := cmp.Diff(c.want, w.calls); diff != "" {
			t.Errorf("it did (-want +got):\n%s", diff)
		}
		if c.kind != "" {
			wantDetails(t, rec, c.kind)
			return
		}
		if c.status == 0 {
			c.status = http.StatusOK
		}
		got := decodeJSON(t, rec, c.status)
		var want map[string]any
		if err := json.Unmarshal([]byte(c.answer), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
	})
}

const undo = `"ok": true, "undo_until": "2026-01-02T03:04:35Z"`

func TestNativeCommandsOnConversations(t *testing.T) {
	c1 := v1 + "/conversations/c1"
	item := `{"id": "c1", "title": "T", "project": "", "updated": "", "count": 0, "pinned": false, "archived": false, "unread": false, "model": "", "running": null, "queued": 0, "last_seq": 9}`
	rows := []command{
		{name: "patch all", ask: ask{method: "PATCH", path: c1, body: `{"title":" A ","project":"","pinned":true,"archived":false,"model":"openai/x","read":7}`},
			want: []string{"change c1 map[Archived:false Model:openai/x Pinned:true Project: Read:7 Title: A ]"}, answer: item},
		{name: "patch one", ask: ask{method: "PATCH", path: c1, body: `{"pinned":false}`}, want: []string{"change c1 map[Pinned:false]"}, answer: item},
		{name: "patch nothing", ask: ask{method: "PATCH", path: c1, body: `{"color":"red"}`}, kind: Invalid},
		{name: "patch with an empty title", ask: ask{method: "PATCH", path: c1, body: `{"title":"","pinned":true}`}, kind: Invalid},
		{name: "patch with a word for a truth", ask: ask{method: "PATCH", path: c1, body: `{"title":"A","pinned":"yes"}`}, kind: Invalid},
		{name: "patch with half a seq", ask: ask{method: "PATCH", path: c1, body: `{"read":1.5}`}, kind: Invalid},
		{name: "patch no conversation", ask: ask{method: "PATCH", path: v1 + "/conversations/%20", body: `{"title":"A"}`}, kind: Invalid},

		{name: "I2 delete", ask: ask{method: "DELETE", path: c1}, want: []string{"delete c1"}, answer: `{` + undo + `}`},
		{name: "restore", ask: ask{method: "POST", path: c1 + "/restore"}, want: []string{"restore c1"}, answer: `{"ok": true}`},
		{name: "delete all", ask: ask{method: "DELETE", path: v1 + "/conversations", body: `{"confirm":true}`},
			want: []string{"delete all"}, answer: `{` + undo + `, "deleted": 3, "missing": []}`},
		{name: "delete some", ask: ask{method: "DELETE", path: v1 + "/conversations", body: `{"confirm":true,"ids":["c1","c2"]}`},
			want: []string{"delete c1", "delete c2"}, answer: `{` + undo + `, "deleted": 2, "missing": []}`},
		{name: "delete none of them", ask: ask{method: "DELETE", path: v1 + "/conversations", body: `{"confirm":true,"ids":[]}`},
			answer: `{` + undo + `, "deleted": 0, "missing": []}`},
		{name: "delete all, not sure", ask: ask{method: "DELETE", path: v1 + "/conversations", body: `{"ids":["c1"]}`}, kind: Invalid},
		{name: "delete all, nearly sure", ask: ask{method: "DELETE", path: v1 + "/conversations", body: `{"confirm":1}`}, kind: Invalid},
		{name: "delete all, no body", ask: ask{method: "DELETE", path: v1 + "/conversations"}, kind: Invalid},
		{name: "delete one that can't be", ask: ask{method: "DELETE", path: v1 + "/conversations", body: `{"confirm":true,"ids":["c1","a b"]}`}, kind: Invalid},
		{name: "delete what is no list", ask: ask{method: "DELETE", path: v1 + "/conversations", body: `{"confirm":true,"ids":"c1"}`}, kind: Invalid},

		{name: "fork", ask: ask{method: "POST", path: c1 + "/fork", body: `{"message_id":"m_1"}`}, want: []string{"fork c1 message m_1 seq 0"}, status: 201, answer: `{"id": "c_copy"}`},
		{name: "fork at nothing", ask: ask{method: "POST", path: c1 + "/fork", body: `{}`}, kind: Invalid},
		{name: "fork at what can't be", ask: ask{method: "POST", path: c1 + "/fork", body: `{"message_id":""}`}, kind: Invalid},
	}
	for _, row := range rows {
		row.run(t)
	}
}

func TestNativeCommandsOnMessages(t *testing.T) {
	m1 := v1 + "/conversations/c1/messages/m_1"
	rows := []command{
		{name: "delete by the answer", ask: ask{method: "DELETE", path: m1}, want: []string{"delete c1 message m_1 seq 0"}, answer: `{` + undo + `, "remaining": 4, "message_id": "u_1"}`},
		{name: "delete what is not there", ask: ask{method: "DELETE", path: v1 + "/conversations/c1/messages/m_9"}, kind: Missing},
		{name: "delete what can't be", ask: ask{method: "DELETE", path: v1 + "/conversations/c1/messages/a%20b"}, kind: Invalid},
		{name: "restore by the answer", ask: ask{method: "POST", path: m1 + "/restore"}, want: []string{"restore c1 u_1"}, answer: `{"ok": true}`},
		{name: "restore what is not there", ask: ask{method: "POST", path: v1 + "/conversations/c1/messages/m_9/restore"}, kind: Missing},

		{name: "I6 version by number", ask: ask{method: "POST", path: m1 + "/version", body: `{"n":1}`}, want: []string{"version c1 message m_1 seq 0 1"}, answer: `{"run_id": "r1", "active": 1, "count": 3}`},
		{name: "I6 version by run", ask: ask{method: "POST", path: m1 + "/version", body: `{"run_id":"r2"}`}, want: []string{"version c1 message m_1 seq 0 2"}, answer: `{"run_id": "r1", "active": 2, "count": 3}`},
		{name: "version by a run that is none", ask: ask{method: "POST", path: m1 + "/version", body: `{"run_id":"r9"}`}, kind: Missing},
		{name: "version by both", ask: ask{method: "POST", path: m1 + "/version", body: `{"run_id":"r2","n":1}`}, kind: Invalid},
		{name: "version by neither", ask: ask{method: "POST", path: m1 + "/version", body: `{}`}, kind: Invalid},
		{name: "version before the first", ask: ask{method: "POST", path: m1 + "/version", body: `{"n":-1}`}, kind: Invalid},
		{name: "version by a word", ask: ask{method: "POST", path: m1 + "/version", body: `{"n":"1"}`}, kind: Invalid},

		{name: "edit", ask: ask{method: "POST", path: m1 + "/edit", body: `{"text":" other\n","run_id":"r7"}`}, want: []string{"edit c1 message m_1 seq 0"}, status: 202, answer: `{"run_id": "r_minted", "conversation": "c_copy", "state": "started"}`},
		{name: "edit to nothing", ask: ask{method: "POST", path: m1 + "/edit", body: `{}`}, kind: Invalid},
		{name: "edit to too much", ask: ask{method: "POST", path: m1 + "/edit", body: `{"text":"` + strings.Repeat("x", chat.MaxPromptBytes+1) + `"}`}, kind: TooLarge},
		{name: "edit with a bad run", ask: ask{method: "POST", path: m1 + "/edit", body: `{"text":"x","run_id":"a b"}`}, kind: Invalid},

		{name: "a page", ask: ask{method: "GET", path: v1 + "/conversations/c1/messages?limit=5&before=9"}, want: []string{"messages c1 before 9 limit 5"}, answer: `{"messages": null, "next": null, "last_seq": 0}`},
		{name: "the last page", ask: ask{method: "GET", path: v1 + "/conversations/c1/messages"}, want: []string{"messages c1 before 0 limit 0"}, answer: `{"messages": null, "next": null, "last_seq": 0}`},
		{name: "a page before nothing", ask: ask{method: "GET", path: v1 + "/conversations/c1/messages?before=0"}, kind: Invalid},
		{name: "a page of none", ask: ask{method: "GET", path: v1 + "/conversations/c1/messages?limit=0"}, kind: Invalid},
		{name: "a page of +5", ask: ask{method: "GET", path: v1 + "/conversations/c1/messages?limit=%2B5"}, kind: Invalid},
		{name: "a page of no conversation", ask: ask{method: "GET", path: v1 + "/conversations/c9/messages"}, kind: Missing},
	}
	for _, row := range rows {
		row.run(t)
	}
}

func TestEditKeepsItsText(t *testing.T) {
	w, api := newWorld(t, nil)
	ask{method: "POST", path: v1 + "/conversations/c1/messages/m_1/edit", body: `{"text":" other\r\n","run_id":"r7","tools":false}`}.of(api)
	want := []chat.SendRequest{{Run: "r7", Prompt: " other\r\n", NoTools: true, Via: event.Via{Surface: "api"}}}
	if diff := cmp.Diff(want, w.sent); diff != "" {
		t.Error(diff)
	}
}

func TestNativeQueue(t *testing.T) {
	queue := v1 + "/conversations/c1/queue"
	empty := `{"held": false, "waiting": [], "returned": []}`
	rows := []command{
		{name: "look", ask: ask{method: "GET", path: queue}, answer: empty},
		{name: "edit", ask: ask{method: "PATCH", path: queue + "/r1", body: `{"text":"x "}`}, want: []string{"edit queued c1 r1 x "}, answer: empty},
		{name: "edit to nothing", ask: ask{method: "PATCH", path: queue + "/r1", body: `{"text":null}`}, kind: Invalid},
		{name: "edit what can't be", ask: ask{method: "PATCH", path: queue + "/a%20b", body: `{"text":"x"}`}, kind: Invalid},
		{name: "remove", ask: ask{method: "DELETE", path: queue + "/r1"}, want: []string{"remove queued c1 r1"}, answer: empty},
		{name: "resume", ask: ask{method: "POST", path: queue + "/resume"}, want: []string{"resume c1"}, answer: empty},
	}
	for _, row := range rows {
		row.run(t)
	}
	t.Run("what waits", func(t *testing.T) {
		w, api := newWorld(t, nil)
		w.queue = chat.Queue{
			Held:     true,
			Waiting:  []transcript.Queued{{Run: "r1", Message: event.UserMessage{Text: " a\n"}, Seq: 4}, {Run: "r2", RegenerateOf: "u_1", Seq: 5}},
			Returned: []transcript.Queued{{Run: "r3", Message: event.UserMessage{Text: "b", Attachments: []event.Attachment{{ID: "f1", Name: "n", MIME: "text/plain", Size: 1, Blob: "b_1"}}}, Seq: 6}},
		}
		got := decodeJSON(t, ask{method: "GET", path: queue}.of(api), 200)
		want := map[string]any{
			"held": true,
			"waiting": []any{
				map[string]any{"run_id": "r1", "text": " a\n", "attachments": []any{}, "regenerate_of": nil, "seq": 4.0},
				map[string]any{"run_id": "r2", "text": "", "attachments": []any{}, "regenerate_of": "u_1", "seq": 5.0},
			},
			"returned": []any{map[string]any{"run_id": "r3", "text": "b", "regenerate_of": nil, "seq": 6.0,
				"attachments": []any{map[string]any{"id": "f1", "name": "n", "mime": "text/plain", "size": 1.0, "blob": "b_1"}}}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestConversationPages(t *testing.T) {
	w, api := newWorld(t, nil)
	list := func(query string) *httptest.ResponseRecorder {
		return ask{method: "GET", path: v1 + "/conversations" + query}.of(api)
	}
	running := id.Run("r1")
	w.page = library.ItemPage{Items: []library.Item{{ID: "c1", Title: "T", Updated: "u", Count: 2, Unread: true, Running: &running, LastSeq: 5}}, Next: "more"}
	got := decodeJSON(t, list("?limit=5&cursor=abc&project=&archived=false"), 200)
	want := map[string]any{
		"conversations": []any{map[string]any{
			"id": "c1", "title": "T", "project": "", "updated": "u", "count": 2.0, "pinned": false, "archived": false,
			"unread": true, "model": "", "running": "r1", "queued": 0.0, "last_seq": 5.0,
		}},
		"next": "more",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	w.page.Next = ""
	if got := decodeJSON(t, list(""), 200); got["next"] != nil {
		t.Errorf("next = %v on the last page", got["next"])
	}
	asked := []library.ListQuery{{Limit: 5, Cursor: "abc", Project: new(""), Archived: new(false)}, {}}
	if diff := cmp.Diff(asked, w.listed); diff != "" {
		t.Error(diff)
	}
	for _, query := range []string{"?limit=0", "?limit=x", "?limit=1&limit=2", "?archived=maybe", "?project=%ff", "?cursor=bad"} {
		wantDetails(t, list(query), Invalid)
	}
}

func TestWholeConversation(t *testing.T) {
	w, api := newWorld(t, nil)
	w.whole = library.Conversation{Item: library.Item{ID: "c1", Title: "T", LastSeq: 7}, Messages: []library.Row{}, Queue: library.NewQueue(false, nil, nil)}
	got := decodeJSON(t, ask{method: "GET", path: v1 + "/conversations/c1"}.of(api), 200)
	if got["cursor"] != "e1-7" || got["title"] != "T" || got["queue"] == nil || got["messages"] == nil || got["forked_from"] != nil {
		t.Errorf("conversation = %v", got)
	}
	wantDetails(t, ask{method: "GET", path: v1 + "/conversations/c9"}.of(api), Missing)
}

func TestConversationEvents(t *testing.T) {
	path := v1 + "/conversations/c1/events"
	rows := []struct {
		name, path string
		header     string
		kind       Kind
		cursor     *id.Cursor
		follow     bool
	}{
		{name: "all", path: path, follow: true},
		{name: "behind a cursor", path: path + "?after=e1-4", cursor: &id.Cursor{Epoch: "e1", Seq: 4}, follow: true},
		{name: "behind the header's", path: path + "?after=e1-4", header: "e1-5", cursor: &id.Cursor{Epoch: "e1", Seq: 5}, follow: true},
		{name: "what there is", path: path + "?follow=false"},
		{name: "nonsense", path: path + "?follow=perhaps", kind: Invalid},
		{name: "behind nonsense", path: path + "?after=4", kind: Invalid},
		{name: "of what is not there", path: v1 + "/conversations/c9/events", kind: Missing},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w, api := newWorld(t, nil)
			a := ask{method: "GET", path: row.path}
			if row.header != "" {
				a.header = header{"Last-Event-ID": row.header}
			}
			rec := a.of(api)
			if row.kind != "" {
				wantDetails(t, rec, row.kind)
				return
			}
			if diff := cmp.Diff(row.cursor, w.cursor); diff != "" || w.follow != row.follow || rec.Code != 200 {
				t.Errorf("status %d, follow %v, cursor %s", rec.Code, w.follow, diff)
			}
		})
	}
}
