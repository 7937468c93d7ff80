package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"verbatim/internal/attachment"
	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/llm"
)

// The phases of an erasure.
const (
	erasureAhead    phase = "nothing erased yet"
	erasureUnderWay phase = "erasure under way"
	erasureDone     phase = "all erased"
)

// TestKillWhileItErases kills the program by -9 again and again while it erases
// what was deleted long ago. Each turn is there whole or gone whole, none comes
// back, and in the end no file has a word of any.
func TestKillWhileItErases(t *testing.T) {
	random := newRandom(t)
	hits := map[phase]int{}
	kills := 0
	for range 20 {
		u := newUpstream(t, func(ask) []step { return nil })
		p := newProduct(t, u)
		chats := deletedLongAgo(t, p.dir, 25)
		left := len(chats)
		// On a slow machine little happens in an instant.
		for limit := 50 * time.Millisecond; left > 0; limit += 50 * time.Millisecond {
			p.start()
			moment(random, limit)
			p.kill()
			now := notErased(t, copyDatabase(t, p.dir), chats)
			if now > left {
				t.Fatalf("%d turns were left, and after another start %d", left, now)
			}
			left = now
			kills++
			hits[erasurePhase(left, len(chats))]++
		}
		p.start()
		if code := p.stop(); code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
		nowhere(t, p.dir, erasedWord)
		if files, err := os.ReadDir(filepath.Join(p.dir, "blobs")); err != nil || len(files) > 0 {
			t.Errorf("%d blobs are left of what was erased, %v", len(files), err)
		}
		if hits[erasureUnderWay] > 0 && kills >= pick(5, 100) {
			break
		}
	}
	t.Logf("%d kills\n%s", kills, tableOf([]phase{erasureAhead, erasureUnderWay, erasureDone}, hits))
	if hits[erasureUnderWay] == 0 {
		t.Errorf("no kill hit the phase %q", erasureUnderWay)
	}
}

func erasurePhase(left, all int) phase {
	switch left {
	case 0:
		return erasureDone
	case all:
		return erasureAhead
	}
	return erasureUnderWay
}

// erasedWord stands in every text and file that is erased, and nowhere else.
const erasedWord = "Zyzzyva7f3c"

// deletedLongAgo fills a data directory with chats of a turn each, which was
// deleted an hour ago.
func deletedLongAgo(t *testing.T, dir string, n int) (chats []id.Conversation) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	at, err := onDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	e, err := openEngineAt(at, func() time.Time { return time.Now().Add(-time.Hour) })
	if err != nil {
		t.Fatal(err)
	}
	file, err := attachment.Inspect("notes.txt", []byte(erasedWord+" in a file"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		c := id.Conversation(name("gone-", i))
		e.converse(t, chat.SendRequest{
			Conversation: c, Prompt: fmt.Sprintf("Question %d about %s", i, erasedWord), Files: []attachment.File{file}, Via: testVia,
		}, strings.Repeat("The answer is "+erasedWord+". ", 2000))
		if _, err := e.chat.DeleteMessage(t.Context(), c, chat.Target{}, testVia); err != nil {
			t.Fatal(err)
		}
		chats = append(chats, c)
	}
	if err := e.stop(); err != nil {
		t.Fatal(err)
	}
	return chats
}

// converse sends a message and has the model answer it with a text.
func (e *engine) converse(t *testing.T, r chat.SendRequest, text string) {
	t.Helper()
	info, err := e.chat.Send(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	// What it is asked may have the message's files in it.
	until(t, "the model is asked", func() bool { return e.anyAnswer() != nil })
	a := e.anyAnswer()
	a.give(piece{chunk: llm.Chunk{Text: text}})
	a.give(piece{chunk: llm.Chunk{Finish: &llm.Finish{Reason: event.FinishStop}}})
	until(t, "the run ends", func() bool {
		now, err := e.log.Run(context.Background(), info.Run)
		return err == nil && now.Last > 0
	})
}

// anyAnswer returns an answer that the model is giving, nil when it gives none.
func (e *engine) anyAnswer() *answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, a := range e.answers {
		return a
	}
	return nil
}

// notErased counts the chats whose turn is there, and fails the test for one of
// which a part is.
func notErased(t *testing.T, dir string, chats []id.Conversation) (left int) {
	t.Helper()
	for c, records := range readStored(t, dir, chats...) {
		checkRecords(t, c, records)
		stones := 0
		for _, r := range records {
			if r.Kind == (event.Erased{}).Kind() {
				stones++
			}
		}
		switch stones {
		case 0:
			left++
		case len(records) - 1: // all but the deletion
		default:
			t.Errorf("%s has %d tombstones among %d records", c, stones, len(records))
		}
	}
	return left
}
