package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
)

// record is an Output that keeps what is written, up to a limit.
type record struct {
	limit int // 0 for none

	mu     sync.Mutex
	text   bytes.Buffer
	live   bool
	wanted string
	seen   chan struct{}
}

var errFull = errors.New("no room")

// waitFor returns a channel that is closed when the output has a text. It must
// be called before anything is written.
func (r *record) waitFor(s string) <-chan struct{} {
	r.wanted, r.seen = s, make(chan struct{})
	return r.seen
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limit > 0 && r.text.Len()+len(p) > r.limit {
		return 0, errFull
	}
	r.text.Write(p)
	if r.wanted != "" && strings.Contains(r.text.String(), r.wanted) {
		r.wanted = ""
		close(r.seen)
	}
	return len(p), nil
}

func (r *record) Live() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live = true
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// newCommand returns a run_command in a folder of its own.
func newCommand(t *testing.T, cfg CommandConfig) *command {
	t.Helper()
	c := newRunCommand(t.TempDir(), cfg)
	t.Cleanup(func() { c.Close() })
	return c
}

// runLine prepares and runs a command line.
func runLine(ctx context.Context, t *testing.T, c *command, line string, out Output) error {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Prepare(args)
	if err != nil {
		t.Fatal(err)
	}
	return a.Run(ctx, out)
}

func says(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
