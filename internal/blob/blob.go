// Package blob keeps the bytes of attachments and of long tool outputs as files
// in one directory.
//
// Guarantee: a blob that has a name is whole and durable; a crash at any moment
// leaves either none or all of it. A blob never changes. Names are random, so
// each blob has one owner, who may delete it whatever else is being stored. Not
// promised: that something refers to a blob (see Sweep), and that the same bytes
// are kept once only.
package blob

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// What callers branch on.
var (
	// ErrMissing means that there is no blob of this name.
	ErrMissing = errors.New("no such blob")
	// ErrName means that no blob can have this name.
	ErrName = errors.New("not the name of a blob")
	// ErrFull means that the disk is full. Nothing was kept.
	ErrFull = errors.New("the disk is full")
	// ErrTooLarge means that a blob is larger than the caller takes.
	ErrTooLarge = errors.New("the blob is larger than was asked for")
	// ErrDiffers means that a blob of this name is there with other content.
	// It was left as it is.
	ErrDiffers = errors.New("a blob of this name is there with other content")
	// ErrAborted means that the blob was given up before.
	ErrAborted = errors.New("the blob was given up")
)

const (
	prefix = "b_"
	// temporary begins the name of a file that is no blob yet.
	temporary = "tmp_"
	// minText and maxText bound what comes after prefix.
	minText, maxText = 26, 62
)

// Valid reports whether a blob can have this name: b_ and 26 to 62 lower-case
// letters and digits.
func Valid(blob string) bool {
	text, ok := strings.CutPrefix(blob, prefix)
	if !ok || len(text) < minText || len(text) > maxText {
		return false
	}
	for i := range len(text) {
		if c := text[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// Store is a directory of blobs. It is safe for concurrent use; one process at a
// time has the directory.
type Store struct {
	dir  string
	disk disk
	// importing is held while a blob of a given name is looked for and made.
	importing sync.Mutex
}

// Open makes the directory where it is missing, for its owner only, and returns
// the store in it. It reads no blob.
func Open(dir string) (*Store, error) { return open(dir, osDisk{}) }

func open(dir string, d disk) (*Store, error) {
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return nil, fmt.Errorf("open the blobs: %s is a file; move it away", dir)
	case err == nil:
		return &Store{dir: dir, disk: d}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open the blobs: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the blobs: %w", explain(err))
	}
	if err := d.syncDir(filepath.Dir(dir)); err != nil {
		return nil, fmt.Errorf("make the directory of the blobs: %w", explain(err))
	}
	return &Store{dir: dir, disk: d}, nil
}

// Put keeps data and returns the new blob's name once it is durable. ctx is
// looked at before the work begins, not after. Putting the same bytes twice makes
// two blobs.
func (s *Store) Put(ctx context.Context, data []byte) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	w, err := s.Create()
	if err != nil {
		return "", err
	}
	defer w.Abort()
	if _, err := w.Write(data); err != nil {
		return "", err
	}
	name, _, err := w.Commit()
	return name, err
}

// Open returns a blob and its size in bytes. The caller closes it. ErrMissing
// when there is none.
func (s *Store) Open(blob string) (io.ReadSeekCloser, int64, error) {
	path, err := s.path(blob)
	if err != nil {
		return nil, 0, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("%w: %s", ErrMissing, blob)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("open a blob: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("open a blob: %w", err), f.Close())
	}
	return f, info.Size(), nil
}

// Read returns the bytes of a blob of at most limit bytes; a larger one is
// ErrTooLarge, none is ErrMissing.
func (s *Store) Read(blob string, limit int64) ([]byte, error) {
	f, size, err := s.Open(blob)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > limit {
		return nil, fmt.Errorf("%w: %s has %d bytes, at most %d are taken", ErrTooLarge, blob, size, limit)
	}
	var data bytes.Buffer
	data.Grow(int(size) + bytes.MinRead)
	if _, err := data.ReadFrom(f); err != nil {
		return nil, fmt.Errorf("read a blob: %w", err)
	}
	return data.Bytes(), nil
}

// Delete removes a blob for good. It is durable when it returns; deleting it
// again, or one that never was, is well.
func (s *Store) Delete(blob string) error {
	path, err := s.path(blob)
	if err != nil {
		return err
	}
	if err := s.disk.remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete a blob: %w", err)
	}
	if err := s.disk.syncDir(s.dir); err != nil {
		return fmt.Errorf("delete a blob: %w", err)
	}
	return nil
}

// All returns the names of all blobs, sorted.
func (s *Store) All() ([]string, error) {
	names, err := s.list()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(names, func(name string) bool { return !Valid(name) }), nil
}

// list returns the names of all files, sorted.
func (s *Store) list() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list the blobs: %w", err)
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func (s *Store) path(blob string) (string, error) {
	if !Valid(blob) {
		return "", fmt.Errorf("%w: %q", ErrName, blob)
	}
	return filepath.Join(s.dir, blob), nil
}

// text returns 26 random letters and digits.
func text() string { return strings.ToLower(rand.Text()) }
