package chat

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

// MaxPromptBytes is the longest prompt, in bytes of UTF-8.
const MaxPromptBytes = 1 << 20

// SendRequest is a message to answer, or an answer to give again.
type SendRequest struct {
	Conversation id.Conversation
	// Run is the client's id for the run; empty to have one minted.
	Run    id.Run
	Prompt string
	// NoTools turns tools off for this run.
	NoTools bool
	// RegenerateOf is the row of the user message to answer again, nil for
	// a new message.
	RegenerateOf *int
	Via          event.Via
	// Client is the sender's own id for the message.
	Client string
}

// Send commits the message and the start of its run, then starts the run. A
// known run id with the same request returns that run and starts nothing; with
// another it is refused as Mismatch. Other refusals: Invalid, Missing,
// Conflict (the conversation has a run), Full, Stopping.
func (s *Service) Send(ctx context.Context, req SendRequest) (turnlog.RunInfo, error) {
	if err := req.check(); err != nil {
		return turnlog.RunInfo{}, err
	}
	if req.Run == "" {
		req.Run = s.opt.Mint.Run()
	}
	for {
		a, mine, err := s.claimRun(req)
		if err != nil {
			return turnlog.RunInfo{}, err
		}
		if mine {
			return s.beginClaimed(ctx, a, req)
		}
		info, err := s.attach(ctx, a, req)
		// The client that had the claim may have gone away before anything
		// began; then the claim is free again.
		if !isEnded(err) || ctx.Err() != nil {
			return info, err
		}
	}
}

func isEnded(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// beginClaimed starts the run, or gives the claim up.
func (s *Service) beginClaimed(ctx context.Context, a *active, req SendRequest) (turnlog.RunInfo, error) {
	a.info, a.err = s.begin(ctx, a, req)
	if a.cancel == nil {
		s.forget(a)
		s.all.Done()
	}
	close(a.started)
	return a.info, a.err
}

func (r SendRequest) check() *Error {
	switch {
	case !id.Valid(string(r.Conversation)):
		return refuse(Invalid, "The chat id may only have letters, digits, dot, dash and underscore, at most %d of them.", id.MaxBytes)
	case r.Run != "" && !id.Valid(string(r.Run)):
		return refuse(Invalid, "The run id may only have letters, digits, dot, dash and underscore, at most %d of them.", id.MaxBytes)
	case len(r.Prompt) > MaxPromptBytes:
		return refuse(Invalid, "The message is longer than 1 MiB; send a shorter one.")
	case !utf8.ValidString(r.Prompt):
		return refuse(Invalid, "The message is not valid UTF-8.")
	case r.RegenerateOf == nil && strings.IndexFunc(r.Prompt, isInk) < 0:
		return refuse(Invalid, "The message is empty; write something.")
	}
	return nil
}

func isInk(r rune) bool { return !unicode.IsSpace(r) }

// hash names the request: the same id with another hash is another request.
func (r SendRequest) hash() string {
	b, _ := json.Marshal(struct {
		Conversation id.Conversation
		Prompt       string
		NoTools      bool
		RegenerateOf *int
	}{r.Conversation, r.Prompt, r.NoTools, r.RegenerateOf})
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// claimRun takes the run id, or returns the one who has it.
func (s *Service) claimRun(req SendRequest) (a *active, mine bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.runs[req.Run]; a != nil {
		return a, false, nil
	}
	if s.stopping {
		return nil, false, refuse(Stopping, "Verbatim is shutting down; try again in a moment.")
	}
	a = newActive(req.Run, req.Conversation, req.hash())
	s.runs[req.Run] = a
	s.all.Add(1)
	return a, true, nil
}

func newActive(run id.Run, c id.Conversation, request string) *active {
	return &active{
		run: run, conversation: c, request: request,
		started: make(chan struct{}), closing: make(chan struct{}), stuck: make(chan struct{}), done: make(chan struct{}),
	}
}

// attach waits until the run of the same id has started. Of one that is about
// to end it waits for the end: its client may have seen it, and must be told.
func (s *Service) attach(ctx context.Context, a *active, req SendRequest) (turnlog.RunInfo, error) {
	if a.request != req.hash() {
		return turnlog.RunInfo{}, mismatch(req.Run)
	}
	select {
	case <-a.started:
	case <-ctx.Done():
		return turnlog.RunInfo{}, ctx.Err()
	}
	select {
	case <-a.closing:
	default:
		return a.info, a.err
	}
	select {
	case <-a.done:
		return s.opt.Log.Run(ctx, req.Run)
	case <-ctx.Done():
		return turnlog.RunInfo{}, ctx.Err()
	}
}

func mismatch(run id.Run) *Error {
	return refuse(Mismatch, "The run id %s belongs to another request; use a new one.", run)
}

// begin finds out whether the run is known, and starts it if it is not.
func (s *Service) begin(ctx context.Context, a *active, req SendRequest) (turnlog.RunInfo, error) {
	info, err := s.opt.Log.Run(ctx, req.Run)
	switch {
	case err == nil && info.Request != a.request:
		return turnlog.RunInfo{}, mismatch(req.Run)
	case err == nil:
		return info, nil
	case !errors.Is(err, turnlog.ErrNoRun):
		return turnlog.RunInfo{}, err
	}
	if !s.opt.Log.HasRoom() {
		return turnlog.RunInfo{}, full()
	}
	if err := s.claimConversation(ctx, a); err != nil {
		return turnlog.RunInfo{}, err
	}
	// From here on the client may go away: what it sent is taken.
	return s.start(context.WithoutCancel(ctx), a, req)
}

func full() *Error {
	return refuse(Full, "The disk is full, so nothing new can be stored; what is there is kept. Free some space, then send again.")
}

// claimConversation makes a the conversation's one run. A run that is already
// writing its terminal is waited for: its client may have seen the end.
func (s *Service) claimConversation(ctx context.Context, a *active) error {
	for {
		s.mu.Lock()
		other := s.busy[a.conversation]
		if other == nil {
			s.busy[a.conversation] = a
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		if err := other.over(ctx); err != nil {
			return err
		}
	}
}

// over waits for the end of a run that is ending, and refuses to wait for any
// other.
func (a *active) over(ctx context.Context) error {
	if !isClosed(a.closing) {
		return refuse(Conflict, "This conversation is still being answered; wait for the end or stop it, then send again.")
	}
	select {
	case <-a.done:
		return nil
	case <-a.stuck:
		return refuse(Conflict, "The last answer in this conversation could not be stored to its end yet; look at the disk, then send again.")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// start builds the context, commits the message and the start, and lets the
// run go.
func (s *Service) start(ctx context.Context, a *active, req SendRequest) (turnlog.RunInfo, error) {
	state, err := s.facts(ctx, req.Conversation)
	if err != nil {
		return turnlog.RunInfo{}, err
	}
	p := plan{state: state, req: req, message: s.opt.Mint.Message()}
	if err := p.aim(s.opt.Mint); err != nil {
		return turnlog.RunInfo{}, err
	}
	choice, failure := s.choose(ctx)
	p.start.Model = choice.Name
	p.start.Request, p.start.NoTools = a.request, req.NoTools
	history, omitted, err := s.history(ctx, state, p.turn, p.user, choice.Request.System)
	if err != nil {
		return turnlog.RunInfo{}, err
	}
	p.start.OmittedTurns = omitted
	records, err := s.opt.Log.Append(ctx, req.Conversation, p.drafts(a.run)...)
	if errors.Is(err, turnlog.ErrFull) {
		return turnlog.RunInfo{}, full()
	}
	if err != nil {
		return turnlog.RunInfo{}, fmt.Errorf("start run: %w", err)
	}
	info := turnlog.RunInfo{
		Run: a.run, Conversation: req.Conversation, Message: p.message,
		Request: a.request, First: records[len(records)-1].Seq,
	}
	choice.Request.Messages = history
	s.launch(a, info, choice, failure)
	return info, nil
}

// plan is what a request comes to in the state of its conversation.
type plan struct {
	state   *transcript.Conversation
	req     SendRequest
	message id.Message         // the assistant message
	turn    int                // of state.Turns; len(state.Turns) for a new one
	user    *event.UserMessage // what is answered
	start   event.Start
}

// aim finds the turn that the request is about.
func (p *plan) aim(mint id.Mint) error {
	if p.req.RegenerateOf == nil {
		p.turn = len(p.state.Turns)
		p.user = &event.UserMessage{Message: mint.Message(), Text: p.req.Prompt, Client: p.req.Client, Via: p.req.Via}
		p.start.Version = 1
		return nil
	}
	rows := p.state.Rows()
	n := *p.req.RegenerateOf
	if n < 0 || n >= len(rows) {
		return refuse(Missing, "There is no message %d in this chat to answer again.", n)
	}
	if rows[n].Role != transcript.RoleUser {
		return refuse(Invalid, "Message %d is an answer; name the question before it.", n)
	}
	turn := rows[n].Turn
	p.turn = turnIndex(p.state, turn)
	p.user = &turn.User
	p.start.RegenerateOf, p.start.Version = turn.User.Message, len(turn.Runs)+1
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

func (p *plan) drafts(run id.Run) []turnlog.Draft {
	start := turnlog.Draft{Run: run, Message: p.message, Event: p.start}
	if p.start.RegenerateOf != "" {
		return []turnlog.Draft{start}
	}
	return []turnlog.Draft{{Event: *p.user}, start}
}
