//go:build unix

package tool

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

const shellName = "/bin/sh"

// gate holds the command back until it is told to go on, which is when its keeper
// knows its group; when Verbatim is gone before, it never runs.
const gate = `read -r go <&3 || exit 0; exec 3<&-; exec /bin/sh -c "$1"`

func shell(line string) *exec.Cmd { return exec.Command("/bin/sh", "-c", gate, "sh", line) }

// processes is what a command has started: a process group, and on Linux what
// has left it.
type processes struct {
	// group is the process id of the shell, and so the id of its process group
	// and session.
	group  int
	mark   string
	born   ticks
	strays strays
	keeper *keeper
}

// startProcesses starts cmd. Without a terminal nothing in it can ask a person
// for a password or write past us to the screen.
func startProcesses(cmd *exec.Cmd, mark string) (*processes, error) {
	k, err := startKeeper()
	if err != nil {
		return nil, err
	}
	held, word, err := os.Pipe()
	if err != nil {
		k.close()
		return nil, err
	}
	defer word.Close()
	defer held.Close()
	cmd.ExtraFiles = []*os.File{held}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		k.close()
		return nil, err
	}
	p := &processes{group: cmd.Process.Pid, mark: mark, keeper: k}
	p.born = birth(p.group)
	k.watch(p.group)
	// It fails only where the shell is gone, and how that ended is told.
	_, _ = word.WriteString("go\n")
	return p, nil
}

func (p *processes) ask() { p.signal(syscall.SIGTERM) }

func (p *processes) kill() { p.signal(syscall.SIGKILL) }

func (p *processes) close() { p.keeper.close() }

// verdict returns an error if a command has not ended well.
func verdict(state *os.ProcessState) error {
	status, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case state.Success():
		return nil
	case ok && status.Signaled():
		return fmt.Errorf("the command was ended by the signal %s", signalName(status.Signal()))
	}
	// Shells report that what they ran was ended by a signal in this way.
	if name := unix.SignalName(syscall.Signal(state.ExitCode() - 128)); name != "" {
		return fmt.Errorf("the command ended with status %d, as after the signal %s", state.ExitCode(), name)
	}
	return fmt.Errorf("the command ended with status %d", state.ExitCode())
}

func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("%d", int(s))
}
