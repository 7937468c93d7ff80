package chat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"verbatim/internal/id"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

// eraseAgain is how long the eraser waits after the log has refused.
const eraseAgain = time.Minute

// eraser erases what was deleted once its time is over, until Stop is called.
func (s *Service) eraser() {
	defer s.all.Done()
	for {
		wait, err := s.eraseDue(context.Background())
		if err != nil {
			if wait == 0 || wait > eraseAgain {
				wait = eraseAgain
			}
			s.opt.Logger.Error("erase what was deleted", "err", err, "again_in", wait)
		}
		var timer <-chan time.Time
		if wait > 0 {
			timer = time.After(wait)
		}
		select {
		case <-s.ending:
			return
		case <-s.doomed:
		case <-timer:
		}
	}
}

// eraseDue erases all that is due, also where something before it can't be, and
// returns how long it is until more will be; 0 when nothing is left.
func (s *Service) eraseDue(ctx context.Context) (wait time.Duration, err error) {
	all, err := s.opt.Log.Doomed(ctx)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, d := range all {
		left := due(d).Sub(s.opt.Now())
		if left > 0 {
			if wait == 0 || left < wait {
				wait = left
			}
			continue
		}
		if err := s.erase(ctx, d); err != nil {
			errs = append(errs, fmt.Errorf("conversation %s: %w", d.Conversation, err))
		}
	}
	return wait, errors.Join(errs...)
}

// erase puts tombstones in the place of a deleted turn or conversation, then
// removes the blobs that nothing refers to any more. The records are gone first:
// a crash between leaves blobs without an owner, which the next start sweeps.
func (s *Service) erase(ctx context.Context, d turnlog.Doomed) error {
	_, release, err := s.enter(ctx, d.Conversation)
	if err != nil {
		return err
	}
	defer release()
	what := turnlog.Erasure{Through: d.Seq - 1}
	if d.Message != "" {
		state, err := s.facts(ctx, d.Conversation)
		if err != nil {
			return err
		}
		t := state.Turn(d.Message)
		if t == nil || !t.Deleted {
			return nil // restored, or the whole conversation is gone
		}
		what = turnErasure(t)
	}
	blobs, err := s.opt.Log.Erase(ctx, d.Conversation, what)
	if err != nil {
		return err
	}
	s.forgetShown(d.Conversation)
	for _, b := range blobs {
		if err := s.opt.Blobs.Delete(b); err != nil {
			return fmt.Errorf("remove blob %s: %w", b, err)
		}
	}
	s.opt.Logger.Info("erased", "conversation", d.Conversation, "whole", d.Message == "")
	return nil
}

func turnErasure(t *transcript.Turn) turnlog.Erasure {
	what := turnlog.Erasure{Seqs: []int64{t.UserSeq}, Runs: []id.Run{}}
	for _, run := range t.Runs {
		what.Runs = append(what.Runs, run.ID)
	}
	return what
}
