package chat_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// G6: a run of which only the start is stored is begun again, once.
func TestRetryOnce(t *testing.T) {
	w := newWorld(t)
	start := func() {
		_, err := w.log.Append(t.Context(), "c",
			turnlog.Draft{Event: event.UserMessage{Message: "m_1", Text: "hello", Via: event.Via{Surface: "test"}}},
			turnlog.Draft{Run: "r", Message: "m_2", Event: event.Start{Model: "test/m", Version: 1, Request: "h"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	start()
	w.crash()
	if err := w.service.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wait(turnlog.RunInfo{Run: "r", Conversation: "c", First: 2})
	w.wantRows("c", "user: hello\ncomplete: re: hello\n")
	if run := w.state("c").Turns[0].Runs[0]; !run.Retried || run.ID != "r" {
		t.Errorf("got %+v", run)
	}
}

func TestRetryIsNotRepeated(t *testing.T) {
	w := newWorld(t)
	_, err := w.log.Append(t.Context(), "c",
		turnlog.Draft{Event: event.UserMessage{Message: "m_1", Text: "hello", Via: event.Via{Surface: "test"}}},
		turnlog.Draft{Run: "r", Message: "m_2", Event: event.Start{Model: "test/m", Version: 1}},
		turnlog.Draft{Run: "r", Message: "m_2", Event: event.Start{Model: "test/m", Version: 1, Retry: true}})
	if err != nil {
		t.Fatal(err)
	}
	w.crash()
	if err := w.service.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wantRows("c", "user: hello\ninterrupted: \n")
	if n := len(w.model.requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

// G6, G7: a crash in the middle keeps what was said and closes it.
func TestInterrupted(t *testing.T) {
	w := newWorld(t)
	w.model.hold = make(chan struct{})
	info := w.send("c", "", "hello")
	<-w.model.first
	// What the crash leaves is what was durable when the log closed.
	w.crash()
	if err := w.service.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if end := w.wait(info); end != "error" {
		t.Errorf("got %s", end)
	}
	w.wantRows("c", "user: hello\ninterrupted: re: \n")
	w.model.mu.Lock()
	w.model.hold = nil
	w.model.mu.Unlock()
	w.ask("c", "go on")
	w.wantRows("c", "user: hello\ninterrupted: re: \nuser: go on\ncomplete: re: go on\n")
}

func TestStopInterrupts(t *testing.T) {
	w := newWorld(t)
	w.model.hold = make(chan struct{})
	info := w.send("c", "", "hello")
	<-w.model.first
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.service.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	w.wait(info)
	w.wantRows("c", "user: hello\ninterrupted: re: \n")
	_, err := w.service.Send(t.Context(), request("d", "", "late"))
	wantCode(t, err, chat.Stopping)
}

// stubborn refuses the next n units of a run, then takes all again.
type stubborn struct {
	*turnlog.Log
	mu sync.Mutex
	n  int
}

func (s *stubborn) spent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n == 0 {
		return true
	}
	s.n--
	return false
}

func (s *stubborn) Post(c id.Conversation, drafts []turnlog.Draft, done func([]event.Record, error)) {
	if !s.spent() {
		done(nil, turnlog.ErrFull)
		return
	}
	s.Log.Post(c, drafts, done)
}

func (s *stubborn) Append(ctx context.Context, c id.Conversation, drafts ...turnlog.Draft) ([]event.Record, error) {
	if drafts[len(drafts)-1].Event.Kind() == "error" && !s.spent() {
		return nil, turnlog.ErrFull
	}
	return s.Log.Append(ctx, c, drafts...)
}

// A run that the log refuses stays the conversation's run until it is closed,
// however often closing fails too.
func TestClosingIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	log := &stubborn{Log: w.log, n: 3}
	w.service = chat.New(chat.Options{Log: log, Blobs: w.blobs, Choose: func(context.Context, chat.Want) (chat.Choice, error) {
		return chat.Choice{Model: w.model, Name: "test/m"}, nil
	}})
	if end := w.ask("c", "hello"); end != "error" {
		t.Errorf("got %s", end)
	}
	w.wantRows("c", "user: hello\nfailed: \n")
	if run := w.state("c").Turns[0].Runs[0]; run.Err.Code != event.CodeDiskFull {
		t.Errorf("got %+v", run.Err)
	}
	w.ask("c", "again")
	w.wantRows("c", "user: hello\nfailed: \nuser: again\ncomplete: re: again\n")
}

// tardy is a log that says late that the error which closes a run is stored.
type tardy struct {
	*stubborn
	say chan struct{}
}

func (l *tardy) Append(ctx context.Context, c id.Conversation, drafts ...turnlog.Draft) ([]event.Record, error) {
	records, err := l.stubborn.Append(ctx, c, drafts...)
	if drafts[len(drafts)-1].Event.Kind() == "error" && err == nil {
		<-l.say
	}
	return records, err
}

// Who has seen the end of a run that was hard to close can send at once.
func TestSendAfterAnEndThatWasHardToStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &tardy{stubborn: &stubborn{n: 3}, say: make(chan struct{})}
		w := newWorldOver(t, func(l *turnlog.Log) chat.Log {
			log.Log = l
			return log
		})
		w.ask("c", "hello")
		var sent sync.WaitGroup
		sent.Go(func() { w.ask("c", "again") })
		synctest.Wait()
		close(log.say)
		sent.Wait()
		w.wantRows("c", "user: hello\nfailed: \nuser: again\ncomplete: re: again\n")
	})
}

// A client that goes away while it waits for the last run's end takes no other
// client of the same run id with it.
func TestFirstClientLeaves(t *testing.T) {
	w := newWorld(t)
	log := &stubborn{Log: w.log, n: 1}
	w.service = chat.New(chat.Options{Log: log, Blobs: w.blobs, Choose: func(context.Context, chat.Want) (chat.Choice, error) {
		return chat.Choice{Model: w.model, Name: "test/m"}, nil
	}})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var wg sync.WaitGroup
	for range 20 {
		first := w.send("c", "", "hello")
		wg.Go(func() { _, _ = w.service.Send(ctx, request("c", "same", "next")) })
		wg.Go(leave)
		for {
			info, err := w.service.Send(t.Context(), request("c", "same", "next"))
			if errors.Is(err, context.Canceled) {
				t.Fatal("got the other client's end")
			}
			if err == nil {
				// The end of the first may hold what waits behind it.
				w.wait(first)
				for wait := w.service.Resume(t.Context(), "c", event.Via{}); wait != nil; wait = w.service.Resume(t.Context(), "c", event.Via{}) {
					wantCode(t, wait, chat.Conflict)
				}
				w.wait(info)
				break
			}
			wantCode(t, err, chat.Conflict)
		}
		w.wait(first)
		wg.Wait()
	}
}
