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
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

// job is what a run needs beside its place in the log.
type job struct {
	choice Choice
	// failure, if not nil, is why no model can be asked; the run then ends
	// with it.
	failure error
	noTools bool
}

// launch lets a run go whose start is durable. The lane's turn is held.
func (s *Service) launch(l *lane, a *active, info turnlog.RunInfo, j job) {
	ctx, cancel := context.WithCancelCause(context.Background())
	s.mu.Lock()
	s.all.Add(1)
	a.cancel, a.info = cancel, info
	if a.waits != nil {
		a.waits = nil
		l.waiting = slices.DeleteFunc(l.waiting, func(w *active) bool { return w == a })
	}
	l.run = a
	s.mu.Unlock()
	go func() {
		defer s.all.Done()
		defer cancel(nil)
		s.perform(ctx, l, a, info, j)
	}()
}

// perform is a run's goroutine: it runs the agent, then what is due after it.
func (s *Service) perform(ctx context.Context, l *lane, a *active, info turnlog.RunInfo, j job) {
	terminal, err := s.agent.Do(ctx, s.work(a, info, j))
	if err != nil {
		terminal = s.closeRefused(a, info, err)
	}
	more := s.ended(l, a)
	close(a.done)
	if s.opt.Ended != nil && terminal != nil {
		s.opt.Ended(terminal)
	}
	// Without a terminal the log takes nothing any more.
	if more && terminal != nil {
		s.next(info.Conversation)
	}
	if _, complete := terminal.(event.End); complete {
		s.autoTitle(info, j.choice)
	}
}

// work is what the agent is told of a run.
func (s *Service) work(a *active, info turnlog.RunInfo, j job) agent.Job {
	work := agent.Job{
		Conversation: info.Conversation, Run: info.Run, Message: info.Message,
		Model: j.choice.Model, ModelName: j.choice.Name, Request: j.choice.Request,
		Closing: func() { close(a.closing) },
	}
	if j.failure != nil {
		work.Model = broken{j.failure}
	}
	if !j.noTools {
		work.Tools = s.opt.Tools
	}
	return work
}

// ended gives up the claims of a run that is over, and reports whether anything
// waits.
func (s *Service) ended(l *lane, a *active) (more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.runs, a.run)
	l.run = nil
	more = len(l.waiting) > 0
	s.tidy(l)
	return more
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

// choose returns the model for a run. When none can be used the run still
// starts, and ends with the reason where people look for the answer.
func (s *Service) choose(ctx context.Context, state *transcript.Conversation) (Choice, error) {
	choice, err := s.opt.Choose(ctx, Want{Model: state.Model, Project: state.Project})
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

// Cancel stops a run, and takes out of the queue what waits behind it; a run
// that waits itself is taken out alone. It returns nil also when the run has
// ended, and turnlog.ErrNoRun when there never was one. The run's terminal
// follows within a moment; Cancel does not wait for it.
func (s *Service) Cancel(ctx context.Context, run id.Run, by string, via event.Via) error {
	s.mu.Lock()
	a := s.runs[run]
	s.mu.Unlock()
	if a == nil {
		info, err := s.opt.Log.Run(ctx, run)
		if err != nil || info.First != 0 || info.Dropped != 0 {
			return err
		}
		return s.cancelIn(ctx, info.Conversation, run, by, via)
	}
	select {
	case <-a.started:
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.cancelAlone(a, by, via) {
		return nil
	}
	return s.cancelIn(ctx, a.conversation, run, by, via)
}

// cancelIn stops a run that is its conversation's, or takes it out of the queue.
func (s *Service) cancelIn(ctx context.Context, c id.Conversation, run id.Run, by string, via event.Via) error {
	l, release, err := s.enter(ctx, c)
	if err != nil {
		return err
	}
	defer release()
	if current, _ := s.current(l); current != nil && current.run == run {
		return s.stopLane(ctx, l, event.Cancelled{By: by, Via: via})
	}
	a, err := s.waitingRun(ctx, l, run)
	switch {
	case err != nil:
		return err
	case a != nil:
		return s.drop(ctx, l, []*active{a}, via)
	}
	// It ended meanwhile, came to nothing, or named a run that had ended.
	_, err = s.opt.Log.Run(ctx, run)
	return err
}

// cancelAlone stops a run behind which nothing waits.
func (s *Service) cancelAlone(a *active, by string, via event.Via) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[a.conversation]
	if l == nil || l.run != a || len(l.waiting) > 0 {
		return false
	}
	a.cancel(&agent.Stop{Terminal: event.Cancelled{By: by, Via: via}})
	return true
}

// stopLane takes out what waits, then stops the run: once that has ended, nothing
// of the queue is sent. A queue that can't be emptied is held. The lane's turn is
// held.
func (s *Service) stopLane(ctx context.Context, l *lane, how event.Cancelled) error {
	err := s.drop(ctx, l, s.waitingIn(l), how.Via)
	if err != nil {
		s.hold(l)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.run != nil {
		l.run.cancel(&agent.Stop{Terminal: how})
	}
	return err
}

// Stop ends the service: no new runs begin, those under way may end by
// themselves until ctx ends, and the rest are closed as interrupted. What waits
// in queues stays there for the next start. It returns when no run is left.
func (s *Service) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	s.endOnce.Do(func() { close(s.ending) })
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
		s.mu.Lock()
		cancel := a.cancel
		s.mu.Unlock()
		if cancel != nil {
			cancel(&agent.Stop{Terminal: agent.Interrupted()})
		}
	}
	<-done
	return nil
}
