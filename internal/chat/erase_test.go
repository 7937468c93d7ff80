package chat_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/chat"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// clinging is a log that does not let go of the conversation a.
type clinging struct {
	*turnlog.Log
	clings atomic.Bool
}

func (l *clinging) Erase(ctx context.Context, c id.Conversation, e turnlog.Erasure) ([]string, error) {
	if c == "a" && l.clings.Load() {
		return nil, errSick
	}
	return l.Log.Erase(ctx, c, e)
}

// What can't be erased keeps nothing else from it, and its own erasure is tried
// again.
func TestOneErasureFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &clinging{}
		log.clings.Store(true)
		w := newWorldOver(t, func(l *turnlog.Log) chat.Log {
			log.Log = l
			return log
		})
		w.recover()
		for _, c := range []id.Conversation{"a", "b"} {
			w.ask(string(c), "secret of "+string(c))
			if err := w.service.Delete(t.Context(), c, via); err != nil {
				t.Fatal(err)
			}
		}
		w.passes(chat.UndoTime+time.Second, "a")
		log.clings.Store(false)
		w.passes(2*time.Minute, "")
	})
}

// passes lets time pass; then the conversations in still are the only ones that
// are hidden and not erased.
func (w *world) passes(d time.Duration, still string) {
	w.t.Helper()
	time.Sleep(d)
	synctest.Wait()
	doomed, err := w.log.Doomed(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	var got string
	for _, d := range doomed {
		got += string(d.Conversation)
	}
	if got != still {
		w.t.Errorf("not erased: %q, want %q", got, still)
	}
}
