// Command verbatim runs the server and speaks to it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"verbatim/internal/config"
	"verbatim/internal/term"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

func main() {
	os.Exit(run(os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// streams are where a command reads, where its data goes and where it talks.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// commands is the command line.
type commands struct {
	Serve    serveCommand    `cmd:"" help:"Run the server."`
	Ask      askCommand      `cmd:"" help:"Ask once and print the answer as it comes."`
	Link     linkCommand     `cmd:"" help:"Print a new launch link, which lets one browser in, once."`
	Receipts receiptsCommand `cmd:"" help:"Say which bytes of a run are in which message of which chat."`
	Verify   verifyCommand   `cmd:"" help:"Ask each chat platform whether it still shows a run as it was posted."`
	Export   exportCommand   `cmd:"" help:"Write conversations to a file that import brings back."`
	Import   importCommand   `cmd:"" help:"Bring conversations back from files, each whole or not at all."`
	Backup   backupCommand   `cmd:"" help:"Copy the database into a new file, also while the server runs."`
	Restore  restoreCommand  `cmd:"" help:"Put a backup in the place of the database. The server must be stopped."`
	Doctor   doctorCommand   `cmd:"" help:"Check the data directory, the database, the model and the clock."`
	Torture  tortureCommand  `cmd:"" help:"Play faults against the delivery of chats and count the words that a reader misses or sees twice."`
	Config   configCommand   `cmd:"" help:"Check or explain the configuration."`
	Version  versionCommand  `cmd:"" help:"Print the version."`
}

const description = `Verbatim runs a language model and shows every word of its answers once, in order, on every screen.

Settings come from a flag, an environment variable (VERBATIM_...), verbatim.yaml in the data directory, or their default, in this order; see "verbatim config doc".`

// run does one command and returns the exit code.
func run(args []string, std streams) int {
	var c commands
	parser, err := kong.New(&c, kong.Name("verbatim"), kong.Description(description),
		kong.Writers(std.out, std.err), kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}))
	if err != nil {
		panic("verbatim: the command line is built wrong: " + err.Error())
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		std.complain(err)
		std.say(`run "verbatim --help" for what there is`)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	parsed.BindTo(ctx, (*context.Context)(nil))
	err = parsed.Run(std, flagsOf(parsed))
	return std.exitCode(err)
}

// settings are what the command line says about configuration keys.
type settings map[string]string

// flagsOf finds the flags that are named like a key of the configuration.
func flagsOf(parsed *kong.Context) settings {
	known := map[string]string{}
	for _, k := range config.Keys() {
		known[k.Flag] = k.Name
	}
	flags := settings{}
	for _, p := range parsed.Path {
		if p.Flag == nil {
			continue
		}
		if key, ok := known[p.Flag.Name]; ok {
			flags[key] = fmt.Sprint(p.Flag.Target.Interface())
		}
	}
	return flags
}

// errSilent ends a command that has said all there is to say.
var errSilent = errors.New("failed")

func (s streams) exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if errors.Is(err, errSilent) {
		return exitFailure
	}
	s.complain(err)
	if _, ok := errors.AsType[*config.Invalid](err); ok {
		return exitUsage
	}
	return exitFailure
}

// complain says each line of an error.
func (s streams) complain(err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		s.say("%s", line)
	}
}

// say writes a line for people. What others wrote may be quoted in it, so
// control characters are taken out. When standard error is closed nobody
// listens, and nothing is lost.
func (s streams) say(format string, args ...any) {
	_, _ = fmt.Fprintln(s.err, "verbatim: "+term.Line(fmt.Sprintf(format, args...)))
}
