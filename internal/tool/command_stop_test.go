//go:build unix

package tool

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// started are commands that start processes which resist. Each prints "pid N"
// for every one that must be gone afterwards, then "ready".
var started = []struct {
	name, line string
	linux      bool // what escapes the group is found only there
}{
	{"sleeps", `echo pid $$; echo ready; sleep 1000`, false},
	{"ignores SIGTERM with children", `trap '' TERM; sleep 1000 & echo pid $!; (trap '' TERM; echo pid $(sh -c 'echo $PPID'); while :; do sleep 1000; done) & ` +
		`echo pid $!; echo pid $$; echo ready; while :; do sleep 1000; done`, false},
	{"closes stdout and sleeps", `echo pid $$; echo ready; exec >&- 2>&-; sleep 1000`, false},
	{"grandchildren hold the pipe", `(trap '' TERM HUP; sleep 1000 & echo pid $!; wait) & (sleep 1000 & echo pid $!; echo ready; wait)`, false},
	{"setsid grandchild", `setsid sh -c 'echo pid $$; trap "" TERM; sleep 1000 & echo pid $!; echo ready; while :; do sleep 1000; done' & wait`, true},
	{"setsid grandchild that closed its output", `setsid sh -c 'echo pid $$; echo ready; exec >&- 2>&-; trap "" TERM; while :; do sleep 1000; done' & wait`, true},
	{"setsid grandchild without environment", `setsid env -i /bin/sh -c 'echo pid $$; echo ready; sleep 1000 & wait' & wait`, true},
}

func TestStopKillsAll(t *testing.T) {
	t.Parallel()
	for _, tt := range started {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.linux && runtime.GOOS != "linux" {
				t.Skip("what leaves the process group is not found here")
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := &record{}
			ready := out.waitFor("ready\n")
			ended := make(chan error, 1)
			c := newCommand(t, CommandConfig{})
			go func() { ended <- runLine(ctx, t, c, tt.line, out) }()
			<-ready
			cancel()
			if got, want := says(<-ended), "the command was stopped before it ended"; got != want {
				t.Errorf("the error is %q, want %q", got, want)
			}
			allGone(t, out.String())
		})
	}
}

// A command that ends by itself leaves nothing, and says so.
func TestBackgroundChildLeft(t *testing.T) {
	t.Parallel()
	const note = "[stopped what the command had left running in the background]\n"
	tests := []struct {
		name, line, output string
		linux              bool
	}{
		{"a child", `sleep 1000 & echo pid $!; echo done`, "pid N\ndone\n" + note, false},
		{"a child, after half a line", `sleep 1000 & echo pid $!; printf done`, "pid N\ndone\n" + note, false},
		{"a child that closed its output", `sleep 1000 >&- 2>&- & echo pid $!`, "pid N\n" + note, false},
		{"a child that ignores SIGTERM", `mkfifo f; (trap '' TERM; echo x > f; while :; do sleep 1000; done) & echo pid $!; read x < f`, "pid N\n" + note, false},
		{"a daemon", `mkfifo f; setsid sh -c 'echo pid $$; echo x > f; exec >/dev/null 2>&1; sleep 1000 & wait' & read x < f`, "pid N\n" + note, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.linux && runtime.GOOS != "linux" {
				t.Skip("what leaves the process group is not found here")
			}
			out := &record{}
			if err := runLine(t.Context(), t, newCommand(t, CommandConfig{}), tt.line, out); err != nil {
				t.Error(err)
			}
			if got := pidLine.ReplaceAllString(out.String(), "pid N\n"); got != tt.output {
				t.Errorf("the output is %q, want %q", got, tt.output)
			}
			allGone(t, out.String())
		})
	}
}

// Killing one call's processes leaves those of another alone.
func TestStopLeavesOtherCommandsAlone(t *testing.T) {
	t.Parallel()
	c := newCommand(t, CommandConfig{})
	if err := syscall.Mkfifo(filepath.Join(c.workspace, "go"), 0o600); err != nil {
		t.Fatal(err)
	}
	other, one := &record{}, &record{}
	otherReady, oneReady := other.waitFor("ready\n"), one.waitFor("ready\n")
	otherEnded, oneEnded := make(chan error, 1), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { otherEnded <- runLine(t.Context(), t, c, "echo ready; read x < go; echo $x", other) }()
	go func() { oneEnded <- runLine(ctx, t, c, "echo ready; sleep 1000", one) }()
	<-otherReady
	<-oneReady
	cancel()
	<-oneEnded
	if err := os.WriteFile(filepath.Join(c.workspace, "go"), []byte("alive\n"), 0); err != nil {
		t.Fatal(err)
	}
	if err := <-otherEnded; err != nil {
		t.Error(err)
	}
	if got, want := other.String(), "ready\nalive\n"; got != want {
		t.Errorf("the other command wrote %q, want %q", got, want)
	}
}

func TestCloseStopsCommands(t *testing.T) {
	t.Parallel()
	c := newCommand(t, CommandConfig{})
	out := &record{}
	ready := out.waitFor("ready\n")
	ended := make(chan error, 1)
	go func() { ended <- runLine(t.Context(), t, c, started[1].line, out) }()
	<-ready
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	allGone(t, out.String())
	if got, want := says(<-ended), "the program is shutting down; the command was stopped before it ended"; got != want {
		t.Errorf("the error is %q, want %q", got, want)
	}
	if got, want := says(runLine(t.Context(), t, c, "true", out)), "the program is shutting down; the command was not run"; got != want {
		t.Errorf("afterwards the error is %q, want %q", got, want)
	}
	if err := c.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

// When Verbatim is killed, so is the command, though it ignores SIGTERM.
func TestKillOfTheProgramKillsItsCommands(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	program := exec.Command(os.Args[0], "-test.run=^TestProgramThatIsKilled$")
	program.Env = append(os.Environ(), "TEST_COMMAND_PIPE="+pipe)
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(pipe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	held := bufio.NewReader(f)
	if line, err := held.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the command wrote %q: %v", line, err)
	}
	if err := program.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = program.Wait()
	// The pipe ends when the last process that holds it is gone.
	if rest, err := io.ReadAll(held); err != nil || len(rest) > 0 {
		t.Errorf("then %q: %v", rest, err)
	}
}

// TestProgramThatIsKilled is the program of the test above.
func TestProgramThatIsKilled(t *testing.T) {
	pipe := os.Getenv("TEST_COMMAND_PIPE")
	if pipe == "" {
		t.Skip("runs as a program of its own")
	}
	c := newCommand(t, CommandConfig{Environment: []string{"TEST_COMMAND_PIPE"}})
	err := runLine(t.Context(), t, c, `exec 3>"$TEST_COMMAND_PIPE"; trap '' TERM HUP; sleep 1000 & echo ready >&3; wait`, &record{})
	t.Errorf("the command ended: %v", err)
}

var pidLine = regexp.MustCompile(`(?m)^pid ([0-9]+)\n`)

// allGone checks that no process that the output names is left.
func allGone(t *testing.T, output string) {
	t.Helper()
	pids := pidLine.FindAllStringSubmatch(output, -1)
	if len(pids) == 0 {
		t.Errorf("the output names no process: %q", output)
	}
	for _, m := range pids {
		pid, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		if alive(pid) {
			t.Errorf("process %d is still there", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// alive reports whether a process runs; one that only nobody has waited for
// doesn't.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return runtime.GOOS != "linux"
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}
