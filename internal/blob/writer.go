package blob

import (
	"errors"
	"fmt"
	"path/filepath"
)

var errComplete = errors.New("write a blob: it is complete")

// Writer takes the bytes of a blob that is not there yet. One goroutine at a time
// uses it, and ends it with Commit or Abort.
type Writer struct {
	store *Store
	file  file
	path  string
	size  int64
	// err is why nothing can be kept any more.
	err error
	// name is the blob's once it is there.
	name string
}

// Create begins a blob. Nobody sees it before Commit.
func (s *Store) Create() (*Writer, error) {
	path := filepath.Join(s.dir, temporary+text())
	f, err := s.disk.create(path)
	if err != nil {
		return nil, fmt.Errorf("begin a blob: %w", explain(err))
	}
	return &Writer{store: s, file: f, path: path}, nil
}

// Write adds bytes. After an error, such as ErrFull, nothing of the blob will be
// kept and every call but Abort returns that error.
func (w *Writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.name != "" {
		return 0, errComplete
	}
	n, err := w.file.Write(p)
	w.size += int64(n)
	if err != nil {
		return n, w.fail("write a blob", err)
	}
	return n, nil
}

// Commit makes the blob durable under a new name and returns that and its size
// in bytes. On an error nothing was kept. Committing again returns the same.
func (w *Writer) Commit() (blob string, size int64, err error) {
	if w.err == nil && w.name == "" {
		w.err = w.commitAs(prefix + text())
	}
	if w.err != nil {
		return "", 0, w.err
	}
	return w.name, w.size, nil
}

// Abort gives the blob up and removes what was written. After Commit, and again,
// it does nothing. What can't be removed now is at the next Sweep.
func (w *Writer) Abort() {
	if w.err == nil && w.name == "" {
		_ = w.fail("write a blob", ErrAborted) // the caller knows
	}
}

// commitAs syncs the bytes, gives the file its name and syncs that.
func (w *Writer) commitAs(name string) error {
	if err := w.file.Sync(); err != nil {
		return w.fail("sync a blob", err)
	}
	f := w.file
	w.file = nil
	if err := f.Close(); err != nil {
		return w.fail("close a blob", err)
	}
	path := filepath.Join(w.store.dir, name)
	if err := w.store.disk.rename(w.path, path); err != nil {
		return w.fail("name a blob", err)
	}
	w.path = path // what goes if the name can't be made durable
	if err := w.store.disk.syncDir(w.store.dir); err != nil {
		return w.fail("name a blob", err)
	}
	w.name = name
	return nil
}

// fail removes the file and remembers why.
func (w *Writer) fail(what string, err error) error {
	w.err = fmt.Errorf("%s: %w", what, explain(err))
	if w.file != nil {
		_ = w.file.Close() // its bytes go with it
		w.file = nil
	}
	_ = w.store.disk.remove(w.path) // else the next Sweep does
	return w.err
}
