//go:build unix

package tool

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// keeper is a small shell that kills a process group when Verbatim is gone,
// also by kill -9: it reads from a pipe whose other end only Verbatim holds.
type keeper struct {
	cmd  *exec.Cmd
	pipe *os.File
}

// keeperScript reads the id of the group, then waits for the end of its input.
// Until it has the id it does nothing.
const keeperScript = `read -r group || exit 0
case $group in '' | 0* | 1 | *[!0-9]*) exit 0 ;; esac
read -r end
kill -s KILL -- "-$group" 2>/dev/null`

// startKeeper starts a keeper in a session of its own, so that signals for our
// terminal don't reach it.
func startKeeper() (*keeper, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	cmd := exec.Command("/bin/sh", "-c", keeperScript)
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.Stdin = read
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		write.Close()
		return nil, err
	}
	return &keeper{cmd: cmd, pipe: write}, nil
}

// watch names the group to kill. If the keeper is gone already, which only
// somebody else's kill can do, the command runs without it.
func (k *keeper) watch(group int) {
	_, _ = fmt.Fprintln(k.pipe, group)
}

// close ends the keeper without its killing anything. The command is gone by
// then.
func (k *keeper) close() {
	_ = k.cmd.Process.Kill()
	_ = k.cmd.Wait()
	k.pipe.Close()
}
