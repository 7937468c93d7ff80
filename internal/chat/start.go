package chat

import (
	"context"
	"errors"
	"fmt"

	"verbatim/internal/attachment"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

// intent is a request that makes sense: what its run is to answer.
type intent struct {
	// user is the new message; nil where an answer is given again, of the
	// question named by regenerate.
	user       *event.UserMessage
	regenerate id.Message
	noTools    bool
	via        event.Via
	// queued says that the log has it as a fact of the queue.
	queued bool
}

// intend turns a request into an intent in the state of its conversation. Files
// are stored by then.
func (s *Service) intend(ctx context.Context, state *transcript.Conversation, a *active, req SendRequest) (*intent, error) {
	in := &intent{noTools: req.NoTools, via: req.Via}
	if req.Regenerate != nil {
		row, err := req.Regenerate.find(state)
		if err != nil {
			return nil, err
		}
		if row.Role != transcript.RoleUser {
			return nil, refuse(Invalid, "Message %s is an answer; name the question before it.", req.Regenerate)
		}
		in.regenerate = row.Turn.User.Message
		return in, nil
	}
	files, err := s.keepFiles(ctx, req.Files)
	if errors.Is(err, turnlog.ErrFull) {
		return nil, full()
	}
	if err != nil {
		return nil, err
	}
	in.user = &event.UserMessage{
		Message: s.opt.Mint.Message(), Text: req.Prompt, Attachments: append(files, req.Attached...),
		Client: req.Client, Via: req.Via,
	}
	return in, nil
}

// keepFiles stores the bytes of files. Those of a message that is refused
// afterwards belong to nothing and are swept at the next start.
func (s *Service) keepFiles(ctx context.Context, files []attachment.File) ([]event.Attachment, error) {
	var out []event.Attachment
	for i, f := range files {
		blob, err := s.opt.Blobs.Put(ctx, f.Data)
		if err != nil {
			return nil, fmt.Errorf("keep the file %q: %w", f.Name, err)
		}
		out = append(out, event.Attachment{
			ID: fmt.Sprintf("f%d", i+1), Name: f.Name, MIME: f.MIME, Size: int64(len(f.Data)), Blob: blob,
		})
	}
	return out, nil
}

// start commits the message and the start of its run, and lets the run go. The
// lane's turn is held, and the lane has no run.
func (s *Service) start(ctx context.Context, l *lane, a *active, state *transcript.Conversation, in *intent) (turnlog.RunInfo, error) {
	p := plan{state: state, in: in, run: a.run, message: s.opt.Mint.Message()}
	if err := p.aim(); err != nil {
		return turnlog.RunInfo{}, err
	}
	choice, failure := s.choose(ctx, state)
	p.start.Model, p.start.Request, p.start.NoTools = choice.Name, a.request, in.noTools
	history, omitted, err := s.history(ctx, state, p.turn, p.user, choice)
	if err != nil {
		return turnlog.RunInfo{}, err
	}
	p.start.OmittedTurns = omitted
	records, err := s.opt.Log.Append(ctx, l.conversation, p.drafts()...)
	if errors.Is(err, turnlog.ErrFull) {
		return turnlog.RunInfo{}, full()
	}
	if err != nil {
		return turnlog.RunInfo{}, fmt.Errorf("start run: %w", err)
	}
	info := turnlog.RunInfo{
		Run: a.run, Conversation: l.conversation, Message: p.message,
		Request: a.request, First: records[len(records)-1].Seq, Queued: a.info.Queued,
	}
	choice.Request.Messages = history
	s.launch(l, a, info, job{choice: choice, failure: failure, noTools: in.noTools})
	return info, nil
}

// plan is what an intent comes to in the state of its conversation.
type plan struct {
	state   *transcript.Conversation
	in      *intent
	run     id.Run
	message id.Message         // the assistant message
	turn    int                // of state.Turns; len(state.Turns) for a new one
	user    *event.UserMessage // what is answered
	start   event.Start
}

// aim finds the turn that the intent is about.
func (p *plan) aim() error {
	if p.in.user != nil {
		p.turn, p.user = len(p.state.Turns), p.in.user
		p.start.Version = 1
		return nil
	}
	turn := p.state.Turn(p.in.regenerate)
	if turn == nil || turn.Deleted {
		return refuse(Missing, "The message to answer again was deleted.")
	}
	p.turn, p.user = turnIndex(p.state, turn), &turn.User
	p.start.RegenerateOf, p.start.Version, p.start.Via = turn.User.Message, len(turn.Runs)+1, p.in.via
	if turn.Message != "" {
		p.message = turn.Message
	}
	return nil
}

func turnIndex(state *transcript.Conversation, turn *transcript.Turn) int {
	for i, t := range state.Turns {
		if t == turn {
			return i
		}
	}
	return len(state.Turns)
}

func (p *plan) drafts() []turnlog.Draft {
	var drafts []turnlog.Draft
	if p.in.queued {
		drafts = append(drafts, turnlog.Draft{Event: event.Queue{Op: event.QueueSend, Run: p.run, Via: p.in.via}})
	}
	if p.in.user != nil {
		drafts = append(drafts, turnlog.Draft{Event: *p.user})
	}
	return append(drafts, turnlog.Draft{Run: p.run, Message: p.message, Event: p.start})
}
