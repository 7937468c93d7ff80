// Package chat takes people's commands: send, regenerate, cancel, queue, fork,
// delete and restore, choose a version, rename. It holds which conversation has
// a run and what waits behind it, and nothing else that the log does not hold.
//
// Guarantee: when Send returns, the message is durable, with the start of its
// run or as a fact of the queue; a run id starts at most one run, a conversation
// has at most one run at a time; a run lives until it ends or is cancelled,
// whoever watches; what was deleted is erased once it can't be restored any
// more, also when the process was away meanwhile. Not promised: that a run
// survives the process. Recover closes or retries what a crash left.
package chat

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"verbatim/internal/agent"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/llm"
	"verbatim/internal/tool"
	"verbatim/internal/turnlog"
)

// Log is what chat needs of the log.
type Log interface {
	agent.Log
	Append(ctx context.Context, c id.Conversation, drafts ...turnlog.Draft) ([]event.Record, error)
	Erase(ctx context.Context, c id.Conversation, e turnlog.Erasure) (blobs []string, err error)
	Import(ctx context.Context, c id.Conversation, records []event.Record) error
	After(ctx context.Context, c id.Conversation, after int64, limit turnlog.Limit) ([]event.Record, error)
	Facts(ctx context.Context, c id.Conversation, after int64, limit turnlog.Limit) ([]event.Record, error)
	Head(ctx context.Context, c id.Conversation) (int64, error)
	Run(ctx context.Context, r id.Run) (turnlog.RunInfo, error)
	Unfinished(ctx context.Context) ([]turnlog.RunInfo, error)
	Queued(ctx context.Context) ([]turnlog.RunInfo, error)
	Doomed(ctx context.Context) ([]turnlog.Doomed, error)
	Conversations(ctx context.Context, q turnlog.Query) ([]turnlog.ConversationInfo, error)
	HasRoom() bool
}

// Blobs keeps the bytes of attachments and of long tool output; *blob.Store is
// one.
type Blobs interface {
	// Put stores data and returns its new name once it is durable. The error
	// wraps turnlog.ErrFull when the disk is full.
	Put(ctx context.Context, data []byte) (string, error)
	// Read returns a blob of at most limit bytes.
	Read(blob string, limit int64) ([]byte, error)
	// Delete removes a blob; one that is gone is no error.
	Delete(blob string) error
}

// Want is what a run asks of the choice of its model.
type Want struct {
	// Model is the conversation's own model, empty for the general one.
	Model string
	// Project is the conversation's project, whose instructions come with
	// the system prompt; empty for none.
	Project string
}

// Choice is a model ready to be asked.
type Choice struct {
	Model llm.Model
	// Name is the full name for the record, such as openai/gpt-5-mini.
	Name string
	// TextOnly says that the model takes no images or documents.
	TextOnly bool
	// Request holds the settings of the request: model, system prompt,
	// sampling. Messages are filled in here.
	Request llm.Request
}

// Options are what a Service is built of. Log, Choose and Blobs are required.
type Options struct {
	Log   Log
	Blobs Blobs
	// Choose returns the model for the next run, by the settings of now.
	Choose func(ctx context.Context, w Want) (Choice, error)
	// Tools are what runs may call, Approvals asks people about them; both
	// nil for an agent without tools. Spool keeps long outputs.
	Tools     agent.Tools
	Approvals agent.Approvals
	Spool     func() (tool.Spool, error)
	// AutoTitle, if set, reports whether the model is asked for a title after
	// a conversation's first answer.
	AutoTitle func(ctx context.Context) bool
	// ContextTokens bounds what a request sends of the conversation, in
	// estimated tokens; 0 means DefaultContextTokens.
	ContextTokens int
	// Mint makes ids; the zero value is right outside tests.
	Mint id.Mint
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger takes what people don't see; nil discards it.
	Logger *slog.Logger
	// Ended, if set, is called after each run with its terminal.
	Ended func(terminal event.Event)
	// Hidden, if set, is called after something in a conversation was deleted
	// or erased: what is kept of it in memory goes now.
	Hidden func(c id.Conversation)
}

// Service takes commands. Safe for concurrent use.
type Service struct {
	opt   Options
	agent *agent.Agent

	mu       sync.Mutex
	runs     map[id.Run]*active // claimed, queued or running
	lanes    map[id.Conversation]*lane
	stopping bool
	all      sync.WaitGroup // of the claims, of the runs they became, and of the eraser

	doomed   chan struct{} // a deletion came; holds at most one
	ending   chan struct{} // closed when Stop is called
	endOnce  sync.Once
	halt     chan struct{} // closed when Stop waits no longer
	haltOnce sync.Once
}

// New returns a Service that has nothing to do yet.
func New(opt Options) *Service {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	if opt.ContextTokens == 0 {
		opt.ContextTokens = DefaultContextTokens
	}
	return &Service{
		opt: opt,
		agent: &agent.Agent{
			Log: opt.Log, Approvals: opt.Approvals, Spool: opt.Spool, Mint: opt.Mint, Now: opt.Now, Logger: opt.Logger,
		},
		runs:   map[id.Run]*active{},
		lanes:  map[id.Conversation]*lane{},
		doomed: make(chan struct{}, 1),
		ending: make(chan struct{}),
		halt:   make(chan struct{}),
	}
}

// Running counts the runs that have not ended.
func (s *Service) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, l := range s.lanes {
		if l.run != nil {
			n++
		}
	}
	return n
}

// active is a run from the moment its id is claimed until it has ended or was
// taken out of the queue.
type active struct {
	run          id.Run
	conversation id.Conversation
	request      string

	// started is closed when info and err are set: the message is durable,
	// started or queued, or there is nothing.
	started chan struct{}
	info    turnlog.RunInfo
	err     error
	// waits is what to start when its turn comes; nil once it has started.
	// Guarded by Service.mu.
	waits *intent

	cancel  context.CancelCauseFunc // set before started is closed, or, of one that waited, under Service.mu
	closing chan struct{}           // closed before the terminal is handed to the log
	stuck   chan struct{}           // closed when the log has refused the terminal too
	done    chan struct{}           // closed when the run is over and forgotten
}

func newActive(run id.Run, c id.Conversation, request string) *active {
	return &active{
		run: run, conversation: c, request: request,
		started: make(chan struct{}), closing: make(chan struct{}), stuck: make(chan struct{}), done: make(chan struct{}),
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
