package chat

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"verbatim/internal/agent"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/llm"
	"verbatim/internal/turnlog"
)

// launch lets a run go whose start is durable; the claim's place in s.all passes
// to the run's goroutine. failure, if not nil, is why no
// model can be asked; the run then ends with it.
func (s *Service) launch(a *active, info turnlog.RunInfo, choice Choice, failure error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	a.cancel = cancel
	model := choice.Model
	if failure != nil {
		model = broken{failure}
	}
	job := agent.Job{
		Conversation: info.Conversation, Run: info.Run, Message: info.Message,
		Model: model, ModelName: choice.Name, Request: choice.Request,
		Closing: func() { close(a.closing) },
	}
	go func() {
		defer s.all.Done()
		defer cancel(nil)
		terminal, err := s.agent.Do(ctx, job)
		if err != nil {
			terminal = s.closeRefused(a, info, err)
		}
		s.forget(a)
		close(a.done)
		if s.opt.Ended != nil && terminal != nil {
			s.opt.Ended(terminal)
		}
	}()
}

// How long closing a run waits between two tries when the log refuses that too.
const (
	firstCloseWait = 100 * time.Millisecond
	maxCloseWait   = 5 * time.Second
)

// closeRefused ends a run whose events the log refused, from what the log holds
// of it. The run stays the conversation's run until the log has taken its
// terminal, however long that is. It returns nil when the log takes nothing any
// more, or the service stops first; the next start of the process then closes
// the run.
func (s *Service) closeRefused(a *active, info turnlog.RunInfo, cause error) event.Event {
	log := s.opt.Logger.With("conversation", info.Conversation, "run", info.Run)
	log.Error("log refused an event of a run", "err", cause)
	select {
	case <-a.closing:
	default:
		close(a.closing)
	}
	terminal := refusedTerminal(cause)
	for wait := firstCloseWait; ; wait = min(2*wait, maxCloseWait) {
		if errors.Is(cause, turnlog.ErrFenced) || errors.Is(cause, turnlog.ErrClosed) {
			return nil
		}
		cause = s.closeFromLog(context.Background(), info, terminal)
		if cause == nil {
			return terminal
		}
		log.Error("close run", "err", cause, "again_in", wait)
		if wait == firstCloseWait {
			close(a.stuck)
		}
		select {
		case <-time.After(wait):
		case <-s.halt:
			return nil
		}
	}
}

func refusedTerminal(cause error) event.Error {
	if errors.Is(cause, turnlog.ErrFull) {
		return event.Error{
			Type: event.ErrorInternal, Code: event.CodeDiskFull, Retryable: true,
			Message: "The disk is full. What was stored is kept; free some space, then try again.",
		}
	}
	return event.Error{
		Type: event.ErrorInternal, Code: event.CodeBug, Retryable: true,
		Message: "The answer could not be stored any further. What was said so far is kept; please try again.",
	}
}

// forget gives up the claims of a run that is over or never began.
func (s *Service) forget(a *active) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs[a.run] == a {
		delete(s.runs, a.run)
	}
	if s.busy[a.conversation] == a {
		delete(s.busy, a.conversation)
	}
}

// choose returns the model for a run. When none can be used the run still
// starts, and ends with the reason where people look for the answer.
func (s *Service) choose(ctx context.Context) (Choice, error) {
	choice, err := s.opt.Choose(ctx)
	if err == nil {
		return choice, nil
	}
	var f *llm.Failure
	if !errors.As(err, &f) {
		f = &llm.Failure{
			Kind: event.ErrorInternal, Code: event.CodeConfig, Err: err,
			Message: "The configured model can't be used: " + err.Error() + ". Choose another in the settings, then try again.",
		}
	}
	return choice, f
}

// Cancel stops a run. It returns nil also when the run has ended, and
// turnlog.ErrNoRun when there never was one. The run's terminal follows within a
// moment; Cancel does not wait for it.
func (s *Service) Cancel(ctx context.Context, run id.Run, by string, via event.Via) error {
	s.mu.Lock()
	a := s.runs[run]
	s.mu.Unlock()
	if a == nil {
		_, err := s.opt.Log.Run(ctx, run)
		return err
	}
	select {
	case <-a.started:
	case <-ctx.Done():
		return ctx.Err()
	}
	if a.cancel == nil {
		// The claim came to nothing, or named a run that had ended.
		_, err := s.opt.Log.Run(ctx, run)
		return err
	}
	a.cancel(&agent.Stop{Terminal: event.Cancelled{By: by, Via: via}})
	return nil
}

// Stop ends the service: no new runs begin, those under way may end by
// themselves until ctx ends, and the rest are closed as interrupted. It returns
// when no run is left.
func (s *Service) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.all.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	s.haltOnce.Do(func() { close(s.halt) })
	s.mu.Lock()
	left := slices.Collect(maps.Values(s.runs))
	s.mu.Unlock()
	for _, a := range left {
		<-a.started
		if a.cancel != nil {
			a.cancel(&agent.Stop{Terminal: agent.Interrupted()})
		}
	}
	<-done
	return nil
}
