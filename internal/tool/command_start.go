package tool

import (
	"crypto/rand"
	"io"
	"os"
	"os/exec"
)

// running is a command that was started.
type running struct {
	cmd       *exec.Cmd
	processes *processes
	// exited is closed when the shell has ended and was waited for.
	exited chan struct{}

	output *os.File
	// copied is closed when nothing more comes from output; copyErr and
	// lineOpen may be read then.
	copied   chan struct{}
	copyErr  error
	lineOpen bool
}

// start starts a command whose output goes to out. Both of its outputs are one
// pipe, so what it writes stays in order.
func (c *command) start(line string, out io.Writer) (*running, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer write.Close()
	mark := rand.Text()
	cmd := shell(line)
	cmd.Dir = c.workspace
	cmd.Env = environment(os.Environ(), c.environment, mark)
	cmd.Stdout, cmd.Stderr = write, write
	p, err := startProcesses(cmd, mark)
	if err != nil {
		read.Close()
		return nil, err
	}
	r := &running{cmd: cmd, processes: p, exited: make(chan struct{}), output: read, copied: make(chan struct{})}
	go func() {
		defer close(r.exited)
		// How it ended is in cmd.ProcessState.
		_ = cmd.Wait()
	}()
	go func() {
		defer close(r.copied)
		r.copy(out)
	}()
	return r, nil
}

// copy ends with the output, or when out takes no more: the command then blocks
// or fails when it writes, and is stopped.
func (r *running) copy(out io.Writer) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.output.Read(buf)
		if n > 0 {
			r.lineOpen = buf[n-1] != '\n'
			if _, r.copyErr = out.Write(buf[:n]); r.copyErr != nil {
				return
			}
		}
		if err != nil {
			if err != io.EOF {
				r.copyErr = err
			}
			return
		}
	}
}

// newLine is what must come before a line of ours.
func (r *running) newLine() string {
	if r.lineOpen {
		return "\n"
	}
	return ""
}

// close gives up what is held. Everything has been waited for by then, but a
// shell that the system won't let go: its goroutine waits on.
func (r *running) close() {
	r.output.Close()
	r.processes.close()
}
