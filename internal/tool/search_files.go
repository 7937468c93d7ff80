package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"verbatim/internal/event"
)

// How much one search_files finds, and how long it looks.
const (
	maxFound     = 500
	maxSearching = 60 * time.Second
)

type searchFiles struct{ ws *workspace }

func (searchFiles) Spec() Spec {
	return Spec{
		Name:        "search_files",
		Description: `Searches the files of the workspace, or of one folder or file in it, for a regular expression (RE2; (?i) for any case). It is searched line by line in the content of text files, and found lines are shown as "path:line: text"; it is also compared with the paths of files, and a path alone on a line is a file whose name matches. A glob such as *.go finds files by name. What is no valid expression is taken literally, and it says so. At most 500 results, lines cut to 300 characters around the match. Binary files, links, and folders such as .git and node_modules are passed over, and it is said which; name such a folder as path to search it all the same.`,
		Parameters:  json.RawMessage(`{"type":"object","properties":{"pattern":{"type":"string","description":"a regular expression in RE2 syntax, or a glob for names"},"path":{"type":"string","description":"a folder or file, relative to the workspace; the whole workspace if left out"}},"required":["pattern"],"additionalProperties":false}`),
		Risk:        event.RiskLow,
		ReadOnly:    true,
	}
}

func (t searchFiles) Prepare(args json.RawMessage) (Action, error) {
	var pat, p string
	if err := readArguments(args, text("pattern", &pat), optionalText("path", &p)); err != nil {
		return Action{}, err
	}
	if p == "" {
		p = "." // some models fill in what they could leave out
	}
	clean, err := cleanPath(p)
	if err != nil {
		return Action{}, err
	}
	compiled, err := newPattern(pat)
	if err != nil {
		return Action{}, err
	}
	return Action{
		Reason: fmt.Sprintf("searches %s for %s", quoted(clean, 100), quoted(pat, 140)),
		Run:    func(ctx context.Context, out Output) error { return t.run(ctx, compiled, clean, out) },
	}, nil
}

func (t searchFiles) run(ctx context.Context, pat pattern, p string, out Output) error {
	looking, cancel := context.WithTimeout(ctx, maxSearching)
	defer cancel()
	s := &search{ws: t.ws, pattern: pat, out: out}
	s.walk = walk{ws: t.ws, file: func(p string) error { return s.file(looking, p) }}
	err := s.start(looking, p)
	if ctx.Err() != nil {
		return errStopped
	}
	switch {
	case errors.Is(err, errEnough):
		s.note("there is more: it stopped after %d results; narrow the pattern or the path", maxFound)
	case errors.Is(err, errStopped):
		s.note("not everything was searched: it stopped after %d seconds; narrow the path", maxSearching/time.Second)
	case err != nil:
		return err
	}
	return s.finish()
}

// start searches a folder, or the one file that p names.
func (s *search) start(ctx context.Context, p string) error {
	info, err := s.ws.root.Stat(p)
	if err != nil {
		return pathError(p, err)
	}
	if info.IsDir() {
		return s.walk.folder(ctx, p, 0)
	}
	if err := mustBeRegular(p, info); err != nil {
		return err
	}
	return s.file(ctx, p)
}

// finish says what was not searched.
func (s *search) finish() error {
	if s.found == 0 {
		s.notes = append([]string{"nothing was found in " + countOf(int64(s.files), "file")}, s.notes...)
	}
	if s.pattern.literal {
		s.note("the pattern is no regular expression; it was searched for literally")
	}
	s.list("passed over", s.walk.passed)
	s.list("not readable", s.walk.unread)
	s.list("not text", s.binary)
	if s.long > 0 {
		s.note("of %s only the first %d KiB were searched", countOf(int64(s.long), "very long line"), maxLineBytes>>10)
	}
	if s.walk.links > 0 {
		s.note("not followed: %s", countOf(int64(s.walk.links), "link"))
	}
	if len(s.notes) == 0 {
		return nil
	}
	_, err := io.WriteString(s.out, "["+strings.Join(s.notes, "]\n[")+"]\n")
	return err
}

func (s *search) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// list names a few of many, and says how many there are.
func (s *search) list(what string, paths []string) {
	const most = 10
	if len(paths) == 0 {
		return
	}
	said := strings.Join(paths[:min(len(paths), most)], ", ")
	if len(paths) > most {
		said += fmt.Sprintf(" and %d more", len(paths)-most)
	}
	s.note("%s: %s", what, said)
}
