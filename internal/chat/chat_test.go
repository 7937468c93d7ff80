package chat_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/llm"
	"verbatim/internal/turnlog"
)

func TestSendAndReopen(t *testing.T) {
	w := newWorld(t)
	if end := w.ask("c", "hello"); end != "end" {
		t.Fatalf("got %s", end)
	}
	want := "user: hello\ncomplete: re: hello\n"
	w.wantRows("c", want)
	w.crash()
	w.wantRows("c", want)
	w.ask("c", "again")
	w.wantRows("c", want+"user: again\ncomplete: re: again\n")
}

func TestRefusals(t *testing.T) {
	w := newWorld(t)
	w.ask("c", "hello")
	for name, tc := range map[string]struct {
		req  chat.SendRequest
		want chat.Code
	}{
		"blank prompt":         {request("c", "", " \n\t"), chat.Invalid},
		"bad conversation":     {request("../etc", "", "x"), chat.Invalid},
		"bad run":              {request("c", "a b", "x"), chat.Invalid},
		"prompt too long":      {request("c", "", strings.Repeat("x", chat.MaxPromptBytes+1)), chat.Invalid},
		"not UTF-8":            {request("c", "", "\xff"), chat.Invalid},
		"regenerate an answer": {chat.SendRequest{Conversation: "c", Regenerate: &chat.Target{Index: 1}}, chat.Invalid},
		"regenerate nothing":   {chat.SendRequest{Conversation: "c", Regenerate: &chat.Target{Index: 7}}, chat.Missing},
		"regenerate below 0":   {chat.SendRequest{Conversation: "c", Regenerate: &chat.Target{Index: -1}}, chat.Missing},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.service.Send(t.Context(), tc.req)
			wantCode(t, err, tc.want)
		})
	}
	w.wantRows("c", "user: hello\ncomplete: re: hello\n")
}

// G11: fifty requests with one id are one run; another body under it is refused.
func TestOneRunPerID(t *testing.T) {
	w := newWorld(t)
	var wg sync.WaitGroup
	infos := make([]turnlog.RunInfo, 50)
	for i := range infos {
		wg.Go(func() {
			info, err := w.service.Send(t.Context(), request("c", "same", "hello"))
			if err != nil {
				t.Errorf("send: %v", err)
			}
			infos[i] = info
		})
	}
	wg.Wait()
	for _, info := range infos {
		if info.First != infos[0].First || info.Run != "same" {
			t.Errorf("got %+v, want %+v", info, infos[0])
		}
	}
	w.wait(infos[0])
	if n := len(w.model.requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	if again := w.send("c", "same", "hello"); again.First != infos[0].First || again.Last == 0 {
		t.Errorf("after the end: got %+v", again)
	}
	for _, other := range []chat.SendRequest{request("c", "same", "other"), request("d", "same", "hello")} {
		_, err := w.service.Send(t.Context(), other)
		wantCode(t, err, chat.Mismatch)
	}
	w.crash()
	if again := w.send("c", "same", "hello"); again.First != infos[0].First {
		t.Errorf("after a restart: got %+v", again)
	}
	w.wantRows("c", "user: hello\ncomplete: re: hello\n")
}

// G11: a conversation has one run at a time, and whoever saw the end can send.
func TestOneRunPerConversation(t *testing.T) {
	w := newWorld(t)
	w.model.hold = make(chan struct{})
	first := w.send("c", "", "one")
	<-w.model.first
	queued := w.send("c", "", "two")
	if queued.First != 0 || queued.Queued == 0 {
		t.Errorf("the second message got %+v, want a place in the queue", queued)
	}
	other := w.send("d", "", "elsewhere")
	<-w.model.first
	close(w.model.hold)
	w.wait(first)
	w.wait(other)
	w.wait(queued)
	w.model.mu.Lock()
	w.model.hold = nil
	w.model.mu.Unlock()
	for range 30 {
		w.ask("c", "next")
	}
	if got := len(w.state("c").Turns); got != 32 {
		t.Errorf("got %d turns", got)
	}
}

// I5: an answer given again is a version of the same message.
func TestRegenerate(t *testing.T) {
	w := newWorld(t)
	w.ask("c", "one")
	w.ask("c", "two")
	w.model.reply = func(p string) []llm.Chunk { return []llm.Chunk{{Text: "better: " + p}} }
	info, err := w.service.Send(t.Context(), chat.SendRequest{Conversation: "c", Regenerate: &chat.Target{}})
	if err != nil {
		t.Fatal(err)
	}
	w.wait(info)
	w.wantRows("c", "user: one\ncomplete: better: one\nuser: two\ncomplete: re: two\n")
	turn := w.state("c").Turns[0]
	if len(turn.Versions()) != 2 || turn.Runs[0].Message != turn.Runs[1].Message || turn.Runs[1].Start.Version != 2 {
		t.Errorf("got %+v", turn)
	}
	asked := w.model.requests()
	if last := asked[len(asked)-1].Messages; len(last) != 1 || last[0].Text != "one" {
		t.Errorf("the model was told %+v", last)
	}
	// A run without visible text is kept, but is no version.
	w.model.reply = func(string) []llm.Chunk { return []llm.Chunk{{Text: " \n"}} }
	info, err = w.service.Send(t.Context(), chat.SendRequest{Conversation: "c", Regenerate: &chat.Target{}})
	if err != nil {
		t.Fatal(err)
	}
	if end := w.wait(info); end != "error" {
		t.Errorf("blank answer ended as %s", end)
	}
	w.wantRows("c", "user: one\ncomplete: better: one\nuser: two\ncomplete: re: two\n")
}

func TestCancel(t *testing.T) {
	w := newWorld(t)
	w.model.hold = make(chan struct{})
	info := w.send("c", "", "one")
	<-w.model.first
	for range 2 {
		if err := w.service.Cancel(t.Context(), info.Run, "owner", event.Via{Surface: "test"}); err != nil {
			t.Fatal(err)
		}
	}
	if end := w.wait(info); end != "cancelled" {
		t.Errorf("got %s", end)
	}
	if err := w.service.Cancel(t.Context(), info.Run, "owner", event.Via{}); err != nil {
		t.Errorf("after the end: %v", err)
	}
	if err := w.service.Cancel(t.Context(), "never", "owner", event.Via{}); !errors.Is(err, turnlog.ErrNoRun) {
		t.Errorf("unknown run: %v", err)
	}
	w.wantRows("c", "user: one\ncancelled: re: \n")
}

func TestDelete(t *testing.T) {
	w := newWorld(t)
	w.ask("c", "one")
	w.model.hold = make(chan struct{})
	info := w.send("c", "", "two")
	<-w.model.first
	if err := w.service.Delete(t.Context(), "c", event.Via{Surface: "test"}); err != nil {
		t.Fatal(err)
	}
	if end := w.wait(info); end != "cancelled" {
		t.Errorf("its run ended as %s", end)
	}
	w.wantRows("c", "")
	wantCode(t, w.service.Delete(t.Context(), "c", event.Via{}), chat.Missing)
	wantCode(t, w.service.Rename(t.Context(), "c", "x"), chat.Missing)
	w.model.mu.Lock()
	w.model.hold = nil
	w.model.mu.Unlock()
	w.ask("c", "anew")
	w.wantRows("c", "user: anew\ncomplete: re: anew\n")
	asked := w.model.requests()
	if last := asked[len(asked)-1].Messages; len(last) != 1 {
		t.Errorf("deleted text reached the model: %+v", last)
	}
	w.ask("d", "other")
	if n, err := w.service.DeleteAll(t.Context(), event.Via{}); n != 2 || err != nil {
		t.Errorf("delete all: %d, %v", n, err)
	}
	if list, err := w.log.Conversations(t.Context(), turnlog.Query{Limit: 10}); len(list) != 0 || err != nil {
		t.Errorf("left: %v, %v", list, err)
	}
}

func TestRename(t *testing.T) {
	w := newWorld(t)
	w.ask("c", "hello")
	if err := w.service.Rename(t.Context(), "c", "Disk"); err != nil {
		t.Fatal(err)
	}
	if err := w.service.SetProject(t.Context(), "c", "Ops"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, w.service.Rename(t.Context(), "c", " "), chat.Invalid)
	w.crash()
	list, err := w.log.Conversations(t.Context(), turnlog.Query{Limit: 10})
	if err != nil || len(list) != 1 || list[0].Title != "Disk" || list[0].Project != "Ops" || list[0].Rows != 2 {
		t.Errorf("got %+v, %v", list, err)
	}
}

func TestHistory(t *testing.T) {
	w := newWorld(t)
	told := func() string {
		asked := w.model.requests()
		var b strings.Builder
		for _, m := range asked[len(asked)-1].Messages {
			b.WriteString(string(m.Role[0]) + ":" + m.Text + "|")
		}
		return b.String()
	}
	w.ask("c", "one")
	w.ask("c", "two")
	if got, want := told(), "u:one|a:re: one|u:two|"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	w.model.reply = func(string) []llm.Chunk { return []llm.Chunk{{Text: strings.Repeat("x", 4000)}} }
	w.ask("c", "long")
	w.budget = 600
	w.crash()
	w.model.reply = nil
	w.ask("c", "after")
	if got, want := told(), "u:after|"; got != want {
		t.Errorf("over the budget: got %s, want %s", got, want)
	}
	turns := w.state("c").Turns
	if got := turns[3].Runs[0].Start.OmittedTurns; got != 3 {
		t.Errorf("omitted turns: got %d, want 3", got)
	}
}

func TestNoModel(t *testing.T) {
	w := newWorld(t)
	w.service = chat.New(chat.Options{Log: w.log, Choose: func(context.Context, chat.Want) (chat.Choice, error) {
		return chat.Choice{}, errors.New("no key for openai")
	}})
	if end := w.ask("c", "hello"); end != "error" {
		t.Errorf("got %s", end)
	}
	run := w.state("c").Turns[0].Runs[0]
	if run.Err.Code != event.CodeConfig || !strings.Contains(run.Err.Message, "no key for openai") {
		t.Errorf("got %+v", run.Err)
	}
}
