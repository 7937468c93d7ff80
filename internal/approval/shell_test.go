//go:build unix

package approval_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"verbatim/internal/approval"
)

// shells are those of this machine that claim to read what a POSIX shell does.
func shells(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, name := range []string{"/bin/sh", "dash", "bash", "ksh", "busybox"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if path, err = filepath.EvalSymlinks(path); err == nil && !slices.Contains(found, path) {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		t.Skip("this machine has no shell")
	}
	return found
}

// evaluate lets a shell run commands, one a line, where the programs that are
// named are functions that print their words, each with a zero byte behind it, and
// then a line break; there are no others. It returns the words of each command.
func evaluate(t *testing.T, shell string, programs, commands []string) [][]string {
	t.Helper()
	dir := t.TempDir()
	var text strings.Builder
	for _, p := range programs {
		fmt.Fprintf(&text, "%s() { printf '%%s\\0' %[1]s \"$@\"; printf '\\n'; }\n", p)
	}
	text.WriteString(strings.Join(commands, "\n"))
	args := []string{"-c", text.String()}
	if filepath.Base(shell) == "busybox" {
		args = append([]string{"sh"}, args...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + dir, "HOME=/home/nobody"}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("%s: %v\n%s", shell, err, errs.String())
	}
	lines := bytes.Split(bytes.TrimSuffix(out, []byte("\x00\n")), []byte("\x00\n"))
	words := make([][]string, len(lines))
	for i, line := range lines {
		words[i] = strings.Split(string(line), "\x00")
	}
	return words
}

func compare(t *testing.T, programs, commands []string) {
	t.Helper()
	for _, shell := range shells(t) {
		got := evaluate(t, shell, programs, commands)
		if len(got) != len(commands) {
			t.Fatalf("%s ran %d programs for %d commands", shell, len(got), len(commands))
		}
		for i, c := range commands {
			words, err := approval.Words(c)
			if err != nil {
				t.Fatal(err)
			}
			words[0] = filepath.Base(words[0])
			if strings.Join(words, "\x00") != strings.Join(got[i], "\x00") {
				t.Errorf("%s reads %q as %q, we as %q", shell, c, got[i], words)
			}
		}
	}
}

func TestShellsReadTheSameWords(t *testing.T) {
	programs := []string{"ls", "git", "grep", "make"}
	var commands []string
	for _, row := range simple {
		if row.want[0] == "echo" { // a builtin, which prints otherwise
			commands = append(commands, strings.Replace(row.command, "echo", "ls", 1))
		} else if !strings.Contains(row.want[0], "/") {
			commands = append(commands, row.command)
		}
	}
	compare(t, programs, commands)
}

// Random lines from what shells care for: those that are accepted must have the
// same words in every real shell.
func TestShellsReadTheSameWordsOfRandomCommands(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	pieces := []string{
		" ", " ", "\t", "'", "'", `"`, `"`, `\`, `\`, "a", "b", "-", "=", "~", "%", ":", ",", "@", "+", ".", "/", "1", "_",
		"$", "`", ";", "|", "&", "<", ">", "(", ")", "{", "}", "*", "?", "[", "]", "#", "!", "^", "\n", "\r", "é", "你", "；", "\u00a0",
	}
	heads := []string{"git", `g"it"`, `\git`, "'git'", "ls", `l\s`}
	var commands []string
	for tries := 0; tries < 200_000 && len(commands) < 1000; tries++ {
		var line strings.Builder
		line.WriteString(heads[random.IntN(len(heads))])
		for range 1 + random.IntN(12) {
			line.WriteString(pieces[random.IntN(len(pieces))])
		}
		if words, err := approval.Words(line.String()); err == nil && (words[0] == "git" || words[0] == "ls") {
			commands = append(commands, line.String())
		}
	}
	if len(commands) < 1000 {
		t.Fatalf("only %d lines were accepted: the pieces are badly chosen", len(commands))
	}
	compare(t, []string{"git", "ls"}, commands)
}
