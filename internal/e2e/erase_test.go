package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"verbatim/internal/chat"
)

// TestErasedTextIsInNoFile puts a word wherever a chat can hold one: title,
// question, attachment and its name, reasoning, commentary, arguments, a request
// for approval and the note to it, a long output that is a file of its own, an
// answer and another version of it, a message that waited and was taken out.
// Then the chat is deleted and its time passes. No file holds the word any more,
// and no backup.
func TestErasedTextIsInNoFile(t *testing.T) {
	const word = "Zyzzyva4e9d"
	workspace := t.TempDir()
	long := strings.Repeat("a line with "+word+" in it\n", 3000)
	if err := os.WriteFile(filepath.Join(workspace, "long"), []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	gate := make(chan struct{})
	u := newUpstream(t, func(a ask) []step {
		switch {
		case strings.HasPrefix(a.Prompt, "kept"):
			return []step{say("Kept too."), finish("stop")}
		case a.Round > 0:
			return []step{think("So it is " + word + ". "), say("The answer is " + word), hold(gate), say("."), finish("stop")}
		}
		return []step{think("Is it " + word + "? "), say("I look for " + word + ". "), call("c1", "run_command", `{"command": "cat long # `+word+`"}`), finish("tool_calls")}
	})
	p := startProduct(t, u, "--workspace", workspace)
	d := p.door()
	d.whole(t, prompt{Prompt: "kept", Chat: "kept"})

	body, err := json.Marshal(map[string]any{
		"prompt": "What about " + word + "?", "chat_id": "gone", "run_id": "gone-run",
		"attachments": []any{map[string]string{"name": word + ".txt", "text": "attached " + word}},
	})
	if err != nil {
		t.Fatal(err)
	}
	res, err := d.request("POST", "/chat", body, http.Header{})
	if err != nil {
		t.Fatal(err)
	}
	s := newStream(res)
	defer s.Close()
	got := &seen{}
	if err := got.readUntil(s, func(f frame) bool { return f.Name == "approval_request" }); err != nil {
		t.Fatal(err)
	}
	aid := got.frames[len(got.frames)-1].Data.Approval
	if code := d.call(t, "POST", "/api/v1/approvals/"+aid, map[string]string{"decision": "allow", "note": "mind " + word}, nil); code != http.StatusOK {
		t.Fatalf("allow: status %d", code)
	}
	if err := got.readUntil(s, func(f frame) bool { return f.Name == "delta" && strings.Contains(f.Data.Text, "answer") }); err != nil {
		t.Fatal(err)
	}
	w := d.mustChat(t, prompt{Prompt: "And " + word + "?", Chat: "gone", Run: "queued-run"}, "")
	defer w.Close()
	mustDo(t, d, "POST", "/cancel/queued-run", nil)
	close(gate)
	if err := got.readAll(s); err != nil || got.terminal == nil || got.terminal.Name != "end" {
		t.Fatalf("%+v, %v", got.terminal, err)
	}
	row := 0
	again := d.mustChat(t, prompt{Chat: "gone", Run: "again-run", RegenerateOf: &row}, "")
	defer again.Close()
	if err := (&seen{}).readUntil(again, func(f frame) bool { return f.Name == "approval_request" }); err != nil {
		t.Fatal(err)
	}
	mustDo(t, d, "POST", "/cancel/again-run", nil)
	mustDo(t, d, "PATCH", "/chats/gone", map[string]string{"title": "About " + word})
	if n := len(holding(t, filepath.Join(p.dir, "blobs"), word)); n != 2 {
		t.Fatalf("%d files hold the word, want the attachment and the output", n)
	}
	mustDo(t, d, "DELETE", "/chats/gone", nil)
	if code := p.stop(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if len(holding(t, p.dir, word)) < 3 {
		t.Fatal("the word can't be found where it is still to be undone")
	}
	letTimePass(t, p.dir)
	nowhere(t, p.dir, word)
	backedUp(t, p, word)
	if strings.Contains(p.stderr.String(), word) {
		t.Error("standard error has words of a chat")
	}
}

// letTimePass opens the data directory of a program that has stopped as one does
// that starts when deletions can't be undone any more, and waits for their
// erasure.
func letTimePass(t *testing.T, dir string) {
	t.Helper()
	at, err := onDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	e, err := openEngineAt(at, func() time.Time { return time.Now().Add(chat.UndoTime) })
	if err != nil {
		t.Fatal(err)
	}
	if err := e.recover(); err != nil {
		t.Error(err)
	}
	until(t, "all is erased that is due", func() bool {
		due, err := e.log.Doomed(t.Context())
		return err == nil && len(due) == 0
	})
	if err := e.stop(); err != nil {
		t.Error(err)
	}
}

// backedUp starts the program on what is left, makes a backup, and looks for the
// word in both.
func backedUp(t *testing.T, p *product, word string) {
	t.Helper()
	p.start()
	d := p.door()
	if code := d.call(t, "GET", "/chats/gone", nil, nil); code != http.StatusNotFound {
		t.Errorf("the chat is there: status %d", code)
	}
	if rows := d.conversation(t, "kept").Messages; len(rows) != 2 || rows[1].Content != "Kept too." {
		t.Errorf("another chat is %+v", rows)
	}
	file := filepath.Join(t.TempDir(), "backup", "file")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := p.command("backup", "--data", p.dir, file)
	said := &output{}
	cmd.Stderr = said
	if err := world.spawner.start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("backup: %v: %s", err, said)
	}
	nowhere(t, filepath.Dir(file), word)
	if code := p.stop(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	nowhere(t, p.dir, word)
}

func mustDo(t *testing.T, d *door, method, path string, body any) {
	t.Helper()
	if code := d.call(t, method, path, body, nil); code != http.StatusOK {
		t.Fatalf("%s %s: status %d", method, path, code)
	}
}
