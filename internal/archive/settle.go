package archive

import (
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
)

// settle adds to the records what ends a run that was going on and holds
// messages that waited, so that importing a file begins nothing.
func (p *parcel) settle() error {
	state, err := transcript.Fold(p.records)
	if err != nil {
		p.refuse("it can't be read: %v", err)
		return nil
	}
	if len(state.Broken) > 0 {
		p.refuse("it does not hold together: %s", state.Broken[0])
		return nil
	}
	if run := state.Open(); run != nil {
		if err := p.interrupt(run); err != nil {
			return err
		}
		p.outcome.Reason = "its last answer was not finished when the file was written; it is kept as interrupted"
	}
	if len(state.Queue) > 0 && !state.Held {
		hold := event.Queue{Op: event.QueueHold, Via: event.Via{Surface: "import"}}
		return p.add("", "", hold)
	}
	return nil
}

func (p *parcel) interrupt(run *transcript.Run) error {
	closing := transcript.Close(run, transcript.CauseInterrupted)
	if run.Usage == nil && len(run.Parts) > 0 {
		chars, _ := transcript.Totals(run)
		closing = append(closing, event.Usage{
			Chars: chars, Seconds: max(0, run.LastAt.Sub(run.StartAt).Seconds()), Model: run.Start.Model, Rounds: []event.Round{},
		})
	}
	closing = append(closing, event.Error{
		Type: event.ErrorInternal, Code: event.CodeInterrupted, Retryable: true,
		Message: "This answer was not finished when it was exported. What was said until then is kept; ask again for the rest.",
	})
	for _, e := range closing {
		if err := p.add(run.ID, run.Message, e); err != nil {
			return err
		}
	}
	return nil
}

// add appends an event at the time of the last record.
func (p *parcel) add(run id.Run, message id.Message, e event.Event) error {
	r, err := event.NewRecord(p.outcome.ID, run, message, e)
	if err != nil {
		return err
	}
	last := p.records[len(p.records)-1]
	r.Seq, r.At = last.Seq+1, last.At
	p.records = append(p.records, r)
	return nil
}
