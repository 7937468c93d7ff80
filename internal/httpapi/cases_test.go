package httpapi

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/llm"
)

// writes plays a round that writes a file, then an answer.
func writes(path string) func(int) []step {
	return func(round int) []step {
		if round == 0 {
			return []step{callTool("write_file", fmt.Sprintf(`{"path":%q,"content":"x"}`, path))}
		}
		return []step{say("done")}
	}
}

func (h *house) written(path string) bool {
	_, err := os.Stat(filepath.Join(h.workspace, path))
	return err == nil
}

func (h *house) decide(asked frame, choice string) int {
	h.t.Helper()
	return h.call("POST", fmt.Sprint("/approve/", asked.data["approval_id"]), `{"choice":"`+choice+`"}`, nil)
}

func TestH1AllowRunsTheCallThatWasMeant(t *testing.T) {
	h := newHouse(t)
	h.model.play("one", writes("one.txt"))
	h.model.play("two", writes("two.txt"))
	one, two := h.follow(`{"prompt":"one","chat_id":"c1"}`), h.follow(`{"prompt":"two","chat_id":"c2"}`)
	first, second := one.until("approval_request"), two.until("approval_request")
	if h.written("one.txt") || h.written("two.txt") {
		t.Fatal("a call ran before somebody decided")
	}
	if status := h.decide(second, "allow"); status != http.StatusOK {
		t.Errorf("allow = %d", status)
	}
	if two.rest().kind != "end" || !h.written("two.txt") || h.written("one.txt") {
		t.Errorf("run two: %s; files one %t, two %t", two.kinds(), h.written("one.txt"), h.written("two.txt"))
	}
	if status := h.call("POST", "/approve/a_9", `{"choice":"allow"}`, nil); status != http.StatusNotFound {
		t.Errorf("unknown = %d", status)
	}
	if h.decide(second, "allow") != http.StatusOK || h.decide(second, "deny") != http.StatusNotFound {
		t.Error("after the first decision: want 200 for the same one, 404 for another")
	}
	if h.decide(first, "deny") != http.StatusOK || one.rest().kind != "end" || h.written("one.txt") {
		t.Errorf("run one: %s, written %t", one.kinds(), h.written("one.txt"))
	}
}

func TestI1NothingComesAfterStop(t *testing.T) {
	h := newHouse(t)
	h.model.play("long", func(int) []step { return []step{say("Once"), {untilGone: true}} })
	first := h.follow(`{"prompt":"long","chat_id":"c1","run_id":"r1"}`)
	first.until("delta")
	if status := h.call("POST", "/cancel/r1", "", nil); status != http.StatusOK {
		t.Errorf("cancel = %d", status)
	}
	second := h.follow(`{"prompt":"next","chat_id":"c1","run_id":"r2"}`)
	if first.rest().kind != "cancelled" || strings.Count(first.kinds(), "cancelled") != 1 {
		t.Errorf("the stopped run: %s", first.kinds())
	}
	if second.rest().kind != "end" {
		t.Errorf("the next run: %s", second.kinds())
	}
	h.wantTexts("c1", "user long\nassistant "+first.said()+"\nuser next\nassistant re: next\n")
	if row := h.rows("c1")[1]; row.Status != "cancelled" {
		t.Errorf("the answer is %s", row.Status)
	}
}

func TestI2StopAfterAReload(t *testing.T) {
	h := newHouse(t)
	h.model.play("long", func(int) []step { return []step{say("Once"), {untilGone: true}} })
	const body = `{"prompt":"long","chat_id":"c1","run_id":"r1"}`
	first := h.follow(body)
	first.until("delta")
	first.close()
	again := h.follow(body)
	again.until("delta")
	if row := h.rows("c1")[1]; row.Status != "running" {
		t.Fatalf("a lost connection made the run %s", row.Status)
	}
	if status := h.call("POST", "/cancel", `{"run_id":"r1"}`, nil); status != http.StatusOK {
		t.Errorf("cancel = %d", status)
	}
	if again.rest().kind != "cancelled" {
		t.Errorf("the resumed stream: %s", again.kinds())
	}
	if n := h.model.count(); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestI3HistoryIsWholeAfterStop(t *testing.T) {
	h := newHouse(t)
	h.model.play("write", writes("a.txt"))
	f := h.follow(`{"prompt":"write","chat_id":"c1","run_id":"r1"}`)
	asked := f.until("approval_request")
	h.call("POST", "/cancel/r1", "", nil)
	if f.rest().kind != "cancelled" || strings.Count(f.kinds(), "tool_result") != 1 {
		t.Fatalf("the stopped run: %s", f.kinds())
	}
	if status := h.decide(asked, "allow"); status != http.StatusNotFound || h.written("a.txt") {
		t.Errorf("a late allow = %d, written %t", status, h.written("a.txt"))
	}
	h.whole(`{"prompt":"next","chat_id":"c1"}`)
	wantPairs(t, h.model.last(), 1)
}

// wantPairs checks that a request has n calls, each with its result right behind
// the message that made it.
func wantPairs(t *testing.T, req llm.Request, n int) {
	t.Helper()
	var asked, answered []string
	for _, m := range req.Messages {
		for _, c := range m.Calls {
			asked = append(asked, c.ID)
		}
		if m.Result != nil {
			answered = append(answered, m.Result.ID)
			if m.Text == "" {
				t.Errorf("the result of call %s says nothing", m.Result.ID)
			}
		}
	}
	if diff := cmp.Diff(asked, answered); diff != "" || len(asked) != n {
		t.Errorf("calls %v, results %v, want %d of each", asked, answered, n)
	}
}

func TestI4DeleteWhileItsAnswerStreams(t *testing.T) {
	h := newHouse(t)
	h.model.play("second", func(int) []step { return []step{say("half"), {untilGone: true}} })
	h.whole(`{"prompt":"first","chat_id":"c1"}`)
	f := h.follow(`{"prompt":"second","chat_id":"c1","run_id":"r2"}`)
	f.until("delta")
	var got remaining
	if status := h.call("DELETE", "/messages/c1/2", "", &got); status != http.StatusOK || got != (remaining{OK: true, Remaining: 2}) {
		t.Errorf("delete = %d %+v", status, got)
	}
	if f.rest().kind != "cancelled" {
		t.Errorf("its stream: %s", f.kinds())
	}
	h.wantTexts("c1", "user first\nassistant re: first\n")
	var e failure
	if status := h.call("POST", "/chat", `{"prompt":"second","chat_id":"c1","run_id":"r2"}`, &e); status != http.StatusNotFound || e.Code != Missing {
		t.Errorf("the run of a deleted turn = %d %+v", status, e)
	}
	h.whole(`{"prompt":"third","chat_id":"c1"}`)
	h.wantTexts("c1", "user first\nassistant re: first\nuser third\nassistant re: third\n")
	for _, m := range h.model.last().Messages {
		if strings.Contains(m.Text, "second") || strings.Contains(m.Text, "half") {
			t.Errorf("the model was told %q", m.Text)
		}
	}
}

func TestI5AnswerAgainIsAVersionOfItsRow(t *testing.T) {
	h := newHouse(t)
	h.whole(`{"prompt":"one","chat_id":"c1"}`)
	h.whole(`{"prompt":"two","chat_id":"c1"}`)
	h.model.play("two", func(int) []step { return []step{say("better")} })
	f := h.follow(`{"prompt":"two","chat_id":"c1","regenerate_of":2}`)
	end := f.rest()
	places := []any{end.data["user_index"], end.data["assistant_index"], end.data["versions"], end.data["active"]}
	if diff := cmp.Diff([]any{2.0, 3.0, 2.0, 1.0}, places); diff != "" {
		t.Errorf("end (-want +got):\n%s", diff)
	}
	h.wantTexts("c1", "user one\nassistant re: one\nuser two\nassistant better\n")
	var v shownVersion
	if status := h.call("POST", "/version/c1/3/0", "", &v); status != http.StatusOK || v != (shownVersion{OK: true, Active: 0, Count: 2, Content: "re: two"}) {
		t.Errorf("version = %d %+v", status, v)
	}
	h.wantTexts("c1", "user one\nassistant re: one\nuser two\nassistant re: two\n")
	if status := h.call("POST", "/version/c1/3/2", "", nil); status != http.StatusNotFound {
		t.Errorf("a version that is not there = %d", status)
	}
}

func TestI6StopSendsNothingThatWaits(t *testing.T) {
	h := newHouse(t)
	late := make(chan struct{})
	h.model.play("run", func(int) []step { return []step{say("half"), {wait: late}} })
	run := h.follow(`{"prompt":"run","chat_id":"c1","run_id":"r1"}`)
	run.until("delta")
	one, two := h.follow(`{"prompt":"q1","chat_id":"c1","run_id":"r2"}`), h.follow(`{"prompt":"q2","chat_id":"c1","run_id":"r3"}`)
	h.call("POST", "/cancel/r1", "", nil)
	three := h.follow(`{"prompt":"q3","chat_id":"c1","run_id":"r4"}`)
	close(late)
	if run.rest().kind != "cancelled" || three.rest().kind != "end" {
		t.Errorf("runs: %s, %s", run.kinds(), three.kinds())
	}
	for _, f := range []*follower{one, two} {
		if f.rest(); f.kinds() != "cancelled" {
			t.Errorf("a dropped message: %s, want one cancelled and nothing else", f.kinds())
		}
	}
	h.wantTexts("c1", "user run\nassistant half\nuser q3\nassistant re: q3\n")
	if n := h.model.count(); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
	again := h.follow(`{"prompt":"q1","chat_id":"c1","run_id":"r2"}`)
	if again.rest(); again.kinds() != "cancelled" {
		t.Errorf("asked for again: %s", again.kinds())
	}
	var e failure
	if status := h.call("POST", "/chat", `{"prompt":"other","chat_id":"c1","run_id":"r2"}`, &e); status != http.StatusUnprocessableEntity {
		t.Errorf("a spent run id = %d %+v", status, e)
	}
}

func TestI6WhatIsDroppedCanBeTypedAgain(t *testing.T) {
	h := newHouse(t)
	late := make(chan struct{})
	h.model.play("run", func(int) []step { return []step{say("half"), {wait: late}} })
	run := h.follow(`{"prompt":"run","chat_id":"c1","run_id":"r1"}`)
	run.until("delta")
	waits := h.follow(`{"prompt":" typed\n","chat_id":"c1","run_id":"r2"}`)
	h.call("POST", "/cancel/r1", "", nil)
	close(late)
	run.rest()
	waits.rest()
	q, err := h.service.Queue(t.Context(), "c1")
	if err != nil || len(q.Waiting) != 0 || len(q.Returned) != 1 || q.Returned[0].Message.Text != " typed\n" {
		t.Errorf("queue = %+v, %v", q, err)
	}
}

func TestQueueGoesOnInOrder(t *testing.T) {
	h := newHouse(t)
	gate := make(chan struct{})
	h.model.play("run", func(int) []step { return []step{say("one"), {wait: gate}} })
	run := h.follow(`{"prompt":"run","chat_id":"c1"}`)
	run.until("delta")
	first, dropped, last := h.follow(`{"prompt":"q1","chat_id":"c1"}`), h.follow(`{"prompt":"q2","chat_id":"c1","run_id":"r2"}`), h.follow(`{"prompt":"q3","chat_id":"c1"}`)
	if status := h.call("POST", "/cancel/r2", "", nil); status != http.StatusOK {
		t.Errorf("cancel = %d", status)
	}
	if dropped.rest(); dropped.kinds() != "cancelled" {
		t.Errorf("the one that was taken out: %s", dropped.kinds())
	}
	close(gate)
	for _, f := range []*follower{run, first, last} {
		if f.rest().kind != "end" {
			t.Errorf("run: %s", f.kinds())
		}
	}
	h.wantTexts("c1", "user run\nassistant one\nuser q1\nassistant re: q1\nuser q3\nassistant re: q3\n")
}

func TestI7ForkAfterADelete(t *testing.T) {
	h := newHouse(t)
	for _, prompt := range []string{"one", "two", "three"} {
		h.model.play(prompt, func(round int) []step {
			if round == 0 {
				return []step{say("Looking. "), callTool("current_time", `{}`)}
			}
			return []step{say("It is late.")}
		})
		h.whole(fmt.Sprintf(`{"prompt":%q,"chat_id":"c1"}`, prompt))
	}
	before := h.rows("c1")
	if status := h.call("DELETE", "/messages/c1/1", "", nil); status != http.StatusOK {
		t.Fatalf("delete = %d", status)
	}
	const answer = "assistant Looking. \n\nIt is late.\n"
	// A client that has not looked since means the answer to "one".
	if res := h.send("POST", "/fork/c1/1", "", string(before[1].Seq)); res.StatusCode != http.StatusConflict {
		t.Errorf("fork at a row that moved = %d", res.StatusCode)
	} else {
		res.Body.Close()
	}
	var copied forked
	if status := h.call("POST", "/fork/c1/1", "", &copied); status != http.StatusOK || copied.ID == "c1" {
		t.Fatalf("fork = %d %+v", status, copied)
	}
	child := string(copied.ID)
	h.wantTexts(child, "user two\n"+answer)
	parts := h.rows(child)[1].Parts
	if len(parts) != 3 || parts[1].Name != "current_time" || parts[1].OK == nil || !*parts[1].OK || parts[1].Output == "" {
		t.Errorf("parts of the copy = %+v", parts)
	}
	h.whole(fmt.Sprintf(`{"prompt":"next","chat_id":%q}`, child))
	wantPairs(t, h.model.last(), 1)
	h.wantTexts("c1", "user two\n"+answer+"user three\n"+answer)
}

func TestRowsThatMoved(t *testing.T) {
	h := newHouse(t)
	for _, prompt := range []string{"one", "two", "three"} {
		h.whole(fmt.Sprintf(`{"prompt":%q,"chat_id":"c1"}`, prompt))
	}
	looked := h.rows("c1")
	h.call("DELETE", "/messages/c1/0", "", nil)
	now := h.texts("c1")
	stale := func(method, path, body string, row int) {
		t.Helper()
		res := h.send(method, path, body, string(looked[row].Seq))
		defer res.Body.Close()
		if res.StatusCode != http.StatusConflict || h.texts("c1") != now {
			t.Errorf("%s %s = %d, rows:\n%s", method, path, res.StatusCode, h.texts("c1"))
		}
	}
	stale("DELETE", "/messages/c1/2", "", 2)
	stale("POST", "/messages/c1/3", "", 3)
	stale("POST", "/fork/c1/3", "", 3)
	stale("POST", "/version/c1/3/0", "", 3)
	stale("DELETE", "/messages/c1/5", "", 5)
	stale("POST", "/chat", `{"regenerate_of":2,"chat_id":"c1"}`, 2)
	res := h.send("DELETE", "/messages/c1/2", "", `"`+string(h.rows("c1")[2].Seq)+`"`)
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("with the seq of now = %d", res.StatusCode)
	}
	h.wantTexts("c1", "user two\nassistant re: two\n")
}

func TestK1PictureThatIsRefusedLeavesNothing(t *testing.T) {
	h := newHouse(t)
	heic := inBase64("photo.jpg", "image/jpeg", []byte("\x00\x00\x00\x18ftypheic"+strings.Repeat("\x00", 64)))
	var e failure
	status := h.call("POST", "/chat", `{"prompt":"look","chat_id":"c1","attachments":[`+heic+`]}`, &e)
	if status != http.StatusUnsupportedMediaType || !strings.Contains(e.Error, "photo.jpg is a HEIC picture") {
		t.Errorf("answer = %d %+v", status, e)
	}
	if h.rows("c1") != nil || h.model.count() != 0 {
		t.Errorf("there is a chat, or the model was asked: %s", h.texts("c1"))
	}
	h.whole(`{"prompt":"only text","chat_id":"c1"}`)
	h.wantTexts("c1", "user only text\nassistant re: only text\n")
}

func TestK2SVGGoesAsText(t *testing.T) {
	h := newHouse(t)
	const svg = "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
	h.whole(`{"prompt":"look","chat_id":"c1","attachments":[` + inBase64("a.svg", "image/svg+xml", []byte(svg)) + `]}`)
	asked := h.model.last().Messages[0]
	if len(asked.Files) > 0 || !strings.Contains(asked.Text, svg) || !strings.Contains(asked.Text, "a.svg") {
		t.Errorf("the model was told %q with %d files", asked.Text, len(asked.Files))
	}
	if got := h.rows("c1")[0].Content; got != "look" {
		t.Errorf("the question is %q", got)
	}
}

func TestK3TextInOldEncodings(t *testing.T) {
	h := newHouse(t)
	straddling := strings.Repeat("x", 32767) + "€ and more"
	rows := []struct{ name, file, want string }{
		{"UTF-16", "\xff\xfeh\x00\xe9\x00l\x00l\x00o\x00", "héllo"},
		{"UTF-8 over the edge of a block", straddling, straddling},
		{"UTF-8", "è —", "è —"},
		{"GBK", "\xc4\xe3\xba\xc3", "你好"},
	}
	for i, row := range rows {
		chat := fmt.Sprint("c", i)
		h.whole(`{"prompt":"read","chat_id":"` + chat + `","attachments":[` + inBase64("a.txt", "text/plain", []byte(row.file)) + `]}`)
		if got := h.model.last().Messages[0].Text; !strings.Contains(got, row.want) {
			t.Errorf("%s: the model was told %.80q", row.name, got)
		}
	}
}

func TestK4AnswerAgainSendsTheFileAgain(t *testing.T) {
	h := newHouse(t)
	pixel, err := base64.StdEncoding.DecodeString(onePixel)
	if err != nil {
		t.Fatal(err)
	}
	h.whole(`{"prompt":"what is this?","chat_id":"c1","attachments":[` + inBase64("p.png", "image/png", pixel) + `,{"name":"n.txt","text":"a note"}]}`)
	h.whole(`{"prompt":"what is this?","chat_id":"c1","regenerate_of":0}`)
	if n := h.model.count(); n != 2 {
		t.Fatalf("the model was asked %d times", n)
	}
	asked := h.model.last().Messages[0]
	if len(asked.Files) != 1 || asked.Files[0].MIME != "image/png" || !bytes.Equal(asked.Files[0].Data, pixel) || !strings.Contains(asked.Text, "a note") {
		t.Errorf("the model was told %q with %d files", asked.Text, len(asked.Files))
	}
}

func TestSearchFindsWhatWasSaid(t *testing.T) {
	h := newHouse(t)
	h.whole(`{"prompt":"the quick brown fox","chat_id":"c1"}`)
	h.model.play("again", func(int) []step { return []step{say("Brownish")} })
	h.whole(`{"prompt":"again","chat_id":"c1"}`)
	h.whole(`{"prompt":"again","chat_id":"c1","regenerate_of":2}`)
	h.whole(`{"prompt":"我们今天讨论数据库迁移方案","chat_id":"c2"}`)
	find := func(q string) []hit {
		t.Helper()
		var got hits
		if status := h.call("GET", "/search?q="+q, "", &got); status != http.StatusOK {
			t.Errorf("search = %d", status)
		}
		return got.Hits
	}
	want := []hit{
		{ID: "c1", Title: "the quick brown fox", Snippet: "Brownish", Index: 3},
		{ID: "c1", Title: "the quick brown fox", Snippet: "re: the quick brown fox", Index: 1},
		{ID: "c1", Title: "the quick brown fox", Snippet: "the quick brown fox", Index: 0},
	}
	if diff := cmp.Diff(want, find("BROWN")); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
	if got := find("%E8%BF%81%E7%A7%BB"); len(got) != 2 || got[0].ID != "c2" {
		t.Errorf("two characters find %+v", got)
	}
	h.call("DELETE", "/messages/c1/0", "", nil)
	want = []hit{{ID: "c1", Title: "again", Snippet: "Brownish", Index: 1}}
	if diff := cmp.Diff(want, find("brown")); diff != "" {
		t.Errorf("after a delete (-want +got):\n%s", diff)
	}
}
