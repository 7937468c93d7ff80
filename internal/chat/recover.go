package chat

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"sync"
	"time"

	"verbatim/internal/agent"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/llm"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

// Recover takes up what the last process left: a run of which nothing but its
// start is stored is begun again, once, under the same id; any other is closed
// as interrupted with all it had said; then what waits in queues goes on, and
// what was deleted is erased when its time comes. Call it once, before the first
// command. When it returns every closed run is durable.
func (s *Service) Recover(ctx context.Context) error {
	left, err := s.opt.Log.Unfinished(ctx)
	if err != nil {
		return fmt.Errorf("list unfinished runs: %w", err)
	}
	queued, err := s.opt.Log.Queued(ctx)
	if err != nil {
		return fmt.Errorf("list queued runs: %w", err)
	}
	// All at once, so that their closings share the log's commits.
	errs := make([]error, len(left))
	var wg sync.WaitGroup
	for i, info := range left {
		wg.Go(func() {
			if err := s.recoverRun(ctx, info); err != nil {
				errs[i] = fmt.Errorf("recover run %s: %w", info.Run, err)
			}
		})
	}
	wg.Wait()
	err = errors.Join(errors.Join(errs...), s.recoverQueues(ctx, queued))
	s.all.Add(1)
	go s.eraser()
	return err
}

// recoverQueues puts what waits back behind its conversation's run, and starts
// the first where there is none and nobody needs to be asked.
func (s *Service) recoverQueues(ctx context.Context, queued []turnlog.RunInfo) error {
	seen := map[id.Conversation]bool{}
	var errs []error
	for _, info := range queued {
		if seen[info.Conversation] {
			continue
		}
		seen[info.Conversation] = true
		if err := s.recoverQueue(ctx, info.Conversation); err != nil {
			errs = append(errs, fmt.Errorf("recover queue of %s: %w", info.Conversation, err))
		}
	}
	return errors.Join(errs...)
}

func (s *Service) recoverQueue(ctx context.Context, c id.Conversation) error {
	l, release, err := s.enter(ctx, c)
	if err != nil {
		return err
	}
	defer release()
	state, err := s.facts(ctx, c)
	if err != nil {
		return err
	}
	s.adopt(l, state)
	s.startWaiting(ctx, l)
	return nil
}

func (s *Service) recoverRun(ctx context.Context, info turnlog.RunInfo) error {
	said, err := s.saidAnything(ctx, info)
	if err != nil {
		return err
	}
	if said {
		return s.closeFromLog(ctx, info, agent.Interrupted())
	}
	err = s.retry(ctx, info)
	if err == nil || errors.Is(err, turnlog.ErrFenced) {
		return err
	}
	// It can't be begun again; it can still be closed.
	s.opt.Logger.Error("retry run", "conversation", info.Conversation, "run", info.Run, "err", err)
	return s.closeFromLog(ctx, info, agent.Interrupted())
}

// saidAnything reports whether the log holds more of a run than its start. Facts
// about the conversation may stand between.
func (s *Service) saidAnything(ctx context.Context, info turnlog.RunInfo) (bool, error) {
	for at := info.First; ; {
		next, err := s.opt.Log.After(ctx, info.Conversation, at, turnlog.Limit{Records: 10})
		if err != nil || len(next) == 0 {
			return false, err
		}
		for _, r := range next {
			if r.Run == info.Run {
				return true, nil
			}
		}
		at = next[len(next)-1].Seq
	}
}

// retry begins a run again of which only the start is stored.
func (s *Service) retry(ctx context.Context, info turnlog.RunInfo) error {
	state, err := s.facts(ctx, info.Conversation)
	if err != nil {
		return err
	}
	turn, run := turnOf(state, info.Run), state.Run(info.Run)
	if turn == nil || turn.Deleted {
		return errors.New("its turn is gone")
	}
	choice, failure := s.choose(ctx, state)
	history, omitted, err := s.history(ctx, state, turnIndex(state, turn), &turn.User, choice)
	if err != nil {
		return err
	}
	again := run.Start
	again.Retry, again.OmittedTurns, again.Model = true, omitted, choice.Name
	l, release, err := s.enter(ctx, info.Conversation)
	if err != nil {
		return err
	}
	defer release()
	if _, err := s.opt.Log.Append(ctx, info.Conversation, turnlog.Draft{Run: info.Run, Message: info.Message, Event: again}); err != nil {
		return err
	}
	a := newActive(info.Run, info.Conversation, info.Request)
	s.mu.Lock()
	s.runs[a.run] = a
	s.mu.Unlock()
	choice.Request.Messages = history
	s.launch(l, a, info, job{choice: choice, failure: failure, noTools: run.Start.NoTools})
	close(a.started)
	return nil
}

func turnOf(state *transcript.Conversation, run id.Run) *transcript.Turn {
	for _, t := range state.Turns {
		for _, r := range t.Runs {
			if r.ID == run {
				return t
			}
		}
	}
	return nil
}

// closeFromLog ends a run that nobody performs any more, from what the log
// holds of it: what is open is closed, then it gets its terminal.
func (s *Service) closeFromLog(ctx context.Context, info turnlog.RunInfo, terminal event.Event) error {
	state := &transcript.Conversation{ID: info.Conversation, Seq: info.First - 1}
	if err := s.read(ctx, state, math.MaxInt64); err != nil {
		return err
	}
	run := state.Run(info.Run)
	if run == nil {
		return fmt.Errorf("no record of run %s is left", info.Run)
	}
	if run.Terminal != 0 {
		return nil
	}
	var drafts []turnlog.Draft
	add := func(e event.Event) {
		drafts = append(drafts, turnlog.Draft{Run: info.Run, Message: info.Message, Event: e})
	}
	for _, e := range transcript.Close(run, closing(terminal)) {
		add(e)
	}
	if run.Usage == nil && len(run.Parts) > 0 {
		add(usageOf(run))
	}
	add(terminal)
	_, err := s.opt.Log.Append(ctx, info.Conversation, drafts...)
	return err
}

func closing(terminal event.Event) transcript.Cause {
	if e, ok := terminal.(event.Error); ok && e.Code != event.CodeInterrupted {
		return transcript.CauseFailed
	}
	return transcript.CauseInterrupted
}

// usageOf says what is known of a run whose process ended: its text and how
// long it was seen to take; the provider's figures are lost.
func usageOf(run *transcript.Run) event.Usage {
	chars, _ := transcript.Totals(run)
	u := event.Usage{
		Chars: chars, Model: run.Start.Model, Rounds: []event.Round{},
		Seconds: seconds(run.StartAt, run.LastAt),
	}
	for _, p := range run.Parts {
		if p.Kind != transcript.PartTool {
			u.TTFT = seconds(run.StartAt, p.At)
			break
		}
	}
	return u
}

func seconds(from, to time.Time) float64 { return max(0, to.Sub(from).Seconds()) }

// broken is a model that can't be asked, for the reason given.
type broken struct{ failure error }

func (b broken) Stream(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) { yield(llm.Chunk{}, b.failure) }
}
