package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// makeDir makes a private data directory that survives a power cut. One that
// exists keeps its mode.
func makeDir(dir string) error {
	if info, err := os.Stat(dir); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("the data directory %s is a file; name a directory with --data", dir)
		}
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w; name one that can be written with --data", err)
	}
	return syncDir(filepath.Dir(dir))
}

// touch makes an empty private file where there is none.
func touch(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// checkFile looks at what SQLite would not complain about but destroy: beside
// an empty database it deletes the write-ahead log, which then holds all that
// is left.
func checkFile(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return leftovers(path)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var head [16]byte
	n, err := io.ReadFull(f, head[:])
	if err == io.EOF {
		return leftovers(path)
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if n < len(head) || !bytes.Equal(head[:], []byte("SQLite format 3\x00")) {
		// A power cut while the database was begun; SQLite undoes it.
		if info, err := os.Stat(path + "-journal"); err == nil && info.Size() > 0 {
			return nil
		}
		return fmt.Errorf("%w: it does not begin like one", ErrCorrupt)
	}
	return nil
}

func leftovers(path string) error {
	info, err := os.Stat(path + "-wal")
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: the file is missing or empty, its write-ahead log is not", ErrCorrupt)
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(ignoreUnsupported(f.Sync()), f.Close())
}
