// Package scripts tells stories of the command line: each file is one, played
// against the real program.
package scripts

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"verbatim/internal/golden"
)

var binary string

func TestMain(m *testing.M) { os.Exit(withBinary(m.Run)) }

// withBinary builds the program once for all stories.
func withBinary(run func() int) int {
	flag.Parse()
	dir, err := os.MkdirTemp("", "verbatim-stories-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "verbatim")
	build := exec.Command("go", "build", "-o", binary, "verbatim/cmd/verbatim")
	if said, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, said)
		return 1
	}
	return run()
}

func TestStories(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 ".",
		UpdateScripts:       golden.Updating(t),
		RequireExplicitExec: true,
		Setup:               setUp,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"verbatim": runVerbatim, "serve": serve, "stop": stop, "http": request, "occupy": occupy, "mode": mode,
			"records": readRecords,
		},
	})
}

// setUp gives each story a home of its own and no model but the ones it names.
func setUp(e *testscript.Env) error {
	home := filepath.Join(e.WorkDir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "VERBATIM_") {
			e.Setenv(name, "")
		}
	}
	e.Values[serverKey{}] = &server{}
	// A fixed width keeps help texts the same in every terminal.
	e.Vars = append(e.Vars, "HOME="+home, "COLUMNS=100", "DATA="+filepath.Join(e.WorkDir, "data"), "OLLAMA_HOST=127.0.0.1:9")
	return nil
}

// runVerbatim runs the program to its end: verbatim CODE [<FILE] ARGS...
// CODE is the exit code that the story expects. stdout and stderr are looked
// at afterwards as after exec.
func runVerbatim(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: verbatim CODE [<FILE] ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	cmd := command(ts, nil)
	args = args[1:]
	if len(args) > 0 && strings.HasPrefix(args[0], "<") {
		in, err := os.Open(ts.MkAbs(args[0][1:]))
		ts.Check(err)
		defer in.Close()
		cmd.Stdin, args = in, args[1:]
	}
	cmd.Args = append(cmd.Args, args...)
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	err = cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		ts.Fatalf("%v", err)
	}
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func command(ts *testscript.TestScript, args []string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Dir = ts.Getenv("WORK")
	for _, name := range []string{"HOME", "PATH", "COLUMNS", "OLLAMA_HOST"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	for pair := range strings.FieldsSeq(ts.Getenv("WITH")) {
		cmd.Env = append(cmd.Env, pair)
	}
	return cmd
}

// server is the one that a story has started.
type server struct {
	cmd  *exec.Cmd
	rest chan string // what stdout had after the ready line
}

// serverKey finds it in the story's environment.
type serverKey struct{}

// serve starts a server in the background and waits for its ready line:
// serve ARGS... It sets URL, LAUNCH and TOKEN. Its standard error is in
// serve.log.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	cmd := command(ts, append([]string{"serve", "--data", ts.Getenv("DATA"), "--addr", "127.0.0.1:0"}, args...))
	logFile, err := os.OpenFile(ts.MkAbs("serve.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	ts.Check(err)
	defer logFile.Close()
	cmd.Stderr = logFile
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	s := ts.Value(serverKey{}).(*server)
	s.cmd, s.rest = cmd, make(chan string, 1)
	silent := s.rest
	go func() {
		rest, err := io.ReadAll(lines)
		silent <- string(rest) + errorText(err)
	}()
	ts.Defer(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			<-silent
			_ = cmd.Wait()
		}
	})
	if err != nil {
		ts.Fatalf("no ready line: %v\n%s", err, ts.ReadFile("serve.log"))
	}
	var ready struct {
		URL    string `json:"url"`
		Launch string `json:"launch_url"`
	}
	ts.Check(json.Unmarshal([]byte(line), &ready))
	ts.Setenv("URL", ready.URL)
	ts.Setenv("LAUNCH", ready.Launch)
	ts.Setenv("TOKEN", strings.TrimSpace(ts.ReadFile(filepath.Join(ts.Getenv("DATA"), "token"))))
}

func errorText(err error) string {
	if err == nil || errors.Is(err, os.ErrClosed) {
		return ""
	}
	return err.Error()
}

// stop ends the server by SIGTERM and expects exit code 0 and nothing more on
// standard output.
func stop(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(serverKey{}).(*server)
	ts.Check(s.cmd.Process.Signal(syscall.SIGTERM))
	rest := <-s.rest
	err := s.cmd.Wait()
	if err != nil || rest != "" {
		ts.Fatalf("the server ended with %v and said %q\n%s", err, rest, ts.ReadFile("serve.log"))
	}
}

// request asks the running server: http STATUS METHOD PATH [BODY]. The
// answer's body is on standard output. PATH may be a whole address.
func request(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: http STATUS METHOD PATH [BODY]")
	}
	url := args[2]
	if strings.HasPrefix(url, "/") {
		url = ts.Getenv("URL") + url
	}
	body := strings.Join(args[3:], " ")
	req, err := http.NewRequest(args[1], url, strings.NewReader(body))
	ts.Check(err)
	req.Header.Set("Authorization", "Bearer "+ts.Getenv("TOKEN"))
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	c := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := c.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	ts.Check(err)
	_, err = ts.Stdout().Write(append(bytes.TrimRight(raw, "\n"), '\n'))
	ts.Check(err)
	if fmt.Sprint(resp.StatusCode) != args[0] {
		ts.Fatalf("%s %s: got %d, want %s\n%s", args[1], args[2], resp.StatusCode, args[0], raw)
	}
}

// occupy listens on a free port for the rest of the story and sets ADDR.
func occupy(ts *testscript.TestScript, neg bool, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	ts.Setenv("ADDR", l.Addr().String())
}

// mode compares a file's permissions: mode 600 FILE.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%o", info.Mode().Perm()); got != args[0] {
		ts.Fatalf("%s has mode %s, want %s", args[1], got, args[0])
	}
}
