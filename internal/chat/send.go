package chat

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"verbatim/internal/attachment"
	"verbatim/internal/event"
	"verbatim/internal/id"
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
	// Files come with the message; at most attachment.MaxFiles.
	Files []attachment.File
	// Attached are files of the log that come with the message again, such as
	// those of a message that was edited.
	Attached []event.Attachment
	// NoTools turns tools off for this run.
	NoTools bool
	// Regenerate is the question to answer again, nil for a new message.
	Regenerate *Target
	Via        event.Via
	// Client is the sender's own id for the message.
	Client string
}

// Send commits the message and the start of its run, then starts the run; in a
// conversation that is being answered it commits the message to the queue, and
// the run starts when its turn comes. A known run id with the same request
// returns that run and starts nothing; with another it is refused as Mismatch.
// Other refusals: Invalid, Missing, Conflict (rows moved since, or the last run
// could not be stored to its end), TooMany (the queue is full), Full, Stopping.
func (s *Service) Send(ctx context.Context, req SendRequest) (turnlog.RunInfo, error) {
	if err := req.check(); err != nil {
		return turnlog.RunInfo{}, err
	}
	if req.Run == "" {
		req.Run = s.opt.Mint.Run()
	}
	request := req.hash()
	for {
		a, mine, err := s.claimRun(req.Run, req.Conversation, request)
		if err != nil {
			return turnlog.RunInfo{}, err
		}
		if mine {
			return s.beginClaimed(ctx, a, req)
		}
		info, err := s.attach(ctx, a, request)
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

// beginClaimed starts or queues the run, or gives the claim up.
func (s *Service) beginClaimed(ctx context.Context, a *active, req SendRequest) (turnlog.RunInfo, error) {
	defer s.all.Done()
	info, err := s.begin(ctx, a, req)
	s.mu.Lock()
	a.info, a.err = info, err
	if a.cancel == nil && a.waits == nil && s.runs[a.run] == a {
		delete(s.runs, a.run)
	}
	s.mu.Unlock()
	close(a.started)
	return info, err
}

func (r SendRequest) check() *Error {
	switch {
	case !id.Valid(string(r.Conversation)):
		return refuse(Invalid, "The chat id may only have letters, digits, dot, dash and underscore, at most %d of them.", id.MaxBytes)
	case r.Run != "" && !id.Valid(string(r.Run)):
		return refuse(Invalid, "The run id may only have letters, digits, dot, dash and underscore, at most %d of them.", id.MaxBytes)
	case r.Regenerate != nil:
		return nil
	case len(r.Files)+len(r.Attached) > attachment.MaxFiles:
		return refuse(Invalid, "A message takes at most %d files; send the others with the next one.", attachment.MaxFiles)
	}
	return checkPrompt(r.Prompt, len(r.Files)+len(r.Attached))
}

func checkPrompt(text string, files int) *Error {
	switch {
	case len(text) > MaxPromptBytes:
		return refuse(Invalid, "The message is longer than 1 MiB; send a shorter one.")
	case !utf8.ValidString(text):
		return refuse(Invalid, "The message is not valid UTF-8.")
	case files == 0 && strings.IndexFunc(text, isInk) < 0:
		return refuse(Invalid, "The message is empty; write something.")
	}
	return nil
}

func isInk(r rune) bool { return !unicode.IsSpace(r) }

// hash names the request: the same id with another hash is another request.
func (r SendRequest) hash() string {
	files := make([][2]string, 0, len(r.Files)+len(r.Attached))
	for _, f := range r.Files {
		sum := sha256.Sum256(f.Data)
		files = append(files, [2]string{f.Name, hex.EncodeToString(sum[:])})
	}
	for _, f := range r.Attached {
		files = append(files, [2]string{f.Name, f.Blob})
	}
	named := struct {
		Conversation id.Conversation
		Prompt       string
		NoTools      bool
		RegenerateOf *Target     `json:",omitempty"`
		Files        [][2]string `json:",omitempty"`
	}{r.Conversation, r.Prompt, r.NoTools, r.Regenerate, files}
	if r.Regenerate != nil {
		// The words of the question are not part of the request: some clients
		// repeat them, some don't.
		named.Prompt = ""
	}
	b, _ := json.Marshal(named)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// claimRun takes the run id, or returns the one who has it.
func (s *Service) claimRun(run id.Run, c id.Conversation, request string) (a *active, mine bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.runs[run]; a != nil {
		return a, false, nil
	}
	if s.stopping {
		return nil, false, stopping()
	}
	a = newActive(run, c, request)
	s.runs[run] = a
	s.all.Add(1)
	return a, true, nil
}

func stopping() *Error {
	return refuse(Stopping, "Verbatim is shutting down; try again in a moment.")
}

// attach waits until the run of the same id has started or waits in the queue.
// Of one that is about to end it waits for the end: its client may have seen it,
// and must be told.
func (s *Service) attach(ctx context.Context, a *active, request string) (turnlog.RunInfo, error) {
	if a.request != request {
		return turnlog.RunInfo{}, mismatch(a.run)
	}
	select {
	case <-a.started:
	case <-ctx.Done():
		return turnlog.RunInfo{}, ctx.Err()
	}
	if !isClosed(a.closing) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return a.info, a.err
	}
	select {
	case <-a.done:
		return s.opt.Log.Run(ctx, a.run)
	case <-ctx.Done():
		return turnlog.RunInfo{}, ctx.Err()
	}
}

func mismatch(run id.Run) *Error {
	return refuse(Mismatch, "The run id %s belongs to another request; use a new one.", run)
}

// begin finds out whether the run is known, and starts or queues it if it is
// not.
func (s *Service) begin(ctx context.Context, a *active, req SendRequest) (turnlog.RunInfo, error) {
	info, err := s.opt.Log.Run(ctx, req.Run)
	if !errors.Is(err, turnlog.ErrNoRun) {
		return s.known(ctx, info, a.request, err)
	}
	if !s.opt.Log.HasRoom() {
		return turnlog.RunInfo{}, full()
	}
	l, release, err := s.enter(ctx, req.Conversation)
	if err != nil {
		return turnlog.RunInfo{}, err
	}
	defer release()
	if err := s.settled(ctx, l); err != nil {
		return turnlog.RunInfo{}, err
	}
	// From here on the client may go away: what it sent is taken.
	ctx = context.WithoutCancel(ctx)
	state, err := s.facts(ctx, req.Conversation)
	if err != nil {
		return turnlog.RunInfo{}, err
	}
	s.adopt(l, state)
	in, err := s.intend(ctx, state, a, req)
	if err != nil {
		return turnlog.RunInfo{}, err
	}
	if run, waiting := s.current(l); run == nil && waiting == 0 {
		return s.start(ctx, l, a, state, in)
	}
	if err := s.enqueue(ctx, l, a, in); err != nil {
		return turnlog.RunInfo{}, err
	}
	// The run that it waits for may have ended while it was stored.
	s.startWaiting(ctx, l)
	s.mu.Lock()
	defer s.mu.Unlock()
	return a.info, nil
}

// known answers for a run that the log has.
func (s *Service) known(ctx context.Context, info turnlog.RunInfo, request string, err error) (turnlog.RunInfo, error) {
	if err != nil {
		return turnlog.RunInfo{}, err
	}
	// What a run was asked is forgotten with its turn.
	if info.Request != request && info.Request != "" {
		return turnlog.RunInfo{}, mismatch(info.Run)
	}
	gone, err := s.isDeleted(ctx, info)
	switch {
	case err != nil:
		return turnlog.RunInfo{}, err
	case gone:
		return turnlog.RunInfo{}, refuse(Missing, "The message of run %s was deleted.", info.Run)
	case info.Request != request:
		return turnlog.RunInfo{}, mismatch(info.Run)
	}
	return info, nil
}

// isDeleted reports whether a run's turn was deleted. Nearly always nothing was
// deleted after the run, and a look at the facts behind it tells.
func (s *Service) isDeleted(ctx context.Context, info turnlog.RunInfo) (bool, error) {
	for at := max(info.First, info.Queued); ; {
		records, err := s.opt.Log.Facts(ctx, info.Conversation, at, turnlog.Limit{})
		if err != nil || len(records) == 0 {
			return false, err
		}
		for _, r := range records {
			switch r.Kind {
			case event.MessageDeleted{}.Kind(), event.ConversationDeleted{}.Kind():
				if info.First == 0 {
					// It has no turn: it is gone once it is erased, what it
					// was asked with it.
					return info.Request == "", nil
				}
				state, err := s.facts(ctx, info.Conversation)
				if err != nil {
					return false, err
				}
				t := turnOf(state, info.Run)
				return t == nil || t.Deleted, nil
			}
			at = r.Seq
		}
	}
}

func full() *Error {
	return refuse(Full, "The disk is full, so nothing new can be stored; what is there is kept. Free some space, then send again.")
}

// settled waits for the end of a run that is writing its terminal: its client
// may have seen the end.
func (s *Service) settled(ctx context.Context, l *lane) error {
	run, _ := s.current(l)
	if run == nil || !isClosed(run.closing) {
		return nil
	}
	select {
	case <-run.done:
		return nil
	case <-run.stuck:
	case <-ctx.Done():
		return ctx.Err()
	}
	info, err := s.opt.Log.Run(ctx, run.run)
	if err != nil {
		return err
	}
	if info.Last == 0 {
		return refuse(Conflict, "The last answer in this conversation could not be stored to its end yet; look at the disk, then send again.")
	}
	return s.idle(ctx, l)
}
