package httpapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/archive"
	"verbatim/internal/event"
	"verbatim/internal/library"
	"verbatim/internal/store"
)

// keptAnswers are answers in the database.
type keptAnswers struct{ db *store.DB }

func (k keptAnswers) Answer(ctx context.Context, key string) (Answer, bool, error) {
	a, ok, err := k.db.Answer(ctx, key)
	return Answer(a), ok, err
}

func (k keptAnswers) KeepAnswer(ctx context.Context, key string, a Answer) error {
	return k.db.KeepAnswer(ctx, key, store.Answer(a))
}

// get reads an answer of the native layer that must be good.
func get[T any](h *house, method, path, body string, status int) (v T) {
	h.t.Helper()
	res := h.send(method, v1+path, body, "")
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		h.t.Fatalf("%s %s = %d %s, %v; want %d", method, path, res.StatusCode, b, err, status)
	}
	if err := json.Unmarshal(b, &v); err != nil {
		h.t.Fatalf("%s %s: %v: %s", method, path, err, b)
	}
	return v
}

// raw reads an answer as it is.
func (h *house) raw(method, path, body string) string {
	h.t.Helper()
	res := h.send(method, v1+path, body, "")
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 300 {
		h.t.Fatalf("%s %s = %d %s, %v", method, path, res.StatusCode, b, err)
	}
	return string(b)
}

// conversation is what the stories look at.
type shownConversation struct {
	library.Item
	Cursor   string        `json:"cursor"`
	Queue    library.Queue `json:"queue"`
	Messages []struct {
		Role        string             `json:"role"`
		Content     string             `json:"content"`
		Message     string             `json:"message_id"`
		Run         string             `json:"run_id"`
		Active      int                `json:"active"`
		VersionRuns []string           `json:"version_runs"`
		Attachments []event.Attachment `json:"attachments"`
	} `json:"messages"`
}

func (c shownConversation) text() string {
	var b strings.Builder
	for _, m := range c.Messages {
		b.WriteString(m.Role + " " + m.Content + "\n")
	}
	return b.String()
}

func (h *house) shown(c string) shownConversation {
	return get[shownConversation](h, "GET", "/conversations/"+c, "", 200)
}

// answered sends a message and waits for the end of its run.
func (h *house) answered(body string) startedRun {
	h.t.Helper()
	run := get[startedRun](h, "POST", "/runs", body, 202)
	if events := h.raw("GET", "/runs/"+string(run.Run)+"/events", ""); !strings.Contains(events, "event: end\n") {
		h.t.Fatalf("run %s came to:\n%s", run.Run, events)
	}
	return run
}

func TestI6NativeVersionsAndEdits(t *testing.T) {
	h := newHouse(t)
	h.answered(`{"conversation":"c1","prompt":"one","run_id":"r1"}`)
	first := h.shown("c1")
	question, answer := first.Messages[0].Message, first.Messages[1].Message
	h.model.play("one", func(int) []step { return []step{say("better")} })
	h.answered(`{"conversation":"c1","regenerate_of":"` + question + `","run_id":"r2"}`)
	c := h.shown("c1")
	if diff := cmp.Diff([]string{"r1", "r2"}, c.Messages[1].VersionRuns); diff != "" || c.text() != "user one\nassistant better\n" {
		t.Fatalf("after another answer: %s %s", c.text(), diff)
	}
	v := get[chosenVersion](h, "POST", "/conversations/c1/messages/"+answer+"/version", `{"run_id":"r1"}`, 200)
	if v != (chosenVersion{Run: "r1", Active: 0, Count: 2}) || h.shown("c1").text() != "user one\nassistant re: one\n" {
		t.Errorf("chosen %+v, shown %s", v, h.shown("c1").text())
	}
	h.answered(`{"conversation":"c1","prompt":"two"}`)
	two := h.shown("c1").Messages[2].Message
	edited := get[startedRun](h, "POST", "/conversations/c1/messages/"+two+"/edit", `{"text":"three","run_id":"r_edit"}`, 202)
	h.raw("GET", "/runs/r_edit/events", "")
	if got := h.shown(string(edited.Conversation)).text(); edited.Run != "r_edit" || got != "user one\nassistant re: one\nuser three\nassistant re: three\n" {
		t.Errorf("the copy has:\n%s", got)
	}
	if got := h.shown("c1").text(); got != "user one\nassistant re: one\nuser two\nassistant re: two\n" {
		t.Errorf("the original has:\n%s", got)
	}
	copied := get[forkedConversation](h, "POST", "/conversations/c1/fork", `{"message_id":"`+answer+`"}`, 201)
	if got := h.shown(string(copied.ID)); got.text() != "user one\nassistant re: one\n" || len(got.Messages[1].VersionRuns) != 2 {
		t.Errorf("the fork has:\n%s", got.text())
	}
}

func TestI4NativeDeleteAndUndo(t *testing.T) {
	h := newHouse(t)
	h.answered(`{"conversation":"c1","prompt":"one","run_id":"r1"}`)
	h.answered(`{"conversation":"c1","prompt":"two"}`)
	answer := h.shown("c1").Messages[1].Message
	gone := get[deletedTurn](h, "DELETE", "/conversations/c1/messages/"+answer, "", 200)
	if gone.Remaining != 2 || string(gone.Question) == answer || h.shown("c1").text() != "user two\nassistant re: two\n" {
		t.Errorf("deleted %+v, shown:\n%s", gone, h.shown("c1").text())
	}
	if status := h.call("GET", v1+"/runs/r1", "", nil); status != 404 {
		t.Errorf("a deleted run = %d", status)
	}
	if status := h.call("GET", v1+"/runs/r1/events", "", nil); status != 404 {
		t.Errorf("its events = %d", status)
	}
	get[done](h, "POST", "/conversations/c1/messages/"+answer+"/restore", "", 200)
	if got := h.shown("c1").text(); got != "user one\nassistant re: one\nuser two\nassistant re: two\n" {
		t.Errorf("restored:\n%s", got)
	}
	get[undoable](h, "DELETE", "/conversations/c1", "", 200)
	for _, path := range []string{"", "/messages", "/events", "/export"} {
		if status := h.call("GET", v1+"/conversations/c1"+path, "", nil); status != 404 {
			t.Errorf("GET %s of a deleted conversation = %d", path, status)
		}
	}
	get[done](h, "POST", "/conversations/c1/restore", "", 200)
	if got := h.shown("c1"); len(got.Messages) != 4 {
		t.Errorf("restored:\n%s", got.text())
	}
	if status := h.call("POST", v1+"/conversations/c1/restore", "", nil); status != 404 {
		t.Errorf("restored twice = %d", status)
	}
}

func TestNativeQueueOfABusyConversation(t *testing.T) {
	h := newHouse(t)
	gate := make(chan struct{})
	h.model.play("slow", func(int) []step { return []step{say("a"), {wait: gate}, say("b")} })
	get[startedRun](h, "POST", "/runs", `{"conversation":"c1","prompt":"slow","run_id":"r1"}`, 202)
	for _, run := range []string{"r2", "r3"} {
		got := get[startedRun](h, "POST", "/runs", `{"conversation":"c1","prompt":"next","run_id":"`+run+`"}`, 202)
		if got.State != "queued" {
			t.Fatalf("%s: %+v", run, got)
		}
	}
	q := get[library.Queue](h, "PATCH", "/conversations/c1/queue/r3", `{"text":"changed"}`, 200)
	if len(q.Waiting) != 2 || q.Waiting[1].Text != "changed" {
		t.Errorf("edited: %+v", q)
	}
	q = get[library.Queue](h, "DELETE", "/conversations/c1/queue/r2", "", 200)
	if len(q.Waiting) != 1 || len(q.Returned) != 1 || q.Returned[0].Run != "r2" {
		t.Errorf("removed: %+v", q)
	}
	if got := get[library.Run](h, "GET", "/runs/r2", "", 200); got.Status != library.StatusDropped {
		t.Errorf("r2: %+v", got)
	}
	if got := get[library.Run](h, "GET", "/runs/r3", "", 200); got.Status != library.StatusQueued || got.Waiting != 1 {
		t.Errorf("r3: %+v", got)
	}
	if got := get[startedRun](h, "POST", "/runs", `{"conversation":"c1","prompt":"next","run_id":"r2"}`, 202); got.State != "dropped" {
		t.Errorf("r2 again: %+v", got)
	}
	if status := h.call("DELETE", v1+"/conversations/c1/queue/r2", "", nil); status != 404 {
		t.Errorf("removed twice = %d", status)
	}
	if c := h.shown("c1"); c.Queued != 1 || c.Running == nil || *c.Running != "r1" || len(c.Queue.Waiting) != 1 {
		t.Errorf("conversation: %+v", c)
	}
	close(gate)
	h.raw("GET", "/runs/r3/events", "")
	if got := h.shown("c1").text(); got != "user slow\nassistant ab\nuser changed\nassistant re: changed\n" {
		t.Errorf("shown:\n%s", got)
	}
}

// TestListAndConversationAgree: the index tells the same as the fold.
func TestListAndConversationAgree(t *testing.T) {
	h := newHouse(t)
	for _, c := range []string{"c1", "c2", "c3"} {
		h.answered(`{"conversation":"` + c + `","prompt":"hello ` + c + `"}`)
	}
	gate := make(chan struct{})
	h.model.play("slow", func(int) []step { return []step{say("a"), {wait: gate}} })
	get[startedRun](h, "POST", "/runs", `{"conversation":"c3","prompt":"slow"}`, 202)
	get[startedRun](h, "POST", "/runs", `{"conversation":"c3","prompt":"next","run_id":"r_next"}`, 202)
	last := h.shown("c1").LastSeq
	b, _ := json.Marshal(last)
	get[library.Item](h, "PATCH", "/conversations/c1", `{"pinned":true,"project":"P","title":"T","read":`+string(b)+`}`, 200)
	get[library.Item](h, "PATCH", "/conversations/c2", `{"archived":true,"model":"test/other"}`, 200)
	type page struct {
		Conversations []library.Item `json:"conversations"`
		Next          *string        `json:"next"`
	}
	all := get[page](h, "GET", "/conversations", "", 200)
	if len(all.Conversations) != 3 || all.Next != nil {
		t.Fatalf("list = %+v", all)
	}
	for _, item := range all.Conversations {
		if diff := cmp.Diff(h.shown(string(item.ID)).Item, item); diff != "" {
			t.Errorf("%s (-conversation +list):\n%s", item.ID, diff)
		}
		if item.Unread != (item.ID != "c1") {
			t.Errorf("%s: unread = %v", item.ID, item.Unread)
		}
	}
	first := get[page](h, "GET", "/conversations?limit=2", "", 200)
	rest := get[page](h, "GET", "/conversations?limit=2&cursor="+*first.Next, "", 200)
	if diff := cmp.Diff(all.Conversations, append(first.Conversations, rest.Conversations...)); diff != "" {
		t.Errorf("pages (-whole +joined):\n%s", diff)
	}
	for query, want := range map[string]string{"?project=P": "c1", "?archived=true": "c2"} {
		if got := get[page](h, "GET", "/conversations"+query, "", 200); len(got.Conversations) != 1 || string(got.Conversations[0].ID) != want {
			t.Errorf("%s = %+v", query, got)
		}
	}
	close(gate)
	h.raw("GET", "/runs/r_next/events", "")
}

func TestK4FilesComeBackAsTheyWere(t *testing.T) {
	h := newHouse(t)
	const text = "grün\r\n\x1b[31m"
	up := get[uploaded](h, "POST", "/uploads?name=a.txt", text, 201)
	h.answered(`{"conversation":"c1","prompt":"read","attachments":[{"upload":"` + up.ID + `"}]}`)
	files := h.shown("c1").Messages[0].Attachments
	if len(files) != 1 || files[0].Name != "a.txt" || files[0].Blob == up.ID {
		t.Fatalf("attachments = %+v", files)
	}
	for _, query := range []string{"", "?download=true"} {
		if got := h.raw("GET", "/blobs/"+files[0].Blob+query, ""); got != text {
			t.Errorf("%s: %q", query, got)
		}
	}
	if got := h.model.last().Messages[0].Text; !strings.Contains(got, "grün") {
		t.Errorf("the model was told %q", got)
	}
}

func TestExportAndImportAgain(t *testing.T) {
	h := newHouse(t)
	h.answered(`{"conversation":"c1","prompt":"one"}`)
	file := h.raw("GET", "/export", "")
	if file != h.raw("GET", "/conversations/c1/export", "") {
		t.Error("the only conversation is not all there is")
	}
	imported := func(h *house) archive.Imported {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.server.URL+v1+"/import", strings.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+testToken)
		res, err := h.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var got archive.Imported
		if err := json.NewDecoder(res.Body).Decode(&got); err != nil || res.StatusCode != http.StatusOK || len(got.Conversations) != 1 {
			t.Fatalf("import = %d %+v, %v", res.StatusCode, got, err)
		}
		return got
	}
	if got := imported(h).Conversations[0]; got.State != archive.Unchanged {
		t.Errorf("where it is from: %+v", got)
	}
	other := newHouse(t)
	if got := imported(other).Conversations[0]; got.State != archive.Done {
		t.Errorf("elsewhere: %+v", got)
	}
	if got := other.raw("GET", "/export", ""); got != file {
		t.Errorf("exported again:\n%s\nwant\n%s", got, file)
	}
}

// TestKeysAreKeptInTheDatabase: the fork is made once.
func TestKeysAreKeptInTheDatabase(t *testing.T) {
	h := newHouse(t)
	h.answered(`{"conversation":"c1","prompt":"one"}`)
	answer := h.shown("c1").Messages[1].Message
	var bodies []string
	for range 2 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.server.URL+v1+"/conversations/c1/fork", strings.NewReader(`{"message_id":"`+answer+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+testToken)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set(KeyHeader, "k1")
		res, err := h.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusCreated {
			t.Fatalf("fork = %d %s, %v", res.StatusCode, b, err)
		}
		bodies = append(bodies, string(b))
	}
	if bodies[0] != bodies[1] || bodies[0] == "" {
		t.Errorf("answers %q", bodies)
	}
	if got := h.raw("GET", "/conversations", ""); strings.Count(got, `"id":`) != 2 {
		t.Errorf("conversations: %s", got)
	}
}
