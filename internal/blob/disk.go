package blob

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// disk is what a store does to its directory, apart from reading.
type disk interface {
	// create makes a file that must not be there yet.
	create(path string) (file, error)
	rename(from, to string) error
	remove(path string) error
	// syncDir makes the names in a directory durable.
	syncDir(dir string) error
}

type file interface {
	io.WriteCloser
	Sync() error
}

// osDisk is the operating system's.
type osDisk struct{}

func (osDisk) create(path string) (file, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

func (osDisk) rename(from, to string) error { return os.Rename(from, to) }

func (osDisk) remove(path string) error { return os.Remove(path) }

func (osDisk) syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(ignoreUnsupported(f.Sync()), f.Close())
}

// explain names what callers branch on.
func explain(err error) error {
	if isFull(err) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}
