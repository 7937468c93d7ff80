package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// workspace is the folder that file tools keep to. Every access goes through
// an os.Root, so that a link that leads out, or a folder that becomes one while
// a tool works, is an error and not a way out.
type workspace struct {
	root *os.Root
	// turn is held by the one call that changes a file.
	turn chan struct{}
}

func openWorkspace(dir string) (*workspace, error) {
	if dir == "" {
		return nil, errors.New("no workspace folder is set")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	return &workspace{root: root, turn: make(chan struct{}, 1)}, nil
}

// Close makes all later uses fail; those under way end by themselves.
func (w *workspace) Close() error { return w.root.Close() }

// alone runs change when no other call changes a file: two conversations that
// edit one file at a time would otherwise lose one of the edits.
func (w *workspace) alone(ctx context.Context, change func() error) error {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return errUnchanged
	}
	defer func() { <-w.turn }()
	return change()
}

var (
	errStopped   = errors.New("stopped before it was done")
	errUnchanged = errors.New("stopped; nothing was written")
)

// openFile opens a regular file for reading; anything else is refused, and
// never waited for.
func (w *workspace) openFile(p string) (*os.File, fs.FileInfo, error) {
	return openRegular(w.root, p, p)
}

// openRegular opens name in folder, and calls it p to people.
func openRegular(folder *os.Root, name, p string) (*os.File, fs.FileInfo, error) {
	// To open a device can have an effect, so it is looked at before; it may
	// have become one in between, so it is looked at again.
	info, err := folder.Stat(name)
	if err != nil {
		return nil, nil, pathError(p, err)
	}
	if err := mustBeRegular(p, info); err != nil {
		return nil, nil, err
	}
	f, err := folder.OpenFile(name, openFlags, 0)
	if err != nil {
		return nil, nil, pathError(p, err)
	}
	info, err = f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, pathError(p, err)
	}
	if err := mustBeRegular(p, info); err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func mustBeRegular(p string, info fs.FileInfo) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return fmt.Errorf("%s is a folder, not a file; list_directory shows what is in it", visible(p))
	}
	return fmt.Errorf("%s is no file but %s, which is not touched", visible(p), special(info.Mode()))
}

// openFolder opens a folder to list it.
func (w *workspace) openFolder(p string) (*os.File, error) {
	f, err := w.root.OpenFile(p, openFlags, 0)
	if err != nil {
		return nil, pathError(p, err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		return f, nil
	}
	f.Close()
	if err != nil {
		return nil, pathError(p, err)
	}
	if info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is a file, not a folder; read_file shows what is in it", visible(p))
	}
	return nil, fmt.Errorf("%s is no folder but %s, which is not touched", visible(p), special(info.Mode()))
}

// openParent opens the folder of a file that is to be written, and returns the
// file's name in it. All steps of a change go through this one handle.
func (w *workspace) openParent(p string) (*os.Root, string, error) {
	dir, name := path.Split(p)
	if dir == "" {
		dir = "."
	}
	parent, err := w.root.OpenRoot(dir)
	if err != nil {
		return nil, "", pathError(path.Clean(dir), err)
	}
	return parent, name, nil
}

// special says what something is that is neither a file nor a folder.
func special(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "a link"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}
