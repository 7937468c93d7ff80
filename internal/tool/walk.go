package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// maxWalkDepth bounds how deep a walk goes; folders can be nested without end
// by a command.
const maxWalkDepth = 64

// unsearched are the folders that a walk passes over, because they hold copies
// of what is elsewhere. A walk that begins in one goes through it.
func unsearched(name string) bool {
	switch name {
	case ".git", ".hg", ".svn", "node_modules", "bower_components", "__pycache__", ".venv", ".tox", ".mypy_cache":
		return true
	}
	return false
}

// walk goes through the regular files below a folder, in the order of their
// names. Links are not followed.
type walk struct {
	ws *workspace
	// file is called with each; an error of it ends the walk.
	file func(p string) error
	// passed are the folders that were passed over, unread says what could not
	// be read and why, links how many links there were.
	passed, unread []string
	links          int
}

func (w *walk) folder(ctx context.Context, p string, depth int) error {
	entries, err := w.read(ctx, p)
	if errors.Is(err, errStopped) {
		return err
	}
	if err == nil && depth > maxWalkDepth {
		err = fmt.Errorf("%s: more than %d folders deep", visible(p), maxWalkDepth)
	}
	if err != nil {
		w.miss(err)
		return nil
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return errStopped
		}
		if err := w.entry(ctx, path.Join(p, e.Name()), e, depth); err != nil {
			return err
		}
	}
	return nil
}

// miss notes what could not be read; the walk goes on.
func (w *walk) miss(why error) { w.unread = append(w.unread, why.Error()) }

func (w *walk) entry(ctx context.Context, p string, e fs.DirEntry, depth int) error {
	switch {
	case e.IsDir() && unsearched(e.Name()):
		w.passed = append(w.passed, visible(p))
	case e.IsDir():
		return w.folder(ctx, p, depth+1)
	case e.Type().IsRegular():
		return w.file(p)
	case e.Type()&fs.ModeSymlink != 0:
		w.links++
	}
	return nil
}

// read returns all entries of a folder by name.
func (w *walk) read(ctx context.Context, p string) ([]fs.DirEntry, error) {
	f, err := w.ws.openFolder(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var entries []fs.DirEntry
	for {
		if ctx.Err() != nil {
			return nil, errStopped
		}
		more, err := f.ReadDir(1000)
		entries = append(entries, more...)
		if err == io.EOF {
			slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
			return entries, nil
		}
		if err != nil {
			return nil, pathError(p, err)
		}
	}
}
