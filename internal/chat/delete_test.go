package chat_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/attachment"
	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/llm"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

var noQuery turnlog.Query

// wantListed checks that the list says the same of a conversation as its fold.
func (w *world) wantListed(c, title string, rows int) {
	w.t.Helper()
	state := w.state(c)
	if state.Title != title || len(state.Rows()) != rows {
		w.t.Errorf("%s is %q with %d rows, want %q with %d", c, state.Title, len(state.Rows()), title, rows)
	}
	list, err := w.log.Conversations(w.t.Context(), noQuery)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, line := range list {
		if line.Conversation == id.Conversation(c) {
			if line.Title != title || line.Rows != rows {
				w.t.Errorf("%s is listed as %q with %d rows, want %q with %d", c, line.Title, line.Rows, title, rows)
			}
			return
		}
	}
	if rows > 0 {
		w.t.Errorf("%s is not listed", c)
	}
}

func TestDeleteMessageAndUndo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.ask("c", "one")
		w.ask("c", "two")
		first := w.state("c").Turns[0].User.Message
		left, err := w.service.DeleteMessage(t.Context(), "c", chat.Target{Index: 1, Seq: 2}, via)
		if err != nil || left != 2 {
			t.Fatalf("%d rows left, %v", left, err)
		}
		w.wantRows("c", "user: two\ncomplete: re: two\n")
		w.wantListed("c", "two", 2)
		_, err = w.service.DeleteMessage(t.Context(), "c", chat.Target{Message: first}, via)
		wantCode(t, err, chat.Missing)
		w.ask("c", "three")
		asked := w.model.requests()
		for _, m := range asked[len(asked)-1].Messages {
			if strings.Contains(m.Text, "one") {
				t.Errorf("the model was told %q", m.Text)
			}
		}
		time.Sleep(chat.UndoTime - time.Second)
		if err := w.service.RestoreMessage(t.Context(), "c", first); err != nil {
			t.Fatal(err)
		}
		w.wantRows("c", "user: one\ncomplete: re: one\nuser: two\ncomplete: re: two\nuser: three\ncomplete: re: three\n")
		w.wantListed("c", "one", 6)
		wantCode(t, w.service.RestoreMessage(t.Context(), "c", first), chat.Missing)
		time.Sleep(time.Hour)
		w.wantListed("c", "one", 6)
	})
}

func TestRowsMoved(t *testing.T) {
	w := newWorld(t)
	w.ask("c", "one")
	w.ask("c", "two")
	seq := w.state("c").Turns[1].UserSeq
	if _, err := w.service.DeleteMessage(t.Context(), "c", chat.Target{Index: 0}, via); err != nil {
		t.Fatal(err)
	}
	for name, act := range map[string]func(chat.Target) error{
		"delete":  func(x chat.Target) error { _, err := w.service.DeleteMessage(t.Context(), "c", x, via); return err },
		"version": func(x chat.Target) error { _, err := w.service.SetVersion(t.Context(), "c", x, 0); return err },
		"fork":    func(x chat.Target) error { _, err := w.service.Fork(t.Context(), "c", x); return err },
		"regenerate": func(x chat.Target) error {
			r := request("c", "", "")
			r.Regenerate = &x
			_, err := w.service.Send(t.Context(), r)
			return err
		},
	} {
		for _, x := range []chat.Target{{Index: 2, Seq: seq}, {Index: 0, Seq: 1}} {
			t.Run(name, func(t *testing.T) { wantCode(t, act(x), chat.Conflict) })
		}
	}
	w.wantRows("c", "user: two\ncomplete: re: two\n")
}

// I4: a message is deleted while its answer streams.
func TestI4DeleteWhileItStreams(t *testing.T) {
	w := newWorld(t)
	w.ask("c", "one")
	two, release := w.busy("c", "r2", "two")
	queued := w.send("c", "", "three")
	if _, err := w.service.DeleteMessage(t.Context(), "c", chat.Target{Message: w.state("c").Turns[1].User.Message}, via); err != nil {
		t.Fatal(err)
	}
	release()
	if end := w.wait(two); end != "cancelled" {
		t.Errorf("its run ended as %s", end)
	}
	w.wait(queued)
	w.wantRows("c", "user: one\ncomplete: re: one\nuser: three\ncomplete: re: three\n")
	_, err := w.service.Send(t.Context(), request("c", "r2", "two"))
	wantCode(t, err, chat.Missing)
}

func TestDeleteConversationAndUndo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.ask("c", "one")
		if err := w.service.Rename(t.Context(), "c", "Named"); err != nil {
			t.Fatal(err)
		}
		if err := w.service.SetProject(t.Context(), "c", "Ops"); err != nil {
			t.Fatal(err)
		}
		if err := w.service.Delete(t.Context(), "c", via); err != nil {
			t.Fatal(err)
		}
		w.wantListed("c", "", 0)
		w.ask("c", "new")
		w.wantListed("c", "new", 2)
		if err := w.service.Restore(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
		w.wantRows("c", "user: one\ncomplete: re: one\nuser: new\ncomplete: re: new\n")
		w.wantListed("c", "Named", 4)
		if w.state("c").Project != "Ops" {
			t.Errorf("project %q", w.state("c").Project)
		}
		wantCode(t, w.service.Restore(t.Context(), "c"), chat.Missing)
	})
}

// marker is a word that stands nowhere else.
const marker = "Zyzzyva7f3c"

// A deleted and erased text is nowhere: not in the database, its log or its
// index, not in a file, not in a backup.
func TestErasedTextIsNowhere(t *testing.T) {
	for name, remove := range map[string]func(w *world) error{
		"a turn": func(w *world) error {
			_, err := w.service.DeleteMessage(w.t.Context(), "c", chat.Target{Index: 0}, via)
			return err
		},
		"a conversation": func(w *world) error { return w.service.Delete(w.t.Context(), "c", via) },
	} {
		for _, restart := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " across a restart"}[restart], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					if err := w.service.Recover(t.Context()); err != nil {
						t.Fatal(err)
					}
					f, err := attachment.Inspect(marker+".txt", []byte("a file that says "+marker))
					if err != nil {
						t.Fatal(err)
					}
					r := request("c", "", "the word "+marker)
					r.Files = []attachment.File{f}
					info, err := w.service.Send(t.Context(), r)
					if err != nil {
						t.Fatal(err)
					}
					w.wait(info)
					w.ask("c", "two")
					w.ask("other", "kept")
					if !w.holds(marker) {
						t.Fatal("the marker can't be found where it is")
					}
					if err := remove(w); err != nil {
						t.Fatal(err)
					}
					if restart {
						w.crash()
						if err := w.service.Recover(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					time.Sleep(chat.UndoTime + time.Second)
					synctest.Wait()
					w.ask("other", "later")
					if err := w.db.Backup(t.Context(), filepath.Join(w.dir, "backup.db")); err != nil {
						t.Fatal(err)
					}
					if w.holds(marker) {
						t.Error("the erased text is still there")
					}
					want := map[string]string{"a turn": "user: two\ncomplete: re: two\n", "a conversation": ""}[name]
					w.wantRows("c", want)
					if got := w.state("c"); got.Erased == 0 {
						t.Error("there are no tombstones")
					}
					wantCode(t, w.service.Restore(t.Context(), "c"), chat.Missing)
				})
			})
		}
	}
}

// holds reports whether a file of the directory has a text in it.
func (w *world) holds(text string) bool {
	w.t.Helper()
	found := false
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) || bytes.Contains(b, []byte(strings.ToLower(text))) {
			w.t.Logf("%s holds it", path)
			found = true
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// What was deleted before a crash is still erased, and erasing twice is nothing.
func TestErasureIsTakenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.ask("c", marker)
		if err := w.service.Delete(t.Context(), "c", via); err != nil {
			t.Fatal(err)
		}
		w.crash()
		time.Sleep(time.Hour)
		wantCode(t, w.service.Restore(t.Context(), "c"), chat.Missing)
		if err := w.service.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		doomed, err := w.log.Doomed(t.Context())
		if len(doomed) != 0 || err != nil {
			t.Errorf("still to be erased: %+v, %v", doomed, err)
		}
		w.ask("c", "new")
		w.wantListed("c", "new", 2)
	})
}

func TestSetVersion(t *testing.T) {
	w := newWorld(t)
	w.ask("c", "one")
	again := request("c", "", "")
	again.Regenerate = &chat.Target{}
	info, err := w.service.Send(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	w.wait(info)
	for _, index := range []int{0, 1} {
		for n := range 2 {
			got, err := w.service.SetVersion(t.Context(), "c", chat.Target{Index: index}, n)
			if err != nil || got.Active != n || got.Count != 2 {
				t.Errorf("row %d, version %d: %+v, %v", index, n, got, err)
			}
			if active := w.state("c").Turns[0].Active(); active.ID != got.Run {
				t.Errorf("row %d, version %d: %s is shown", index, n, active.ID)
			}
		}
	}
	head := w.state("c").Seq
	if _, err := w.service.SetVersion(t.Context(), "c", chat.Target{}, 1); err != nil || w.state("c").Seq != head {
		t.Errorf("choosing what is shown wrote something, or %v", err)
	}
	for _, n := range []int{-1, 2} {
		_, err := w.service.SetVersion(t.Context(), "c", chat.Target{}, n)
		wantCode(t, err, chat.Missing)
	}
}

// I7: a fork by a row that moved keeps every row of it and all before it, with
// versions; the two go their own ways.
func TestI7Fork(t *testing.T) {
	w := newWorld(t)
	w.ask("c", "zero")
	w.ask("c", "one")
	again := request("c", "", "")
	again.Regenerate = &chat.Target{Index: 2}
	info, err := w.service.Send(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	w.wait(info)
	if _, err := w.service.SetVersion(t.Context(), "c", chat.Target{Index: 2}, 0); err != nil {
		t.Fatal(err)
	}
	w.ask("c", "two")
	if _, err := w.service.DeleteMessage(t.Context(), "c", chat.Target{Index: 0}, via); err != nil {
		t.Fatal(err)
	}
	child, err := w.service.Fork(t.Context(), "c", chat.Target{Index: 1})
	if err != nil {
		t.Fatal(err)
	}
	w.wantRows(string(child), "user: one\ncomplete: re: one\n")
	w.wantListed(string(child), "one (fork)", 2)
	turn := w.state(string(child)).Turns[0]
	if count, active := turn.VersionCount(); count != 2 || active != 0 {
		t.Errorf("%d versions, %d is shown", count, active)
	}
	if f := w.state(string(child)).Forked; f == nil || f.Conversation != "c" {
		t.Errorf("forked from %+v", f)
	}
	w.ask(string(child), "mine")
	w.wantRows("c", "user: one\ncomplete: re: one\nuser: two\ncomplete: re: two\n")
	w.wantRows(string(child), "user: one\ncomplete: re: one\nuser: mine\ncomplete: re: mine\n")
	question, err := w.service.Fork(t.Context(), "c", chat.Target{Index: 2})
	if err != nil {
		t.Fatal(err)
	}
	w.wantRows(string(question), "user: one\ncomplete: re: one\nuser: two\n")
}

func TestForkOfARunningAnswer(t *testing.T) {
	w := newWorld(t)
	info, release := w.busy("c", "", "one")
	w.until("c", func(state *transcript.Conversation) bool { return state.Turns[0].Runs[0].Content() == "re: " })
	child, err := w.service.Fork(t.Context(), "c", chat.Target{Index: 1})
	if err != nil {
		t.Fatal(err)
	}
	w.wantRows(string(child), "user: one\ninterrupted: re: \n")
	release()
	w.wait(info)
	w.wantRows("c", "user: one\ncomplete: re: one\n")
	w.wantRows(string(child), "user: one\ninterrupted: re: \n")
}

// K4: a question is changed, or answered again; its file goes along each time.
func TestK4EditAndSendKeepsTheFile(t *testing.T) {
	w := newWorld(t)
	f, err := attachment.Inspect("n.txt", []byte("the file's words"))
	if err != nil {
		t.Fatal(err)
	}
	r := request("c", "", "what is this?")
	r.Files = []attachment.File{f}
	info, err := w.service.Send(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	w.wait(info)
	again := request("c", "", "")
	again.Regenerate = &chat.Target{}
	if info, err = w.service.Send(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	w.wait(info)
	info, err = w.service.EditAndSend(t.Context(), "c", chat.Target{Index: 0}, request("", "", "and now?"))
	if err != nil {
		t.Fatal(err)
	}
	w.wait(info)
	asked := w.model.requests()
	for i, question := range []string{"what is this?", "what is this?", "and now?"} {
		got := asked[i].Messages[len(asked[i].Messages)-1].Text
		if !strings.HasPrefix(got, question) || !strings.Contains(got, "the file's words") {
			t.Errorf("request %d: the model was told %q", i, got)
		}
	}
	if rows := w.state(string(info.Conversation)).Rows(); len(rows) != 2 || rows[0].Turn.User.Text != "and now?" || len(rows[0].Turn.User.Attachments) != 1 {
		t.Errorf("the new conversation is %+v", rows)
	}
	if got := len(w.state("c").Turns); got != 1 {
		t.Errorf("the old conversation has %d turns", got)
	}
	_, err = w.service.EditAndSend(t.Context(), "c", chat.Target{Index: 1}, request("", "", "x"))
	wantCode(t, err, chat.Invalid)
	// The file stays while either conversation needs it.
	if err := w.service.Delete(t.Context(), "c", via); err != nil {
		t.Fatal(err)
	}
	blob := w.state(string(info.Conversation)).Turns[0].User.Attachments[0].Blob
	if _, err := w.blobs.Read(blob, attachment.MaxBytes); err != nil {
		t.Error(err)
	}
}

func TestChange(t *testing.T) {
	w := newWorld(t)
	w.ask("c", "one")
	yes, model, far := true, "openai/x", int64(1000)
	p := chat.Patch{Pinned: &yes, Archived: &yes, Model: &model, Read: &far}
	for range 2 {
		if err := w.service.Change(t.Context(), "c", p); err != nil {
			t.Fatal(err)
		}
	}
	state := w.state("c")
	if !state.Pinned || !state.Archived || state.Model != model || state.Read == 0 || state.Read > state.Seq {
		t.Errorf("got %+v", state)
	}
	list, err := w.log.Conversations(t.Context(), noQuery)
	if err != nil || len(list) != 1 || !list[0].Pinned || !list[0].Archived || list[0].Model != model || list[0].News > list[0].Read {
		t.Errorf("listed as %+v, %v", list, err)
	}
	w.ask("c", "two")
	if list, _ := w.log.Conversations(t.Context(), noQuery); list[0].News <= list[0].Read {
		t.Errorf("an answer nobody saw is not unread: %+v", list[0])
	}
	less := int64(-1)
	wantCode(t, w.service.Change(t.Context(), "c", chat.Patch{Read: &less}), chat.Invalid)
	wantCode(t, w.service.Change(t.Context(), "nobody", p), chat.Missing)
}

// The copy of a question alone comes last, also when an earlier one was answered
// again after it.
func TestForkAtAQuestion(t *testing.T) {
	w := newWorld(t)
	w.ask("c", "one")
	w.ask("c", "two")
	again := request("c", "", "")
	again.Regenerate = &chat.Target{}
	info, err := w.service.Send(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	w.wait(info)
	child, err := w.service.Fork(t.Context(), "c", chat.Target{Index: 2})
	if err != nil {
		t.Fatal(err)
	}
	w.wantRows(string(child), "user: one\ncomplete: re: one\nuser: two\n")
	again = request(string(child), "", "")
	again.Regenerate = &chat.Target{Index: 2}
	if info, err = w.service.Send(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	w.wait(info)
	w.wantRows(string(child), "user: one\ncomplete: re: one\nuser: two\ncomplete: re: two\n")
	// A copy of such a copy says the same, wherever the bare question stands.
	bare, err := w.service.Fork(t.Context(), "c", chat.Target{Index: 2})
	if err != nil {
		t.Fatal(err)
	}
	w.ask(string(bare), "three")
	grandchild, err := w.service.Fork(t.Context(), bare, chat.Target{Index: 4})
	if err != nil {
		t.Fatal(err)
	}
	w.wantRows(string(grandchild), "user: one\ncomplete: re: one\nuser: two\nuser: three\ncomplete: re: three\n")
}

// What holds a queue may be deleted; the queue waits for a person all the same,
// also after the erasure and a restart.
func TestHeldQueueOutlivesItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		if err := w.service.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.model.fail = &llm.Failure{Kind: event.ErrorRateLimit, Message: "slow down", Retryable: true}
		one, release := w.busy("c", "r1", "one")
		w.send("c", "q", "waits")
		release()
		w.wait(one)
		if _, err := w.service.DeleteMessage(t.Context(), "c", chat.Target{}, via); err != nil {
			t.Fatal(err)
		}
		time.Sleep(chat.UndoTime + time.Second)
		synctest.Wait()
		if got := w.queue("c"); got != "waits (held)" {
			t.Errorf("after the erasure: %q", got)
		}
		_, err := w.service.Send(t.Context(), request("c", "r1", "one"))
		wantCode(t, err, chat.Missing)
		w.crash()
		if err := w.service.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.queue("c"); got != "waits (held)" {
			t.Errorf("after a restart: %q", got)
		}
	})
}
