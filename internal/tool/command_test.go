//go:build unix

package tool

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestCommandOutcomes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, line, output, err string
	}{
		{"says something", "printf hello", "hello", ""},
		{"both outputs in order", "echo a; echo b >&2; echo c; echo d >&2", "a\nb\nc\nd\n", ""},
		{"bytes as they are", `printf ' \n\t\377 '`, " \n\t\xff ", ""},
		{"no output", "true", "", ""},
		{"a status", "echo partly; exit 3", "partly\n", "the command ended with status 3"},
		{"a signal", "kill -SEGV $$", "", "the command was ended by the signal SIGSEGV"},
		{"a signal to what it ran", "(sh -c 'kill -TERM $$'; exit $?) 2>&-", "", "the command ended with status 143, as after the signal SIGTERM"},
		{"no input", "cat; echo end", "end\n", ""},
		{"no terminal", "(: < /dev/tty) 2>/dev/null || echo none", "none\n", ""},
		{"a group of its own", `[ "$(ps -o pgid= -p $$ | tr -d ' ')" = $$ ] && echo own`, "own\n", ""},
		{"its output closed", "exec >&- 2>&-; exit 4", "", "the command ended with status 4"},
		{"a pipe's end that takes a moment", "mkfifo f; cat f & exec >f; echo late", "late\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := &record{}
			err := runLine(t.Context(), t, newCommand(t, CommandConfig{}), tt.line, out)
			if got := out.String(); got != tt.output {
				t.Errorf("the output is %q, want %q", got, tt.output)
			}
			if got := says(err); got != tt.err {
				t.Errorf("the error is %q, want %q", got, tt.err)
			}
			if !out.live {
				t.Error("the output was not shown live")
			}
		})
	}
}

func TestCommandRunsInTheWorkspace(t *testing.T) {
	t.Parallel()
	c := newCommand(t, CommandConfig{})
	out := &record{}
	if err := runLine(t.Context(), t, c, "echo x > made; ls", out); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "made\n"; got != want {
		t.Errorf("the workspace holds %q, want %q", got, want)
	}
	if err := os.RemoveAll(c.workspace); err != nil {
		t.Fatal(err)
	}
	if err := runLine(t.Context(), t, c, "true", out); err == nil || !strings.HasPrefix(err.Error(), "the command could not be started: ") {
		t.Errorf("without the workspace the error is %v", err)
	}
}

func TestCommandSeesNoSecrets(t *testing.T) {
	for name, value := range map[string]string{
		"OPENAI_API_KEY": "s1", "GITHUB_TOKEN": "s2", "DB_PASSWORD": "s3", "aws_secret_access": "s4",
		"VERBATIM_TOKEN_FILE": "s5", "VERBATIM_MODEL": "s6", "UNKNOWN_THING": "s7", "LC_TEST": "plain", "GOFLAGS": "-named", "TERM": "xterm",
	} {
		t.Setenv(name, value)
	}
	c := newCommand(t, CommandConfig{Environment: []string{"GOFLAGS", "OPENAI_API_KEY", "VERBATIM_MODEL"}})
	out := &record{}
	if err := runLine(t.Context(), t, c, "env", out); err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(out.String()) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if len(value) == 2 && value[0] == 's' {
			t.Errorf("the command sees the secret %s", name)
		}
		names = append(names, name)
	}
	for _, want := range []string{"PATH", "LC_TEST", "GOFLAGS"} {
		if !slices.Contains(names, want) {
			t.Errorf("the command does not see %s; it sees %v", want, names)
		}
	}
	if !strings.Contains(out.String(), "TERM=dumb\n") {
		t.Error("TERM is not dumb")
	}
}

func TestCommandTimeLimit(t *testing.T) {
	t.Parallel()
	c := newCommand(t, CommandConfig{Timeout: 50 * time.Millisecond})
	out := &record{}
	err := runLine(t.Context(), t, c, "echo before; sleep 1000", out)
	if got, want := says(err), "the command did not end within 0.05 s and was stopped"; got != want {
		t.Errorf("the error is %q, want %q", got, want)
	}
	if got, want := out.String(), "before\n"; got != want {
		t.Errorf("what was kept is %q, want %q", got, want)
	}
}

func TestCommandThatWritesWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{"1 GiB": "head -c 1073741824 /dev/zero", "for ever": "yes", "in the background": "yes & sleep 1000"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := &record{limit: 1 << 20}
			err := runLine(t.Context(), t, newCommand(t, CommandConfig{}), line, out)
			if got, want := says(err), "the command was stopped, for its output could not be kept: no room"; got != want {
				t.Errorf("the error is %q, want %q", got, want)
			}
			if n := len(out.String()); n > out.limit {
				t.Errorf("%d bytes were kept", n)
			}
		})
	}
}

func TestCommandOfACallThatWasStoppedBefore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := newCommand(t, CommandConfig{})
	out := &record{}
	if err := runLine(ctx, t, c, "touch ran", out); err == nil {
		t.Error("the call did not fail")
	}
	if _, err := os.Stat(c.workspace + "/ran"); err == nil {
		t.Error("the command was run")
	}
}

func TestPrepareCommand(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 400)
	tests := []struct {
		name, args, reason, command, err string
	}{
		{"a command", `{"command":"ls -l"}`, "runs in the workspace: ls -l", "ls -l", ""},
		{"with a time", `{"command":"ls","timeout":600}`, "runs in the workspace: ls", "ls", ""},
		{"lines and controls", `{"command":"ls\nrm -r x\t#\u001b[2K\u007f"}`, "runs in the workspace: ls␊rm -r x␉#␛[2K␡", "ls\nrm -r x\t#\x1b[2K\x7f", ""},
		{"text that runs backwards", `{"command":"echo \u202etxt\u2028\u0085"}`, "runs in the workspace: echo <U+202E>txt<U+2028><U+0085>", "echo \u202etxt\u2028\u0085", ""},
		{"a long one", `{"command":"` + long + `"}`, "runs in the workspace: " + long[:237] + "… [163 characters more]", long, ""},
		{"empty", `{"command":""}`, "", "", "the command is empty"},
		{"blank", `{"command":" \n"}`, "", "", "the command is empty"},
		{"NUL", `{"command":"a\u0000b"}`, "", "", "the command has a NUL character, which no shell can read"},
		{"too long", `{"command":"` + strings.Repeat("y", 100_001) + `"}`, "", "", "the command has 100,001 bytes; at most 100,000 bytes are run: write it to a file and run that"},
		{"no time", `{"command":"ls","timeout":0}`, "", "", "timeout must be from 1 to 600 s"},
		{"too much time", `{"command":"ls","timeout":600.5}`, "", "", "timeout must be from 1 to 600 s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, err := newCommand(t, CommandConfig{}).Prepare(json.RawMessage(tt.args))
			if got := says(err); got != tt.err {
				t.Fatalf("the error is %q, want %q", got, tt.err)
			}
			if diff := cmp.Diff([]string{tt.reason, tt.command}, []string{a.Reason, a.Command}); diff != "" {
				t.Errorf("reason and command (-want +got):\n%s", diff)
			}
			if n := utf8.RuneCountInString(a.Reason); n > MaxReasonRunes {
				t.Errorf("the reason has %d characters", n)
			}
		})
	}
}
