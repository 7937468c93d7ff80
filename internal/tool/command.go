package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"verbatim/internal/event"
)

// The bounds of how long a command may take.
const (
	// DefaultCommandTimeout holds when neither the call nor the configuration
	// says otherwise, MaxCommandTimeout when the configuration doesn't.
	DefaultCommandTimeout = 120 * time.Second
	MaxCommandTimeout     = 600 * time.Second
)

// MaxCommandBytes is how long a command line may be.
const MaxCommandBytes = 100_000

// CommandConfig is what the person who runs the program may change of
// run_command. The zero value is ready to use.
type CommandConfig struct {
	// Timeout is how long a command may take when the call doesn't say;
	// DefaultCommandTimeout if zero. MaxTimeout is the most that a call may ask
	// for; MaxCommandTimeout if zero. A Timeout above it counts as it.
	Timeout, MaxTimeout time.Duration
	// Environment names variables that a command sees besides the ordinary
	// ones. Names that sound like a secret and the program's own are left out
	// all the same.
	Environment []string
}

// command is run_command: a line for the shell, run in the workspace folder as
// the person who runs Verbatim, without input, terminal and secrets.
type command struct {
	workspace    string
	timeout, max time.Duration
	environment  []string
	spec         Spec
	stopping     chan struct{}

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// newRunCommand returns the tool for a workspace folder. Close it.
func newRunCommand(workspace string, cfg CommandConfig) *command {
	c := &command{workspace: workspace, timeout: cfg.Timeout, max: cfg.MaxTimeout, environment: cfg.Environment, stopping: make(chan struct{})}
	if c.max <= 0 {
		c.max = MaxCommandTimeout
	}
	if c.timeout <= 0 {
		c.timeout = DefaultCommandTimeout
	}
	c.timeout = min(c.timeout, c.max)
	c.spec = Spec{
		Name: "run_command",
		Description: "Runs a command with " + shellName + " in the workspace folder and returns what it prints, standard output and errors together. " +
			"It gets no input and no terminal. What it leaves running in the background is stopped when it ends. " +
			fmt.Sprintf("It is stopped after %s; ask for up to %s with timeout.", secondsText(c.timeout), secondsText(c.max)),
		Parameters: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{`+
			`"command":{"type":"string","description":"The command line."},`+
			`"timeout":{"type":"number","minimum":1,"maximum":%s,"description":"The most seconds it may take; %s if left out."}},`+
			`"required":["command"],"additionalProperties":false}`, number(c.max), number(c.timeout))),
		Risk: event.RiskHigh,
	}
	return c
}

// Spec returns what is fixed about the tool.
func (c *command) Spec() Spec { return c.spec }

// Prepare reads {command, timeout?}. Nothing is run.
func (c *command) Prepare(args json.RawMessage) (Action, error) {
	var line string
	seconds := math.NaN() // which JSON can't say
	if err := readArguments(args, text("command", &line), optionalNumber("timeout", &seconds)); err != nil {
		return Action{}, err
	}
	if err := checkLine(line); err != nil {
		return Action{}, err
	}
	limit := c.timeout
	if !math.IsNaN(seconds) {
		if seconds < 1 || seconds > c.max.Seconds() {
			return Action{}, fmt.Errorf("timeout must be from 1 to %s", secondsText(c.max))
		}
		limit = time.Duration(math.Round(seconds * float64(time.Second)))
	}
	return Action{
		Reason:  shown("runs in the workspace: " + line),
		Command: line,
		Run:     func(ctx context.Context, out Output) error { return c.run(ctx, out, line, limit) },
	}, nil
}

func checkLine(line string) error {
	switch {
	case strings.TrimSpace(line) == "":
		return errors.New("the command is empty")
	case strings.ContainsRune(line, 0):
		return errors.New("the command has a NUL character, which no shell can read")
	case len(line) > MaxCommandBytes:
		return fmt.Errorf("the command has %s; at most %s are run: write it to a file and run that", countOf(int64(len(line)), "byte"), countOf(MaxCommandBytes, "byte"))
	}
	return nil
}

// Close stops every command that runs and returns when they are gone. Calls
// that come later fail. Closing again is harmless.
func (c *command) Close() error {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		close(c.stopping)
	}
	c.mu.Unlock()
	c.running.Wait()
	return nil
}

// enter counts a call that Close waits for, unless it is too late for one.
func (c *command) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.running.Add(1)
	return true
}

// number writes a duration in seconds without a unit.
func number(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

func secondsText(d time.Duration) string { return number(d) + " s" }
