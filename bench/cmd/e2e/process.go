package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a server under measurement. It dies with this program.
type process struct {
	name string
	cmd  *exec.Cmd
	out  *bufio.Reader
	talk *tailBuffer
	done chan struct{}
	// began is when the program was started, ready its first line of
	// output.
	began time.Time
	ready string
}

// startLimit bounds the time until a server's first line.
const startLimit = 20 * time.Second

// start runs a program and waits for the first line that it prints.
func start(name string, env []string, path string, args ...string) (*process, error) {
	p := &process{name: name, cmd: exec.Command(path, args...), talk: &tailBuffer{}, done: make(chan struct{})}
	p.cmd.Env = append([]string{"HOME=" + os.TempDir(), "PATH=" + os.Getenv("PATH")}, env...)
	p.cmd.Stderr = p.talk
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.began = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p.out = bufio.NewReader(out)
	timer := time.AfterFunc(startLimit, func() { p.cmd.Process.Kill() })
	p.ready, err = p.out.ReadString('\n')
	timer.Stop()
	go p.reap()
	if err != nil {
		p.kill()
		return nil, fmt.Errorf("%s ended or was silent for %s: %s", name, startLimit, p.talk)
	}
	return p, nil
}

// reap reads what else is printed, so that the program never waits for us.
func (p *process) reap() {
	io.Copy(io.Discard, p.out)
	p.cmd.Wait()
	close(p.done)
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// stop ends the process by SIGTERM, and by force when it takes too long.
func (p *process) stop() error {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return nil
	case <-time.After(15 * time.Second):
		p.kill()
		return fmt.Errorf("%s did not end within 15 s of SIGTERM", p.name)
	}
}

// kill ends the process as a crash would.
func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.done
}

// startFloor runs one of our own servers and returns its address.
func startFloor(name, path string, args ...string) (*process, string, error) {
	p, err := start(name, nil, path, args...)
	if err != nil {
		return nil, "", err
	}
	addr, ok := strings.CutPrefix(strings.TrimSpace(p.ready), "ready ")
	if !ok {
		p.kill()
		return nil, "", fmt.Errorf("%s printed %q instead of its address", name, p.ready)
	}
	return p, addr, nil
}

// tailBuffer keeps the last few KiB of what a server says.
type tailBuffer struct {
	mu sync.Mutex
	b  []byte
}

func (t *tailBuffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	t.b = t.b[max(0, len(t.b)-4096):]
	return len(p), nil
}

func (t *tailBuffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}

// run runs a program to its end and returns its output.
func run(ctx context.Context, dir string, env []string, path string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var talk bytes.Buffer
	cmd.Stderr = &talk
	out, err := cmd.Output()
	if err != nil {
		return out, errors.Join(fmt.Errorf("%s %s: %w", path, strings.Join(args, " "), err), errors.New(talk.String()+string(out)))
	}
	return out, nil
}
