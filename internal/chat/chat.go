// Package chat takes people's commands: send, regenerate, cancel, rename,
// delete. It holds which conversation has a run, and nothing else that the log
// does not hold.
//
// Guarantee: when Send returns, the message and the start of its run are
// durable; a run id starts at most one run, a conversation has at most one run
// at a time; a run lives until it ends or is cancelled, whoever watches. Not
// promised: that a run survives the process. Recover closes or retries what a
// crash left.
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
	"verbatim/internal/turnlog"
)

// Log is what chat needs of the log.
type Log interface {
	agent.Log
	Append(ctx context.Context, c id.Conversation, drafts ...turnlog.Draft) ([]event.Record, error)
	After(ctx context.Context, c id.Conversation, after int64, limit turnlog.Limit) ([]event.Record, error)
	Facts(ctx context.Context, c id.Conversation, after int64, limit turnlog.Limit) ([]event.Record, error)
	Run(ctx context.Context, r id.Run) (turnlog.RunInfo, error)
	Unfinished(ctx context.Context) ([]turnlog.RunInfo, error)
	Conversations(ctx context.Context, limit int) ([]turnlog.ConversationInfo, error)
	HasRoom() bool
}

// Choice is a model ready to be asked.
type Choice struct {
	Model llm.Model
	// Name is the full name for the record, such as openai/gpt-5-mini.
	Name string
	// Request holds the settings of the request: model, system prompt,
	// sampling. Messages are filled in here.
	Request llm.Request
}

// Options are what a Service is built of.
type Options struct {
	Log Log
	// Choose returns the model for the next run, by the settings of now.
	Choose func(ctx context.Context) (Choice, error)
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
}

// Service takes commands. Safe for concurrent use.
type Service struct {
	opt   Options
	agent *agent.Agent

	mu       sync.Mutex
	runs     map[id.Run]*active          // claimed or running
	busy     map[id.Conversation]*active // the one run of a conversation
	stopping bool
	all      sync.WaitGroup // of the claims, and of the runs they became

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
		opt:   opt,
		agent: &agent.Agent{Log: opt.Log, Mint: opt.Mint, Now: opt.Now, Logger: opt.Logger},
		runs:  map[id.Run]*active{},
		busy:  map[id.Conversation]*active{},
		halt:  make(chan struct{}),
	}
}

// Running counts the runs that have not ended.
func (s *Service) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.busy)
}

// active is a run from the moment its id is claimed until it has ended.
type active struct {
	run          id.Run
	conversation id.Conversation
	request      string

	// started is closed when info and err are set: the start is durable, or
	// there is none.
	started chan struct{}
	info    turnlog.RunInfo
	err     error

	cancel  context.CancelCauseFunc
	closing chan struct{} // closed before the terminal is handed to the log
	stuck   chan struct{} // closed when the log has refused the terminal too
	done    chan struct{} // closed when the run is over and forgotten
}
