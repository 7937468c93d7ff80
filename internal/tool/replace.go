package tool

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// target is a file that is to be written: a name in an open folder.
type target struct {
	folder *os.Root
	name   string
	// path is what people call it.
	path string
	// before is the file as it was looked at, nil when there was none.
	before fs.FileInfo
}

// target looks at what would be written over. A folder, a link and a file that
// may not be written are refused: to replace a link would change another file
// than the one that was allowed, or cut the two apart.
func (w *workspace) target(p string) (*target, error) {
	folder, name, err := w.openParent(p)
	if err != nil {
		return nil, err
	}
	t := &target{folder: folder, name: name, path: p}
	info, err := folder.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return t, nil
	case err != nil:
		err = pathError(p, err)
	case info.Mode()&fs.ModeSymlink != 0:
		err = fmt.Errorf("%s is a link; nothing was written; name the file that it leads to", visible(p))
	case !info.Mode().IsRegular():
		err = mustBeRegular(p, info)
	case info.Mode().Perm()&0o200 == 0:
		err = fmt.Errorf("%s may only be read; nothing was written", visible(p))
	}
	if err != nil {
		_ = folder.Close()
		return nil, err
	}
	t.before = info
	return t, nil
}

// close lets go of the folder.
func (t *target) close() { _ = t.folder.Close() }

// write puts content in place of the file, all or nothing: a reader sees the
// old file or the new one, also after a crash. It refuses if the file is no
// longer the one that was looked at. The mode stays; a new file gets the usual
// one.
func (t *target) write(ctx context.Context, content []byte) error {
	draft := ".verbatim-" + strings.ToLower(rand.Text()) + ".tmp"
	if err := t.writeDraft(draft, content); err != nil {
		_ = t.folder.Remove(draft) // there may be none; the first error says more
		return pathError(t.path, err)
	}
	if err := t.swap(ctx, draft); err != nil {
		_ = t.folder.Remove(draft)
		return err
	}
	if err := syncFolder(t.folder); err != nil {
		return fmt.Errorf("%w; it was written, but may be gone after a crash of the machine", pathError(t.path, err))
	}
	return nil
}

func (t *target) writeDraft(draft string, content []byte) (err error) {
	mode := fs.FileMode(0o666)
	if t.before != nil {
		mode = 0o600
	}
	f, err := t.folder.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if t.before != nil {
		if err := f.Chmod(t.before.Mode().Perm()); err != nil {
			return err
		}
	}
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.Sync()
}

func (t *target) swap(ctx context.Context, draft string) error {
	if ctx.Err() != nil {
		return errUnchanged
	}
	if !t.untouched() {
		return changedError(t.path)
	}
	if err := t.folder.Rename(draft, t.name); err != nil {
		return pathError(t.path, err)
	}
	return nil
}

func changedError(p string) error {
	return fmt.Errorf("%s was changed by somebody else meanwhile; nothing was written; read it and call again", visible(p))
}

// untouched reports whether the file is still the one that was looked at.
func (t *target) untouched() bool {
	now, err := t.folder.Lstat(t.name)
	if t.before == nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return err == nil && os.SameFile(now, t.before) && now.Size() == t.before.Size() && now.ModTime().Equal(t.before.ModTime())
}

// content reads the file as it was, where a difference to it can be shown.
func (t *target) content() ([]byte, bool) {
	if t.before == nil || t.before.Size() > maxDiffBytes {
		return nil, false
	}
	f, _, err := openRegular(t.folder, t.name, t.path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxDiffBytes+1))
	return content, err == nil && len(content) <= maxDiffBytes
}
