package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/llm"
	"verbatim/internal/turnlog"
)

// step makes one random step.
func (s *schedule) step() error {
	switch n := s.random.IntN(100); {
	case n < 50:
		return s.say()
	case n < 65:
		return s.send(s.newMessage())
	case n < 70:
		return s.send(s.again())
	case n < 75:
		return s.repeat()
	case n < 80:
		return s.cancel()
	case n < 82:
		c := s.anyChat()
		s.note("delete %s", c)
		return s.allow(s.engine.chat.Delete(context.Background(), c, event.Via{Surface: "test"}), chat.Missing)
	case n < 84:
		c := s.anyChat()
		s.note("rename %s", c)
		return s.allow(s.engine.chat.Rename(context.Background(), c, fmt.Sprint("Title ", s.random.IntN(10))), chat.Missing)
	case n < 92:
		return s.follow()
	case n < 95:
		return s.fault()
	case n < 98:
		s.note("crash")
		return s.restart(s.engine.crash)
	case n < 99:
		s.note("crash after the next commit")
		s.engine.store.diesAfter.Store(true)
		if err := s.say(); err != nil {
			return err
		}
		return s.restart(s.engine.crash)
	}
	s.note("restart")
	return s.restart(s.engine.stop)
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
	r.Prompt, r.RegenerateOf = "", &row
	return r
}

// send sends a request; when it is taken the model is waited for.
func (s *schedule) send(r chat.SendRequest) error {
	s.note("send %s to %s, row %v", r.Run, r.Conversation, r.RegenerateOf != nil)
	_, err := s.engine.chat.Send(context.Background(), r)
	if err != nil {
		return s.allow(err, chat.Conflict, chat.Missing, chat.Invalid, chat.Full)
	}
	q := &request{send: r, prompt: r.Prompt, whole: true}
	if r.RegenerateOf != nil {
		if q.prompt, err = s.promptOf(r.Conversation, r.Run); err != nil {
			return err
		}
	}
	s.asked = append(s.asked, q)
	return s.engine.settle(r.Run, r.Conversation, q.prompt, nil)
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
	other := s.random.IntN(3) == 0
	if other {
		r.Prompt += " And?"
	}
	s.note("repeat %s, with another body %v", r.Run, other)
	info, err := s.engine.chat.Send(context.Background(), r)
	var refused *chat.Error
	switch {
	case other && errors.As(err, &refused) && refused.Code == chat.Mismatch:
		return nil
	case other:
		return fmt.Errorf("run %s taken with another body: %v", r.Run, err)
	case err != nil:
		return fmt.Errorf("repeat: %w", err)
	case info.Run != r.Run || info.Conversation != r.Conversation:
		return fmt.Errorf("repeat of %s gave %+v", r.Run, info)
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
	if err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	return s.engine.settle(run, q.send.Conversation, q.prompt, s.engine.answering(q.prompt))
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
		if s.engine.answering(q.prompt) != nil && !q.ended {
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
		if p.err != nil || p.chunk.Finish != nil {
			return s.engine.settle(q.send.Run, q.send.Conversation, q.prompt, a)
		}
	}
	return nil
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
		f := &llm.ToolFragment{Index: s.random.IntN(2), Name: "tool", ID: "x", Args: []string{`{"a":1}`, `{`, ""}[s.random.IntN(3)]}
		return piece{chunk: llm.Chunk{Tool: f}}
	case n < 85:
		return piece{chunk: llm.Chunk{Usage: &llm.Usage{Input: 3, Output: 4}}}
	case n < 96:
		return piece{chunk: llm.Chunk{Finish: &llm.Finish{Reason: event.FinishStop}}}
	}
	return piece{err: &llm.Failure{Kind: event.ErrorRateLimit, Message: "Slow down.", Retryable: true}}
}
