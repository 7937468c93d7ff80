package chat_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/llm"
	"verbatim/internal/turnlog"
)

var errSick = errors.New("the disk is sick")

// sickbed is a log that refuses what its disk does not like.
type sickbed struct {
	mu       sync.Mutex
	dislikes func(event.Event) bool
}

// dislike says what is refused from now on; nil for nothing.
func (s *sickbed) dislike(what func(event.Event) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dislikes = what
}

func (s *sickbed) refuses(drafts []turnlog.Draft) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dislikes != nil && slices.ContainsFunc(drafts, func(d turnlog.Draft) bool { return s.dislikes(d.Event) })
}

// over puts a log on the bed.
func (s *sickbed) over(log *turnlog.Log) chat.Log { return sickLog{log, s} }

type sickLog struct {
	*turnlog.Log
	bed *sickbed
}

func (l sickLog) Append(ctx context.Context, c id.Conversation, drafts ...turnlog.Draft) ([]event.Record, error) {
	if l.bed.refuses(drafts) {
		return nil, errSick
	}
	return l.Log.Append(ctx, c, drafts...)
}

func (l sickLog) Post(c id.Conversation, drafts []turnlog.Draft, done func([]event.Record, error)) {
	if l.bed.refuses(drafts) {
		done(nil, errSick)
		return
	}
	l.Log.Post(c, drafts, done)
}

func isKind(kinds ...event.Kind) func(event.Event) bool {
	return func(e event.Event) bool { return slices.Contains(kinds, e.Kind()) }
}

func isQueue(ops ...event.QueueOp) func(event.Event) bool {
	return func(e event.Event) bool {
		q, ok := e.(event.Queue)
		return ok && slices.Contains(ops, q.Op)
	}
}

// A turn is deleted and the disk does not take the stop of its answer: the error
// in its place holds the queue, also when it is erased, until somebody resumes
// it.
func TestHeldByTheEndOfADeletedAnswer(t *testing.T) {
	for name, restart := range map[string]bool{"in one process": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bed := &sickbed{}
				w := newWorldOver(t, bed.over)
				w.recover()
				_, release := w.busy("c", "", "one")
				defer release()
				w.send("c", "q", "waits")
				bed.dislike(isKind("cancelled"))
				if _, err := w.service.DeleteMessage(t.Context(), "c", chat.Target{}, via); err != nil {
					t.Fatal(err)
				}
				bed.dislike(nil)
				if restart {
					w.crash()
					w.recover()
				}
				time.Sleep(chat.UndoTime + time.Second)
				synctest.Wait()
				if got := w.queue("c"); got != "waits (held)" {
					t.Errorf("after the erasure: %q", got)
				}
				w.resume("c")
				w.wantRows("c", "user: waits\ncomplete: re: waits\n")
			})
		})
	}
}

func (w *world) recover() {
	w.t.Helper()
	if err := w.service.Recover(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// resume lets a queue go on, and waits for what comes of it.
func (w *world) resume(c id.Conversation) {
	w.t.Helper()
	if err := w.service.Resume(w.t.Context(), c, via); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
}

// What waits and can't go on since the disk refuses is held, and the log says so
// as soon as it can: everybody sees it, also after a restart.
func TestHoldIsWrittenDown(t *testing.T) {
	stop := func(w *world, run id.Run) {
		if err := w.service.Cancel(w.t.Context(), run, "owner", via); !errors.Is(err, errSick) {
			w.t.Errorf("a stop that left the queue says %v", err)
		}
	}
	for name, c := range map[string]struct {
		dislikes func(event.Event) bool
		meanwhile,
		then func(w *world, run id.Run)
		rows string
	}{
		"the next can't start": {
			dislikes: isQueue(event.QueueSend, event.QueueHold),
			rows:     "user: one\ncomplete: re: one\n",
		},
		"only the start is refused": {
			dislikes: isQueue(event.QueueSend),
			rows:     "user: one\ncomplete: re: one\n",
		},
		"a stop can't empty the queue": {
			dislikes:  isQueue(event.QueueRemove, event.QueueHold),
			meanwhile: stop,
			rows:      "user: one\ncancelled: re: \n",
		},
		"a stop can't empty it and the answer goes on ending": {
			dislikes: func(e event.Event) bool {
				return isQueue(event.QueueRemove)(e) || isKind("cancelled", "error")(e)
			},
			meanwhile: stop,
			rows:      "user: one\nfailed: re: \n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bed := &sickbed{}
				w := newWorldOver(t, bed.over)
				one, release := w.busy("c", "", "one")
				w.send("c", "q1", "first")
				w.send("c", "q2", "second")
				bed.dislike(c.dislikes)
				if c.meanwhile != nil {
					c.meanwhile(w, one.Run)
				}
				release()
				time.Sleep(time.Minute)
				bed.dislike(nil)
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if got := w.queue("c"); got != "first,second (held)" {
					t.Errorf("queue %q", got)
				}
				w.wantRows("c", c.rows)
				w.crash()
				w.recover()
				synctest.Wait()
				if got := w.queue("c"); got != "first,second (held)" {
					t.Errorf("after a restart: %q", got)
				}
				w.resume("c")
				w.wantRows("c", c.rows+"user: first\ncomplete: re: first\nuser: second\ncomplete: re: second\n")
			})
		})
	}
}

// A message that is sent while a hold can't be written lets the queue go on, and
// no hold comes after it.
func TestNewMessageLiftsAHoldThatIsOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bed := &sickbed{}
		w := newWorldOver(t, bed.over)
		_, release := w.busy("c", "", "one")
		w.send("c", "q1", "first")
		bed.dislike(isQueue(event.QueueSend, event.QueueHold))
		release()
		time.Sleep(time.Minute)
		bed.dislike(isQueue(event.QueueHold))
		w.send("c", "q2", "second")
		bed.dislike(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := w.queue("c"); got != "" {
			t.Errorf("queue %q", got)
		}
		w.wantRows("c", "user: one\ncomplete: re: one\nuser: first\ncomplete: re: first\nuser: second\ncomplete: re: second\n")
	})
}

// A stop of the process does not wait for a hold that the disk refuses.
func TestStopForgetsAHoldThatIsOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bed := &sickbed{}
		w := newWorldOver(t, bed.over)
		_, release := w.busy("c", "", "one")
		w.send("c", "q1", "first")
		bed.dislike(isQueue(event.QueueSend, event.QueueHold))
		release()
		synctest.Wait()
		if err := w.service.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.crash()
		bed.dislike(nil)
		w.recover()
		synctest.Wait()
		w.wantRows("c", "user: one\ncomplete: re: one\nuser: first\ncomplete: re: first\n")
	})
}

// crossing is a log in which a message for the queue is written right before or
// right after the end of the run that it waits for, though both were under way.
type crossing struct {
	*turnlog.Log
	endFirst bool
	came     chan struct{} // closed when a message for the queue comes
	added    chan struct{} // closed when it was written
	ended    chan struct{} // closed when the end of the run was
	let      chan struct{} // closed when the run may hear of its end
}

func (l *crossing) Append(ctx context.Context, c id.Conversation, drafts ...turnlog.Draft) ([]event.Record, error) {
	if !isQueue(event.QueueAdd)(drafts[0].Event) {
		return l.Log.Append(ctx, c, drafts...)
	}
	close(l.came)
	if l.endFirst {
		<-l.ended
	}
	records, err := l.Log.Append(ctx, c, drafts...)
	close(l.added)
	if !l.endFirst {
		<-l.ended
	}
	return records, err
}

func (l *crossing) Post(c id.Conversation, drafts []turnlog.Draft, done func([]event.Record, error)) {
	if !isKind("error")(drafts[len(drafts)-1].Event) {
		l.Log.Post(c, drafts, done)
		return
	}
	go func() {
		<-l.came
		if !l.endFirst {
			<-l.added
		}
		l.Log.Post(c, drafts, func(records []event.Record, err error) {
			close(l.ended)
			go func() {
				<-l.let
				done(records, err)
			}()
		})
	}()
}

// A message that crosses the end of a failed run is held or goes on by what the
// log has first, which is all that people see; it is never left in between.
func TestMessageCrossesAFailure(t *testing.T) {
	for name, c := range map[string]struct {
		endFirst   bool
		queue      string
		rows, more string
	}{
		"the end is first":     {endFirst: true, rows: "user: one\nfailed: re: \nuser: next\ncomplete: re: next\n"},
		"the message is first": {queue: "next (held)", rows: "user: one\nfailed: re: \n", more: "user: next\ncomplete: re: next\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				made := func() chan struct{} { return make(chan struct{}) }
				log := &crossing{endFirst: c.endFirst, came: made(), added: made(), ended: made(), let: made()}
				w := newWorldOver(t, func(l *turnlog.Log) chat.Log {
					log.Log = l
					return log
				})
				w.model.fail = &llm.Failure{Kind: event.ErrorRateLimit, Message: "slow down", Retryable: true}
				_, release := w.busy("c", "", "one")
				w.model.fail = nil
				var sent sync.WaitGroup
				sent.Go(func() { w.send("c", "q", "next") })
				<-log.came
				release()
				sent.Wait()
				close(log.let)
				synctest.Wait()
				if got := w.queue("c"); got != c.queue {
					t.Errorf("queue %q, want %q", got, c.queue)
				}
				w.wantRows("c", c.rows)
				w.resume("c")
				w.wantRows("c", c.rows+c.more)
			})
		})
	}
}
