package library

import (
	"context"
	"slices"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

// What a run can be besides what its row says.
const (
	// StatusQueued: its message waits.
	StatusQueued transcript.Status = "queued"
	// StatusDropped: its message was taken out of the queue unsent.
	StatusDropped transcript.Status = "dropped"
)

// Run is what became of a run, without its text.
type Run struct {
	Run          id.Run          `json:"run_id"`
	Conversation id.Conversation `json:"conversation"`
	// Message is the assistant message that it is a version of, empty until
	// it has started.
	Message id.Message        `json:"msg_id"`
	Status  transcript.Status `json:"status"`
	Model   string            `json:"model"`
	// RegenerateOf is the question where it is answered again.
	RegenerateOf id.Message `json:"regenerate_of,omitempty"`
	// Waiting is its place in the queue, from 1; 0 when it does not wait.
	Waiting int `json:"waiting"`
	// Started and Ended are RFC 3339 in UTC with milliseconds, nil until then.
	Started *string      `json:"started"`
	Ended   *string      `json:"ended"`
	Finish  event.Finish `json:"finish,omitempty"`
	Error   *Fault       `json:"error,omitempty"`
	Usage   *event.Usage `json:"usage"`
}

// RunStatus says where a run is. ErrMissing when its turn was deleted.
func (l *Library) RunStatus(ctx context.Context, info turnlog.RunInfo) (Run, error) {
	out := Run{Run: info.Run, Conversation: info.Conversation}
	if info.Dropped > 0 {
		out.Status = StatusDropped
		return out, nil
	}
	state, err := l.fold(ctx, info.Conversation, l.log.Facts)
	if err != nil {
		return Run{}, err
	}
	if i := slices.IndexFunc(state.Queue, func(q transcript.Queued) bool { return q.Run == info.Run }); i >= 0 {
		out.Status, out.Waiting, out.RegenerateOf = StatusQueued, i+1, state.Queue[i].RegenerateOf
		return out, nil
	}
	for _, t := range state.Turns {
		for _, run := range t.Runs {
			if run.ID == info.Run && !t.Deleted {
				out.fill(run)
				return out, nil
			}
		}
	}
	return Run{}, ErrMissing
}

func (r *Run) fill(run *transcript.Run) {
	started := clock(run.StartAt)
	r.Message, r.Status, r.Model, r.RegenerateOf = run.Message, run.Status, run.Start.Model, run.Start.RegenerateOf
	r.Started, r.Usage, r.Error = &started, run.Usage, newFault(run.Err)
	if run.End != nil {
		r.Finish = run.End.Finish
	}
	if run.Terminal > 0 {
		ended := clock(run.LastAt)
		r.Ended = &ended
	}
}
