package archive

import (
	"context"
	"fmt"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// maxAgain bounds how often one conversation may have been deleted and brought
// back.
const maxAgain = 1000

// comeBack finds the id under which a conversation is written whose own was used
// by one that is deleted here: seqs and the ids of runs are never used twice, so
// it comes back under new ones. These depend on the old ones alone, so that the
// same file twice changes nothing.
func (p *parcel) comeBack(ctx context.Context) error {
	for n := 1; n <= maxAgain; n++ {
		as := id.Conversation("c_" + derived("again", string(p.outcome.ID), fmt.Sprint(n)))
		head, err := p.archive.log.Head(ctx, as)
		if err != nil {
			return err
		}
		if head > 0 {
			v, err := p.archive.view(ctx, as)
			if err != nil {
				return err
			}
			if v == nil {
				continue
			}
		}
		p.as, p.there = as, head > 0
		return nil
	}
	p.refuse("it was deleted here %d times; import the file into another data directory", maxAgain)
	return nil
}

// rename gives the records of a conversation that comes back their new ids.
func (p *parcel) rename() error {
	for i, r := range p.records {
		e, err := r.Event()
		if err != nil {
			return err
		}
		renamed, err := event.NewRecord(p.as, p.run(r.Run), p.message(r.Message), p.event(e))
		if err != nil {
			return err
		}
		renamed.Seq, renamed.At = r.Seq, r.At
		p.records[i] = renamed
	}
	p.outcome.Reason = fmt.Sprintf("the conversation %s was deleted here, so it comes back under a new id", p.outcome.ID)
	p.outcome.ID = p.as
	return nil
}

func (p *parcel) run(old id.Run) id.Run {
	if old == "" {
		return ""
	}
	return id.Run("r_" + derived(string(p.as), string(old)))
}

func (p *parcel) message(old id.Message) id.Message {
	if old == "" {
		return ""
	}
	return id.Message("m_" + derived(string(p.as), string(old)))
}

func (p *parcel) approval(old id.Approval) id.Approval {
	return id.Approval("a_" + derived(string(p.as), string(old)))
}

// event returns an event with the ids in it renamed. Calls keep theirs, which are
// unique in a conversation, and so do files.
func (p *parcel) event(e event.Event) event.Event {
	switch e := e.(type) {
	case event.UserMessage:
		e.Message = p.message(e.Message)
		return e
	case event.Start:
		e.RegenerateOf, e.Request = p.message(e.RegenerateOf), ""
		return e
	case event.VersionActive:
		e.Message, e.Run = p.message(e.Message), p.run(e.Run)
		return e
	case event.MessageDeleted:
		e.Message = p.message(e.Message)
		return e
	case event.MessageRestored:
		e.Message = p.message(e.Message)
		return e
	case event.Queue:
		e.Run, e.RegenerateOf, e.Request = p.run(e.Run), p.message(e.RegenerateOf), ""
		if e.Message != nil {
			m := *e.Message
			m.Message = p.message(m.Message)
			e.Message = &m
		}
		return e
	case event.ApprovalRequest:
		e.Approval = p.approval(e.Approval)
		return e
	case event.ApprovalResolved:
		e.Approval = p.approval(e.Approval)
		return e
	}
	return e
}
