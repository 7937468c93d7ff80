package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"verbatim/internal/event"
)

// The most entries of a folder that list_directory shows, and the most that it
// looks at.
const (
	maxEntriesShown = 1000
	maxEntriesRead  = 50_000
)

type listDirectory struct{ ws *workspace }

func (listDirectory) Spec() Spec {
	return Spec{
		Name:        "list_directory",
		Description: `Lists one folder of the workspace, sorted by name: folders end in a slash, files have their size in bytes, links show where they lead. Call it to find out what is there before you read or write; it does not look into folders below (search_files does). At most 1,000 entries are shown, and it is said when there are more.`,
		Parameters:  json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"the folder, relative to the workspace; \".\" is the workspace itself"}},"required":["path"],"additionalProperties":false}`),
		Risk:        event.RiskLow,
		ReadOnly:    true,
	}
}

func (t listDirectory) Prepare(args json.RawMessage) (Action, error) {
	var p string
	if err := readArguments(args, text("path", &p)); err != nil {
		return Action{}, err
	}
	clean, err := cleanPath(p)
	if err != nil {
		return Action{}, err
	}
	return Action{
		Reason: "lists the folder " + quoted(clean, 200),
		Run:    func(ctx context.Context, out Output) error { return t.run(ctx, clean, out) },
	}, nil
}

func (t listDirectory) run(ctx context.Context, p string, out Output) error {
	f, err := t.ws.openFolder(p)
	if err != nil {
		return err
	}
	defer f.Close()
	entries, all, err := readEntries(ctx, f, p)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", heading(p, len(entries), all))
	for _, e := range entries[:min(len(entries), maxEntriesShown)] {
		b.WriteString(t.line(p, e))
		b.WriteByte('\n')
	}
	_, err = io.WriteString(out, b.String())
	return err
}

// readEntries returns the entries of a folder by name, and whether they are
// all.
func readEntries(ctx context.Context, f *os.File, p string) ([]fs.DirEntry, bool, error) {
	var entries []fs.DirEntry
	all := false
	for !all && len(entries) < maxEntriesRead {
		if ctx.Err() != nil {
			return nil, false, errStopped
		}
		more, err := f.ReadDir(1000)
		entries = append(entries, more...)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, false, pathError(p, err)
		}
		all = err != nil
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, all, nil
}

// heading says what is listed, and what is not.
func heading(p string, n int, all bool) string {
	name := folderName(p)
	switch {
	case n == 0:
		return name + " is empty"
	case !all:
		return fmt.Sprintf("%s has %s or more; %d of them are shown", name, countOf(int64(n), "entry"), maxEntriesShown)
	case n > maxEntriesShown:
		return fmt.Sprintf("%s has %s; the first %d are shown", name, countOf(int64(n), "entry"), maxEntriesShown)
	}
	return name + " has " + countOf(int64(n), "entry")
}

func folderName(p string) string {
	if p == "." {
		return "the workspace"
	}
	return visible(p) + "/"
}

// line shows one entry.
func (t listDirectory) line(p string, e fs.DirEntry) string {
	name := visible(e.Name())
	switch {
	case e.IsDir():
		return name + "/"
	case e.Type()&fs.ModeSymlink != 0:
		return name + t.leadsTo(path.Join(p, e.Name()))
	case !e.Type().IsRegular():
		return name + " (" + special(e.Type()) + ")"
	}
	info, err := e.Info()
	if err != nil {
		return name // it is gone by now
	}
	return name + "  " + countOf(info.Size(), "byte")
}

// leadsTo says where a link leads. What is outside is not looked at.
func (t listDirectory) leadsTo(p string) string {
	to, err := t.ws.root.Readlink(p)
	if err != nil {
		return " (a link)"
	}
	info, err := t.ws.root.Stat(p)
	switch {
	case err != nil:
		return " -> " + visible(to) + " (a link that can't be followed)"
	case info.IsDir():
		return " -> " + visible(to) + "/"
	}
	return " -> " + visible(to)
}
