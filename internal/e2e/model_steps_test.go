package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing/synctest"
	"time"

	"verbatim/internal/approval"
	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/llm"
	"verbatim/internal/turnlog"
)

// step makes one random step.
func (s *schedule) step() error {
	steps := []struct {
		weight int
		do     func() error
	}{
		{40, s.say}, {12, func() error { return s.send(s.newMessage()) }}, {4, func() error { return s.send(s.again()) }},
		{3, s.repeat}, {4, s.cancel}, {8, s.decide}, {2, s.decideLate}, {6, s.endTool},
		{2, s.editQueued}, {2, s.removeQueued}, {2, s.resume},
		{2, s.fork}, {1, s.editAndSend}, {3, s.chooseVersion},
		{1, s.deleteChat}, {3, s.deleteMessage}, {3, s.undo}, {2, s.rename},
		{6, s.follow}, {2, s.fault}, {2, s.crash}, {1, s.crashAfterCommit}, {1, s.stopAndStart}, {2, s.wait},
	}
	total := 0
	for _, step := range steps {
		total += step.weight
	}
	n := s.random.IntN(total)
	for _, step := range steps {
		if n -= step.weight; n < 0 {
			return step.do()
		}
	}
	panic("unreachable")
}

func (s *schedule) crash() error {
	s.note("crash")
	return s.restart(s.engine.crash)
}

func (s *schedule) crashAfterCommit() error {
	s.note("crash after the next commit")
	s.engine.store.diesAfter.Store(true)
	if err := s.say(); err != nil {
		return err
	}
	return s.restart(s.engine.crash)
}

func (s *schedule) stopAndStart() error {
	s.note("restart")
	return s.restart(s.engine.stop)
}

// wait lets time pass: enough for an erasure, or for a request for approval to
// expire too.
func (s *schedule) wait() error {
	long := []time.Duration{chat.UndoTime + time.Second, approval.DefaultTimeout + time.Second}[s.random.IntN(2)]
	s.note("wait %v", long)
	time.Sleep(long)
	synctest.Wait()
	return s.checkAll()
}

func (s *schedule) anyChat() id.Conversation { return s.chats[s.random.IntN(len(s.chats))] }

func (s *schedule) newMessage() chat.SendRequest {
	s.prompts++
	r := chat.SendRequest{
		Conversation: s.anyChat(), Prompt: fmt.Sprintf("Question %d of %d?", s.prompts, s.number), Via: event.Via{Surface: "test"},
	}
	r.Run = id.Run(fmt.Sprintf("r%d-%d", s.number, s.prompts))
	return r
}

// again asks for another answer to a random row, which may be none.
func (s *schedule) again() chat.SendRequest {
	r := s.newMessage()
	row := s.random.IntN(6)
	r.Prompt, r.Regenerate = "", &chat.Target{Index: row}
	// In a fork the same question may be answered elsewhere at the same time,
	// and the model knows runs by their questions.
	r.Conversation = s.chats[s.random.IntN(len(s.chats)-len(s.forks))]
	return r
}

// send sends a request; when it is taken the model is waited for.
func (s *schedule) send(r chat.SendRequest) error {
	s.note("send %s to %s, row %v", r.Run, r.Conversation, r.Regenerate != nil)
	_, err := s.engine.chat.Send(context.Background(), r)
	if err != nil {
		return s.allow(err, chat.Conflict, chat.Missing, chat.Invalid, chat.Full, chat.TooMany)
	}
	return s.taken(r)
}

// taken notes a request that was taken.
func (s *schedule) taken(r chat.SendRequest) (err error) {
	q := &request{send: r, prompt: r.Prompt, whole: true}
	if r.Regenerate != nil {
		if q.prompt, err = s.promptOf(r.Conversation, r.Run); err != nil {
			return err
		}
	}
	s.asked = append(s.asked, q)
	return nil
}

// allow passes a refusal of the codes that a careless client may get, and an
// error of a disk that was made to fail.
func (s *schedule) allow(err error, codes ...chat.Code) error {
	var refused *chat.Error
	switch {
	case err == nil:
		s.note("  taken")
		return nil
	case errors.Is(err, errDisk), errors.Is(err, turnlog.ErrFull):
		s.note("  the disk failed")
		return nil
	case errors.As(err, &refused):
		for _, code := range codes {
			if refused.Code == code {
				s.note("  refused: %s", code)
				return nil
			}
		}
	}
	return fmt.Errorf("unexpected: %w", err)
}

// promptOf finds the message that a run answers.
func (s *schedule) promptOf(c id.Conversation, run id.Run) (string, error) {
	state, err := s.state(c)
	if err != nil {
		return "", err
	}
	for _, turn := range state.Turns {
		for _, r := range turn.Runs {
			if r.ID == run {
				return turn.User.Text, nil
			}
		}
	}
	for _, q := range state.Queue {
		if turn := state.Turn(q.RegenerateOf); q.Run == run && turn != nil {
			return turn.User.Text, nil
		}
	}
	return "", fmt.Errorf("run %s has no turn", run)
}

// repeat sends a request that was taken before again, sometimes with another
// body.
func (s *schedule) repeat() error {
	if len(s.asked) == 0 {
		return nil
	}
	q := s.asked[s.random.IntN(len(s.asked))]
	r := q.send
	// The words of a question that is answered again are not part of the request.
	other := r.Regenerate == nil && s.random.IntN(3) == 0
	if other {
		r.Prompt += " And?"
	}
	s.note("repeat %s, with another body %v", r.Run, other)
	info, err := s.engine.chat.Send(context.Background(), r)
	var refused *chat.Error
	switch {
	case other && errors.As(err, &refused):
		return s.checkMismatch(q, refused)
	case other:
		return fmt.Errorf("run %s taken with another body: %v", r.Run, err)
	case errors.As(err, &refused) && refused.Code == chat.Missing:
		s.note("  its message was deleted")
		return nil
	case err != nil:
		return s.allow(err)
	case info.Run != r.Run || info.Conversation != r.Conversation:
		return fmt.Errorf("repeat of %s gave %+v", r.Run, info)
	}
	return nil
}

// checkMismatch: a known run id with another body is refused for that, unless
// what was asked is erased, and nobody can know any more that it was another.
func (s *schedule) checkMismatch(q *request, refused *chat.Error) error {
	records, err := s.records(q.send.Conversation)
	if err != nil {
		return err
	}
	info, err := s.engine.log.Run(context.Background(), q.send.Run)
	if err != nil {
		return err
	}
	want, at := chat.Mismatch, info.First
	if at == 0 {
		at = info.Queued
	}
	if _, erased := mustEvent(records[at-1]).(event.Erased); erased {
		want = chat.Missing
	}
	if refused.Code != want {
		return fmt.Errorf("run %s with another body is refused as %s, want %s: %w", q.send.Run, refused.Code, want, refused)
	}
	return nil
}

func (s *schedule) cancel() error {
	run := id.Run("nobody")
	var q *request
	if len(s.asked) > 0 && s.random.IntN(5) > 0 {
		q = s.asked[len(s.asked)-1-s.random.IntN(min(3, len(s.asked)))]
		run = q.send.Run
	}
	s.note("cancel %s", run)
	err := s.engine.chat.Cancel(context.Background(), run, "owner", event.Via{Surface: "test"})
	if q == nil {
		if !errors.Is(err, turnlog.ErrNoRun) {
			return fmt.Errorf("cancel of an unknown run: %w", err)
		}
		return nil
	}
	return s.allow(err)
}

var errDisk = errors.New("the disk has a bad day")

func (s *schedule) fault() error {
	err := errDisk
	if s.random.IntN(3) == 0 {
		err = turnlog.ErrFull
	}
	times := 1 + s.random.IntN(10)/9 // closing the run then fails too
	s.note("the next %d commits fail: %v", times, err)
	s.engine.store.failNext(err, times)
	for _, q := range s.asked {
		q.whole = q.whole && q.ended
	}
	return nil
}

// say lets the model go on in some run.
func (s *schedule) say() error {
	var talking []*request
	for _, q := range s.asked {
		if s.engine.answering(q.prompt) != nil && s.runs(q) {
			talking = append(talking, q)
		}
	}
	if len(talking) == 0 {
		return nil
	}
	q := talking[s.random.IntN(len(talking))]
	for range 1 + s.random.IntN(4) {
		a := s.engine.answering(q.prompt)
		if a == nil {
			return nil
		}
		p := s.piece()
		s.note("%s: %s", q.send.Run, describe(p))
		if !a.give(p) {
			return nil
		}
		q.said += p.chunk.Text
		if p.last() {
			return nil
		}
	}
	return nil
}

// runs reports whether a request's run is the one under way. What is said to a
// question may be said to one of several runs of it.
func (s *schedule) runs(q *request) bool {
	info, err := s.engine.log.Run(context.Background(), q.send.Run)
	return err == nil && info.First > 0 && info.Last == 0
}

func describe(p piece) string {
	if p.err != nil {
		return "fails"
	}
	switch c := p.chunk; {
	case c.Text != "":
		return fmt.Sprintf("text %q", c.Text)
	case c.Reasoning != "":
		return fmt.Sprintf("reasoning %q", c.Reasoning)
	case c.Tool != nil:
		return fmt.Sprintf("tool %+v", *c.Tool)
	case c.Finish != nil:
		return "finish"
	}
	return "usage"
}

// piece is a random thing for a model to say.
func (s *schedule) piece() piece {
	texts := []string{"word ", "\n\n", " ", "你好", "🌍", "e\u0301", "<b>&", "long " + strings.Repeat("x", 100), "\t"}
	text := texts[s.random.IntN(len(texts))]
	switch n := s.random.IntN(100); {
	case n < 50:
		return piece{chunk: llm.Chunk{Text: text}}
	case n < 70:
		return piece{chunk: llm.Chunk{Reasoning: text}}
	case n < 80:
		return piece{chunk: llm.Chunk{Tool: s.fragment()}}
	case n < 85:
		return piece{chunk: llm.Chunk{Usage: &llm.Usage{Input: 3, Output: 4}}}
	case n < 96:
		return piece{chunk: llm.Chunk{Finish: &llm.Finish{Reason: event.FinishStop}}}
	}
	return piece{err: &llm.Failure{Kind: event.ErrorRateLimit, Message: "Slow down.", Retryable: true}}
}

// fragment is a call, mostly of one that can run.
func (s *schedule) fragment() *llm.ToolFragment {
	args := []string{s.args(), s.args(), s.args(), `{`, ""}
	return &llm.ToolFragment{
		Index: s.random.IntN(3), ID: "x",
		Name: []string{"look", "act", "act", "tool"}[s.random.IntN(4)], Args: args[s.random.IntN(len(args))],
	}
}

// args are the arguments of a call that no other has.
func (s *schedule) args() string {
	s.calls++
	return fmt.Sprintf(`{"n":%d}`, s.number*10_000+s.calls)
}
