package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// apiKey stands for the secret that must never be written anywhere.
const apiKey = "sk-e2e-not-to-be-written-down"

// product is the program on a data directory. It may be started again and
// again.
type product struct {
	t    testing.TB
	dir  string // the data directory
	env  []string
	args []string

	cmd    *exec.Cmd
	exited chan struct{} // closed when the process is gone
	stdout *output
	stderr *output // of all starts
	ready  readyLine
	token  string
	client *http.Client
}

// readyLine is what the program prints when it can be spoken to.
type readyLine struct {
	Ready     bool   `json:"ready"`
	URL       string `json:"url"`
	LaunchURL string `json:"launch_url"`
	PID       int    `json:"pid"`
	Version   string `json:"version"`
	Model     string `json:"model"`
}

// newProduct prepares the program on a new data directory that asks the
// upstream. It does not start it.
func newProduct(t testing.TB, u *upstream, args ...string) *product {
	t.Helper()
	p := &product{
		t: t, dir: filepath.Join(t.TempDir(), "data"), args: args, stderr: &output{},
		env: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(),
			"OPENAI_API_KEY=" + apiKey, "OPENAI_BASE_URL=" + u.baseURL(),
		},
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}},
	}
	t.Cleanup(func() {
		p.kill()
		p.inspectWords()
	})
	return p
}

// startProduct is newProduct that runs.
func startProduct(t testing.TB, u *upstream, args ...string) *product {
	t.Helper()
	p := newProduct(t, u, args...)
	p.start()
	return p
}

// inspectWords looks for what must never be on standard error.
func (p *product) inspectWords() {
	said := p.stderr.String()
	secrets := []string{apiKey}
	if p.token != "" {
		secrets = append(secrets, p.token)
	}
	for _, secret := range secrets {
		if strings.Contains(said, secret) {
			p.t.Errorf("a secret is on standard error:\n%s", said)
		}
	}
	for _, bad := range []string{"DATA RACE", "panic", "goroutine "} {
		if strings.Contains(said, bad) {
			p.t.Errorf("%q on standard error:\n%s", bad, said)
		}
	}
	if p.t.Failed() {
		p.t.Logf("standard error:\n%s", said)
	}
}

// command is a process of the program that has not been started.
func (p *product) command(args ...string) *exec.Cmd {
	p.t.Helper()
	binary, err := world.binary()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(binary, args...)
	cmd.Env = p.env
	cmd.Dir = p.t.TempDir()
	// A child of the child that holds a pipe must not hold up the test.
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

func (p *product) serveArgs() []string {
	return append([]string{"serve", "--addr", "127.0.0.1:0", "--data", p.dir, "--model", "openai/fake"}, p.args...)
}

// start starts the program and waits until it is ready.
func (p *product) start() {
	p.t.Helper()
	if err := p.tryStart(p.command(p.serveArgs()...)); err != nil {
		p.t.Fatalf("start: %v\nstandard error:\n%s", err, p.stderr)
	}
}

// tryStart is start for a command that may be refused: then the error says so
// and the process is gone.
func (p *product) tryStart(cmd *exec.Cmd) error {
	p.cmd, p.exited, p.stdout = cmd, make(chan struct{}), newOutput()
	cmd.Stdout, cmd.Stderr = p.stdout, p.stderr
	if err := world.spawner.start(cmd); err != nil {
		return err
	}
	exited := p.exited
	go func() {
		_ = cmd.Wait() // the state is in ProcessState
		close(exited)
	}()
	select {
	case <-p.stdout.line:
	case <-exited:
		return fmt.Errorf("not ready: %s", cmd.ProcessState)
	case <-time.After(patience):
		p.kill()
		return fmt.Errorf("not ready after %v", patience)
	}
	line, _, _ := strings.Cut(p.stdout.String(), "\n")
	if err := json.Unmarshal([]byte(line), &p.ready); err != nil {
		return fmt.Errorf("ready line %q: %w", line, err)
	}
	if !p.ready.Ready || p.ready.PID != cmd.Process.Pid {
		return fmt.Errorf("ready line %q of process %d", line, cmd.Process.Pid)
	}
	token, err := os.ReadFile(filepath.Join(p.dir, "token"))
	p.token = strings.TrimSpace(string(token))
	return err
}

// kill ends the process by -9, if it runs, and waits until it is gone.
func (p *product) kill() { p.end(os.Kill) }

// stop asks the process to end, and returns its exit code.
func (p *product) stop() int {
	p.end(syscall.SIGTERM)
	return p.cmd.ProcessState.ExitCode()
}

func (p *product) end(signal os.Signal) {
	if p.cmd == nil || p.cmd.Process == nil {
		return
	}
	_ = p.cmd.Process.Signal(signal) // it may have ended by itself
	select {
	case <-p.exited:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.exited
		p.t.Errorf("the process did not end within %v of %v", patience, signal)
	}
	if n := strings.Count(p.stdout.String(), "\n"); n > 1 {
		p.t.Errorf("%d lines on standard output, want only the ready line: %q", n, p.stdout)
	}
}

// door is the direct way in.
func (p *product) door() *door {
	return &door{name: "direct", base: p.ready.URL, token: p.token, do: p.client.Do}
}

// output collects what a process writes.
type output struct {
	mu   sync.Mutex
	b    bytes.Buffer
	line chan struct{} // closed after the first whole line; may be nil
	once sync.Once
}

func newOutput() *output { return &output{line: make(chan struct{})} }

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.line != nil && bytes.IndexByte(b, '\n') >= 0 {
		defer o.once.Do(func() { close(o.line) })
	}
	return o.b.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
