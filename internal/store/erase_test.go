package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/faultfs"
	"verbatim/internal/id"
	"verbatim/internal/store"
	"verbatim/internal/turnlog"
)

// marker is in every text that is erased and in nothing else.
const marker = "xylophonewombat"

// where returns the files of a directory that contain the marker, with how many
// times.
func where(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if n := bytes.Count(data, []byte(marker)); n > 0 {
			found = append(found, fmt.Sprintf("%s: %d times", filepath.Base(path), n))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// writer appends to conversations of a log, each piece as an agent does.
type writer struct {
	t   *testing.T
	log *turnlog.Log
	n   int
}

func (w *writer) append(c id.Conversation, drafts ...turnlog.Draft) {
	w.t.Helper()
	if _, err := w.log.Append(w.t.Context(), c, drafts...); err != nil {
		w.t.Fatal(err)
	}
}

// turn writes a turn whose every text begins with a word and is filled up to a
// size, and returns its run.
func (w *writer) turn(c id.Conversation, word string, size int) id.Run {
	w.t.Helper()
	w.n++
	name := func(prefix string) string { return fmt.Sprint(prefix, w.n) }
	text := func(kind string) string { return word + " " + kind + strings.Repeat(" lorem", size/6) }
	r, m := id.Run(name("r")), id.Message(name("a"))
	of := func(e event.Event) turnlog.Draft { return turnlog.Draft{Run: r, Message: m, Event: e} }
	user := event.UserMessage{Message: id.Message(name("q")), Text: text("question"), Attachments: []event.Attachment{{ID: "f", Name: word + ".txt", Blob: name("blob")}}}
	w.append(c, turnlog.Draft{Event: event.Queue{Op: event.QueueAdd, Run: r, Message: &user, Request: "h"}})
	changed := user
	changed.Text = text("changed")
	w.append(c, turnlog.Draft{Event: event.Queue{Op: event.QueueEdit, Run: r, Message: &changed, Request: "h"}})
	w.append(c, turnlog.Draft{Event: event.Queue{Op: event.QueueSend, Run: r}}, turnlog.Draft{Event: changed}, of(event.Start{Model: "x/y", Version: 1, Request: "h"}))
	offset := 0
	for i := range 3 {
		w.append(c, of(event.Reasoning{Segment: "s1", Offset: int64(offset), Text: text("reasoning")}))
		w.append(c, of(event.Delta{Segment: "s2", Offset: int64(offset), Text: text("answer")}))
		offset += len(text("answer")) + i
	}
	args := fmt.Appendf(nil, `{"command":%q}`, text("arguments"))
	call := id.Call(name("call"))
	w.append(c, of(event.ToolDrafting{Call: call, Index: 1, Name: "run_command", ArgsDelta: string(args)}))
	w.append(c, of(event.ToolCall{Call: call, Index: 1, Name: "run_command", Args: args}))
	w.append(c, of(event.ApprovalRequest{Approval: id.Approval(name("ap")), Call: call, Args: args, Reason: text("reason")}))
	w.append(c, of(event.ApprovalResolved{Approval: id.Approval(name("ap")), Decision: event.DecisionAllow, Args: args, Note: text("note")}))
	w.append(c, of(event.ToolProgress{Call: call, Note: text("progress")}))
	w.append(c, of(event.ToolResult{Call: call, Output: text("output"), OK: true, Blob: name("out")}))
	w.append(c, of(event.End{Finish: event.FinishStop}))
	return r
}

// What was erased is nowhere: not in the database, the write-ahead log, the
// index of words, or a copy made afterwards. Pages that were split, moved and
// freed meanwhile count too.
func TestErasedTextIsNowhere(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			dir := filepath.Join(t.TempDir(), "data")
			// It writes to real files and spares the syncs.
			disk, err := faultfs.New()
			if err != nil {
				t.Fatal(err)
			}
			db, err := store.Open(dir, store.Options{BallastBytes: -1, VFS: disk.Name(), RecentRows: []int{60, 300, 4096}[seed]})
			if err != nil {
				t.Fatal(err)
			}
			l := turnlog.New(db, turnlog.Options{})
			w := &writer{t: t, log: l}
			p := newPoster(t, db, l)
			var doomed []id.Run
			blobs := 0
			sizes := []int{1, 30, 200, 900, 3000, 9000}
			for range 30 {
				c := id.Conversation(fmt.Sprint("c", rnd.IntN(6)))
				size := sizes[rnd.IntN(len(sizes))]
				if rnd.IntN(3) == 0 {
					doomed = append(doomed, w.turn("half", marker, size))
					blobs += 2 + p.show("half", doomed[len(doomed)-1], marker, size)
					p.show("whole", w.turn("whole", marker, size), marker, size)
				}
				p.show("half", w.turn("half", "kept", size), "kept", size)
				w.turn(c, "kept", size)
			}
			title, project := event.Title{Title: marker + " title"}, marker+" project"
			w.append("whole", turnlog.Draft{Event: title}, turnlog.Draft{Event: event.Settings{Project: &project}})
			if err := db.KeepAnswer(t.Context(), "key", store.Answer{Conversation: "whole", Body: []byte(marker), At: time.Now()}); err != nil {
				t.Fatal(err)
			}
			if len(where(t, dir)) == 0 {
				t.Fatal("the marker was never there")
			}
			eraseAll(t, l, doomed, blobs)
			p.finish()
			scrub(t, db)
			if found := where(t, dir); len(found) > 0 {
				t.Errorf("the marker is still there: %q", found)
			}
			if err := db.Backup(t.Context(), filepath.Join(dir, "copy")); err != nil {
				t.Fatal(err)
			}
			if err := db.Check(t.Context()); err != nil {
				t.Error(err)
			}
			if err := errors.Join(l.Close(), disk.Close()); err != nil {
				t.Error(err)
			}
			if found := where(t, dir); len(found) > 0 {
				t.Errorf("the marker is there again: %q", found)
			}
		})
	}
}

// All that there is can be erased, and the database is as good as new. The index
// of words (FTS5) counts its rows, one less at each 'delete': a document that
// leaves it in two pieces must not count twice, or the last ones can't leave.
func TestAllIsErased(t *testing.T) {
	db := mustOpen(t, t.TempDir())
	l := logOver(t, db)
	var drafts []turnlog.Draft
	for i := range 100 {
		r, m := id.Run(fmt.Sprint("r", i)), id.Message(fmt.Sprint("a", i))
		drafts = append(drafts,
			turnlog.Draft{Event: event.UserMessage{Message: id.Message(fmt.Sprint("q", i)), Text: fmt.Sprintf("question%d", i)}},
			turnlog.Draft{Run: r, Message: m, Event: event.Start{Version: 1}},
			turnlog.Draft{Run: r, Message: m, Event: event.Delta{Segment: "s", Text: fmt.Sprintf("the answer of all answers, %d", i)}},
			turnlog.Draft{Run: r, Message: m, Event: event.End{Finish: event.FinishStop}})
	}
	for range 2 {
		if _, err := l.Append(t.Context(), "c", drafts...); err != nil {
			t.Fatal(err)
		}
		head, err := l.Head(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Erase(t.Context(), "c", turnlog.Erasure{Through: head}); err != nil {
			t.Fatal(err)
		}
		scrub(t, db)
		if err := db.Check(t.Context()); err != nil {
			t.Error(err)
		}
		for i := range drafts {
			if drafts[i].Run != "" {
				drafts[i].Run += "x"
			}
		}
	}
}

// scrub does what the log does while nobody waits for it.
func scrub(t *testing.T, db *store.DB) {
	t.Helper()
	for n := 0; !db.Scrubbed(); n++ {
		if _, err := db.Upkeep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n == 10_000 {
			t.Fatal("there is no end to it")
		}
	}
}

// eraseAll erases some turns of one conversation, which must free so many blobs,
// and all of another.
func eraseAll(t *testing.T, l *turnlog.Log, runs []id.Run, want int) {
	t.Helper()
	what := turnlog.Erasure{Runs: runs}
	for after, more := int64(0), true; more; {
		facts, err := l.Facts(t.Context(), "half", after, turnlog.Limit{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range facts {
			after = r.Seq
			if r.Kind == "user_message" && bytes.Contains(r.Body, []byte(marker)) {
				what.Seqs = append(what.Seqs, r.Seq)
			}
		}
		more = len(facts) > 0
	}
	blobs, err := l.Erase(t.Context(), "half", what)
	if err != nil {
		t.Fatal(err)
	}
	if len(blobs) != want {
		t.Errorf("%d blobs are free, want %d", len(blobs), want)
	}
	head, err := l.Head(t.Context(), "whole")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Erase(t.Context(), "whole", turnlog.Erasure{Through: head}); err != nil {
		t.Fatal(err)
	}
}
