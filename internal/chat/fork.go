package chat

import (
	"context"
	"time"

	"verbatim/internal/agent"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

// Fork copies a conversation up to and including a row into a new one, with all
// versions of its answers, and returns its id. A running answer is copied as
// interrupted. Refusals: Missing, Conflict, Full.
func (s *Service) Fork(ctx context.Context, c id.Conversation, target Target) (id.Conversation, error) {
	row, state, err := s.row(ctx, c, target)
	if err != nil {
		return "", err
	}
	// The index of a question alone leaves its answer out.
	whole := row.Role != transcript.RoleUser
	return s.fork(ctx, state, turnIndex(state, row.Turn)+1, whole)
}

// EditAndSend forks a conversation before a question and sends the question
// there with another text, with its files, which can't be sent otherwise. It
// returns the new conversation's run. Refusals: those of Fork and Send, and
// Invalid for a row that is no question.
func (s *Service) EditAndSend(ctx context.Context, c id.Conversation, target Target, req SendRequest) (turnlog.RunInfo, error) {
	row, state, err := s.row(ctx, c, target)
	if err != nil {
		return turnlog.RunInfo{}, err
	}
	if row.Role != transcript.RoleUser {
		return turnlog.RunInfo{}, refuse(Invalid, "Message %s is an answer; name the question that you want to change.", target)
	}
	req.Attached = row.Turn.User.Attachments
	if err := checkPrompt(req.Prompt, len(req.Attached)); err != nil {
		return turnlog.RunInfo{}, err
	}
	req.Conversation, err = s.fork(ctx, state, turnIndex(state, row.Turn), true)
	if err != nil {
		return turnlog.RunInfo{}, err
	}
	return s.Send(ctx, req)
}

// fork copies the first turns of a conversation. Unless whole is set, the last
// of them is copied without its answer.
func (s *Service) fork(ctx context.Context, state *transcript.Conversation, turns int, whole bool) (id.Conversation, error) {
	if !s.opt.Log.HasRoom() {
		return "", full()
	}
	head, err := s.opt.Log.Head(ctx, state.ID)
	if err != nil {
		return "", err
	}
	f := newFork(state, head, turns, whole, s.opt.Mint)
	if err := f.copyAll(ctx, s.opt.Log); err != nil {
		return "", err
	}
	if err := f.finish(s.opt.Now()); err != nil {
		return "", err
	}
	if err := s.opt.Log.Import(context.WithoutCancel(ctx), f.id, f.records); err != nil {
		return "", err
	}
	return f.id, nil
}

// fork is a copy in the making.
type fork struct {
	id      id.Conversation
	source  *transcript.Conversation
	mint    id.Mint
	through int64 // the last record that may be needed
	last    id.Message
	records []event.Record
	// bare is the question that is copied without its answer, empty for none;
	// held is its copy, which comes last: nothing may stand between a question
	// and the start of its run.
	bare   id.Message
	held   *event.UserMessage
	heldAt time.Time

	users     map[id.Message]id.Message // user messages that are copied
	answers   map[id.Message]id.Message // assistant messages that are copied
	runs      map[id.Run]id.Run         // runs that are copied
	approvals map[id.Approval]id.Approval
	// copied is the fold of the copy so far; it tells what must be closed.
	copied *transcript.Conversation
}

func newFork(state *transcript.Conversation, head int64, turns int, whole bool, mint id.Mint) *fork {
	f := &fork{
		id: mint.Conversation(), source: state, mint: mint, copied: &transcript.Conversation{},
		users: map[id.Message]id.Message{}, answers: map[id.Message]id.Message{},
		runs: map[id.Run]id.Run{}, approvals: map[id.Approval]id.Approval{},
	}
	for i, t := range state.Turns[:turns] {
		if t.Deleted {
			continue
		}
		f.users[t.User.Message] = mint.Message()
		f.through, f.last = max(f.through, t.UserSeq), t.User.Message
		if i == turns-1 && !whole {
			f.bare = t.User.Message
			continue
		}
		f.answers[t.Message] = mint.Message()
		for _, run := range t.Runs {
			f.runs[run.ID] = mint.Run()
			f.through, f.last = max(f.through, run.Last), t.Message
			if run.Terminal == 0 {
				f.through = head
			}
		}
		f.through = max(f.through, t.ChosenSeq)
	}
	return f
}

// copyAll reads the source and keeps what belongs to the copied turns, under new
// ids.
func (f *fork) copyAll(ctx context.Context, log Log) error {
	for at := int64(0); at < f.through; {
		records, err := log.After(ctx, f.source.ID, at, turnlog.Limit{})
		if err != nil {
			return err
		}
		if len(records) == 0 {
			return nil
		}
		for _, r := range records {
			if at = r.Seq; at > f.through {
				break
			}
			if err := f.copy(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *fork) copy(r event.Record) error {
	if r.Run != "" {
		return f.copyOfRun(r)
	}
	e, err := r.Event()
	if err != nil {
		return err
	}
	switch e := e.(type) {
	case event.UserMessage:
		m, ok := f.users[e.Message]
		if !ok {
			return nil
		}
		bare := e.Message == f.bare
		e.Message, e.Client = m, ""
		if bare {
			f.held, f.heldAt = &e, r.At
			return nil
		}
		return f.add(r.At, "", "", e)
	case event.ForkedFrom:
		// The source is a copy that ended with a bare question, and says so
		// behind it.
		if n := len(f.records); n > 0 && f.records[n-1].Kind == (event.UserMessage{}).Kind() {
			return f.add(r.At, "", "", e)
		}
	case event.VersionActive:
		run, ok := f.runs[e.Run]
		if ok && f.copied.Run(run) != nil {
			return f.add(r.At, "", "", event.VersionActive{Message: f.answers[e.Message], Run: run})
		}
	}
	return nil
}

func (f *fork) copyOfRun(r event.Record) error {
	run, ok := f.runs[r.Run]
	if !ok {
		return nil
	}
	e, err := r.Event()
	if err != nil {
		return err
	}
	switch ev := e.(type) {
	case event.Start:
		ev.Request = ""
		if ev.RegenerateOf != "" {
			ev.RegenerateOf = f.users[ev.RegenerateOf]
		}
		e = ev
	case event.ApprovalRequest:
		f.approvals[ev.Approval] = f.mint.Approval()
		ev.Approval = f.approvals[ev.Approval]
		e = ev
	case event.ApprovalResolved:
		ev.Approval = f.approvals[ev.Approval]
		e = ev
	}
	return f.add(r.At, run, f.answers[r.Message], e)
}

// add appends a record to the copy. Times never go back.
func (f *fork) add(at time.Time, run id.Run, message id.Message, e event.Event) error {
	r, err := event.NewRecord(f.id, run, message, e)
	if err != nil {
		return err
	}
	if n := len(f.records); n > 0 && at.Before(f.records[n-1].At) {
		at = f.records[n-1].At
	}
	r.Seq, r.At = int64(len(f.records)+1), at.UTC().Truncate(time.Millisecond)
	f.records = append(f.records, r)
	return f.copied.Apply(r)
}

// finish closes the copy of a running answer, then says where the copy is from
// and names and files it like its source.
func (f *fork) finish(now time.Time) error {
	if run := f.copied.Open(); run != nil {
		if err := f.closeRun(now, run); err != nil {
			return err
		}
	}
	if f.held != nil {
		if err := f.add(f.heldAt, "", "", *f.held); err != nil {
			return err
		}
	}
	if err := f.add(now, "", "", event.ForkedFrom{Conversation: f.source.ID, Message: f.last, Seq: f.through}); err != nil {
		return err
	}
	title := f.source.Title
	if title == "" {
		title = "Untitled"
	}
	if err := f.add(now, "", "", event.Title{Title: title + " (fork)"}); err != nil {
		return err
	}
	var e event.Settings
	if f.source.Project != "" {
		e.Project = &f.source.Project
	}
	if f.source.Model != "" {
		e.Model = &f.source.Model
	}
	if e == (event.Settings{}) {
		return nil
	}
	return f.add(now, "", "", e)
}

func (f *fork) closeRun(now time.Time, run *transcript.Run) error {
	events := transcript.Close(run, transcript.CauseInterrupted)
	if run.Usage == nil && len(run.Parts) > 0 {
		events = append(events, usageOf(run))
	}
	for _, e := range append(events, event.Event(agent.Interrupted())) {
		if err := f.add(now, run.ID, run.Message, e); err != nil {
			return err
		}
	}
	return nil
}
