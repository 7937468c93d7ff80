package chat_test

import (
	"testing"
	"testing/synctest"

	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/llm"
	"verbatim/internal/turnlog"
)

// importQueue writes a conversation into the log as an import does, while the
// service runs: an answer, and two messages that wait until a person resumes
// them.
func (w *world) importQueue() {
	w.t.Helper()
	from := newWorld(w.t)
	from.model.fail = &llm.Failure{Kind: event.ErrorRateLimit, Message: "slow down", Retryable: true}
	one, release := from.busy("c", "r1", "one")
	from.send("c", "q1", "first")
	from.send("c", "q2", "second")
	release()
	from.wait(one)
	records, err := from.log.After(w.t.Context(), "c", 0, turnlog.Limit{})
	if err == nil {
		err = w.log.Import(w.t.Context(), "c", records)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// What waits in a conversation that came from a file is like what was sent here,
// without a restart.
func TestImportedQueue(t *testing.T) {
	const one = "user: one\nfailed: re: \n"
	for name, c := range map[string]struct {
		do          func(w *world) error
		queue, rows string
	}{
		"nothing is done": {
			do:    func(*world) error { return nil },
			queue: "first,second (held)", rows: one,
		},
		"resumed": {
			do:   func(w *world) error { return w.service.Resume(w.t.Context(), "c", via) },
			rows: one + "user: first\ncomplete: re: first\nuser: second\ncomplete: re: second\n",
		},
		"a new message": {
			do: func(w *world) error {
				_, err := w.service.Send(w.t.Context(), request("c", "", "new"))
				return err
			},
			rows: one + "user: first\ncomplete: re: first\nuser: second\ncomplete: re: second\nuser: new\ncomplete: re: new\n",
		},
		"one is cancelled": {
			do:    func(w *world) error { return w.service.Cancel(w.t.Context(), "q1", "owner", via) },
			queue: "second (held) returned: first", rows: one,
		},
		"one is taken out": {
			do:    func(w *world) error { return w.service.RemoveQueued(w.t.Context(), "c", "q2", via) },
			queue: "first (held) returned: second", rows: one,
		},
		"one is changed": {
			do:    func(w *world) error { return w.service.EditQueued(w.t.Context(), "c", "q2", "better", via) },
			queue: "first,better (held)", rows: one,
		},
		"all is deleted": {
			do: func(w *world) error { return w.service.Delete(w.t.Context(), "c", via) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.recover()
				w.importQueue()
				if err := c.do(w); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if got := w.queue("c"); got != c.queue {
					t.Errorf("queue %q, want %q", got, c.queue)
				}
				w.wantRows("c", c.rows)
				w.crash()
				w.recover()
				synctest.Wait()
				if got := w.queue("c"); got != c.queue {
					t.Errorf("after a restart: queue %q, want %q", got, c.queue)
				}
			})
		})
	}
	t.Run("not there", func(t *testing.T) {
		w := newWorld(t)
		wantCode(t, w.service.RemoveQueued(t.Context(), "c", "q1", via), chat.Missing)
		wantCode(t, w.service.EditQueued(t.Context(), "c", "q1", "better", via), chat.Missing)
		if err := w.service.Resume(t.Context(), "c", via); err != nil {
			t.Error(err)
		}
	})
}
