package chat_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/llm"
	"verbatim/internal/turnlog"
)

var via = event.Via{Surface: "test"}

// busy sends a message whose answer stops after its first word until release is
// called.
func (w *world) busy(c, run, prompt string) (info turnlog.RunInfo, release func()) {
	w.t.Helper()
	hold := make(chan struct{})
	w.model.mu.Lock()
	w.model.hold = hold
	w.model.mu.Unlock()
	info = w.send(c, run, prompt)
	<-w.model.first
	w.model.mu.Lock()
	w.model.hold = nil
	w.model.mu.Unlock()
	return info, func() { close(hold) }
}

// queue writes what waits on one line.
func (w *world) queue(c string) string {
	w.t.Helper()
	q, err := w.service.Queue(w.t.Context(), id.Conversation(c))
	if err != nil {
		w.t.Fatal(err)
	}
	var words []string
	for _, x := range q.Waiting {
		words = append(words, x.Message.Text)
	}
	out := strings.Join(words, ",")
	if q.Held {
		out += " (held)"
	}
	for i, x := range q.Returned {
		if i == 0 {
			out += " returned:"
		}
		out += " " + x.Message.Text
	}
	return out
}

func TestQueueGoesOnInOrder(t *testing.T) {
	w := newWorld(t)
	_, release := w.busy("c", "", "one")
	two, three := w.send("c", "r2", "two"), w.send("c", "r3", "three")
	if again := w.send("c", "r2", "two"); again.Queued != two.Queued || again.First != 0 {
		t.Errorf("G11: the same run id again got %+v, want %+v", again, two)
	}
	_, err := w.service.Send(t.Context(), request("c", "r2", "other"))
	wantCode(t, err, chat.Mismatch)
	if got := w.queue("c"); got != "two,three" {
		t.Errorf("queue %q", got)
	}
	w.wantRows("c", "user: one\nrunning: re: \n")
	release()
	w.wait(two)
	w.wait(three)
	w.wantRows("c", "user: one\ncomplete: re: one\nuser: two\ncomplete: re: two\nuser: three\ncomplete: re: three\n")
	if info, err := w.log.Run(t.Context(), "r2"); err != nil || info.First == 0 || info.Queued != two.Queued {
		t.Errorf("run r2: %+v, %v", info, err)
	}
}

// I6: Stop sends nothing that waits; its text can be had back; what is typed
// after it is a new turn.
func TestI6StopEmptiesTheQueue(t *testing.T) {
	w := newWorld(t)
	one, release := w.busy("c", "", "one")
	defer release()
	q1, q2 := w.send("c", "q1", "first"), w.send("c", "q2", "second")
	if err := w.service.Cancel(t.Context(), one.Run, "owner", via); err != nil {
		t.Fatal(err)
	}
	q3 := w.send("c", "q3", "third")
	if end := w.wait(one); end != "cancelled" {
		t.Errorf("the run ended as %s", end)
	}
	for _, q := range []turnlog.RunInfo{q1, q2} {
		if end := w.wait(q); end != "queue" {
			t.Errorf("%s ended as %s", q.Run, end)
		}
	}
	w.wait(q3)
	w.wantRows("c", "user: one\ncancelled: re: \nuser: third\ncomplete: re: third\n")
	for _, r := range w.model.requests() {
		for _, m := range r.Messages {
			if m.Text == "first" || m.Text == "second" {
				t.Errorf("the model was told %q", m.Text)
			}
		}
	}
	if info, err := w.log.Run(t.Context(), "q1"); err != nil || info.Dropped == 0 || info.First != 0 {
		t.Errorf("run q1: %+v, %v; want it spent", info, err)
	}
	if got := w.send("c", "q1", "first"); got.First != 0 || got.Dropped == 0 {
		t.Errorf("sending q1 again got %+v, want the dropped run", got)
	}
}

func TestStopReturnsTheText(t *testing.T) {
	w := newWorld(t)
	one, release := w.busy("c", "", "one")
	defer release()
	w.send("c", "q1", "first")
	w.send("c", "q2", "second")
	if err := w.service.Cancel(t.Context(), one.Run, "owner", via); err != nil {
		t.Fatal(err)
	}
	w.wait(one)
	if got := w.queue("c"); got != " returned: first second" {
		t.Errorf("queue %q", got)
	}
	w.crash()
	if err := w.service.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.queue("c"); got != " returned: first second" {
		t.Errorf("after a restart %q", got)
	}
	w.ask("c", "new")
	if got := w.queue("c"); got != "" {
		t.Errorf("after a new message %q", got)
	}
}

func TestCancelOfAWaitingRunDropsItAlone(t *testing.T) {
	w := newWorld(t)
	one, release := w.busy("c", "", "one")
	w.send("c", "q1", "first")
	w.send("c", "q2", "second")
	for range 2 {
		if err := w.service.Cancel(t.Context(), "q1", "owner", via); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.queue("c"); got != "second returned: first" {
		t.Errorf("queue %q", got)
	}
	if err := w.service.EditQueued(t.Context(), "c", "q2", "better", via); err != nil {
		t.Fatal(err)
	}
	wantCode(t, w.service.EditQueued(t.Context(), "c", "q2", " ", via), chat.Invalid)
	wantCode(t, w.service.EditQueued(t.Context(), "c", "q1", "late", via), chat.Missing)
	wantCode(t, w.service.RemoveQueued(t.Context(), "c", "q1", via), chat.Missing)
	release()
	w.wait(one)
	info, _ := w.log.Run(t.Context(), "q2")
	w.wait(info)
	w.wantRows("c", "user: one\ncomplete: re: one\nuser: better\ncomplete: re: better\n")
}

// After an error that the next run may meet too the queue waits for a person.
func TestQueueIsHeldAfterAnError(t *testing.T) {
	for name, resume := range map[string]func(w *world){
		"resumed": func(w *world) {
			for range 2 {
				if err := w.service.Resume(w.t.Context(), "c", via); err != nil {
					w.t.Fatal(err)
				}
			}
		},
		"a new message": func(w *world) { w.send("c", "new", "new") },
		"resumed after a restart": func(w *world) {
			w.crash()
			if err := w.service.Recover(w.t.Context()); err != nil {
				w.t.Fatal(err)
			}
			if got := w.queue("c"); got != "waits (held)" {
				w.t.Errorf("after a restart: %q", got)
			}
			if err := w.service.Resume(w.t.Context(), "c", via); err != nil {
				w.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.model.fail = &llm.Failure{Kind: event.ErrorRateLimit, Message: "slow down", Retryable: true}
			one, release := w.busy("c", "", "one")
			queued := w.send("c", "q", "waits")
			release()
			if end := w.wait(one); end != "error" {
				t.Fatalf("ended as %s", end)
			}
			if got := w.queue("c"); got != "waits (held)" {
				t.Errorf("queue %q", got)
			}
			w.model.mu.Lock()
			w.model.fail = nil
			w.model.mu.Unlock()
			resume(w)
			if end := w.wait(queued); end != "end" {
				t.Errorf("the queued run ended as %s", end)
			}
			if name == "a new message" {
				info, _ := w.log.Run(t.Context(), "new")
				w.wait(info)
			}
			want := "user: one\nfailed: re: \nuser: waits\ncomplete: re: waits\n"
			if name == "a new message" {
				want += "user: new\ncomplete: re: new\n"
			}
			w.wantRows("c", want)
		})
	}
}

// A crash at any moment between two turns loses nothing that waits and sends
// nothing twice.
func TestQueueSurvivesACrash(t *testing.T) {
	w := newWorld(t)
	_, release := w.busy("c", "r1", "one")
	w.send("c", "q1", "first")
	w.send("c", "q2", "second")
	w.crash()
	release()
	if err := w.service.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, run := range []id.Run{"q1", "q2"} {
		info, err := w.log.Run(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		w.wait(info)
	}
	w.wantRows("c", "user: one\ninterrupted: re: \nuser: first\ncomplete: re: first\nuser: second\ncomplete: re: second\n")
}

func TestQueueIsBounded(t *testing.T) {
	w := newWorld(t)
	one, release := w.busy("c", "", "one")
	for i := range chat.MaxQueue {
		w.send("c", "", fmt.Sprint(i))
	}
	_, err := w.service.Send(t.Context(), request("c", "over", "over"))
	wantCode(t, err, chat.TooMany)
	if _, err := w.log.Run(t.Context(), "over"); err == nil {
		t.Error("the refused run is known")
	}
	if err := w.service.Cancel(t.Context(), one.Run, "owner", via); err != nil {
		t.Fatal(err)
	}
	release()
	w.wait(one)
}

// An answer that is to be given again waits too, and finds its question deleted.
func TestQueuedRegeneration(t *testing.T) {
	w := newWorld(t)
	w.ask("c", "one")
	two, release := w.busy("c", "", "two")
	again := request("c", "again", "")
	again.Regenerate = &chat.Target{}
	info, err := w.service.Send(t.Context(), again)
	if err != nil || info.Queued == 0 {
		t.Fatalf("got %+v, %v", info, err)
	}
	more := w.send("c", "more", "more")
	if _, err := w.service.DeleteMessage(t.Context(), "c", chat.Target{Index: 1}, via); err != nil {
		t.Fatal(err)
	}
	release()
	w.wait(two)
	if end := w.wait(info); end != "queue" {
		t.Errorf("the answer to a deleted question ended as %s", end)
	}
	w.wait(more)
	w.wantRows("c", "user: two\ncomplete: re: two\nuser: more\ncomplete: re: more\n")
}

// A message that comes while the run before it ends is not forgotten: whichever
// of the two is first, it is answered.
func TestQueueMeetsTheEnd(t *testing.T) {
	w := newWorld(t)
	for i := range 40 {
		_, release := w.busy("c", "", "one")
		var wg sync.WaitGroup
		wg.Go(release)
		next := w.send("c", "", fmt.Sprint("next ", i))
		wg.Wait()
		if end := w.wait(next); end != "end" {
			t.Fatalf("message %d ended as %s", i, end)
		}
	}
}
