package blob

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// Sweep removes every blob that keep does not want, and every file that a crash
// left unfinished, and returns how many went. Only call it at the start, before
// anything is written: a blob that is stored but not yet referred to would go. A
// file of another kind of name is left alone. What can't be removed is named in
// the error; the rest still goes.
func (s *Store) Sweep(keep func(blob string) bool) (n int, err error) {
	names, err := s.list()
	if err != nil {
		return 0, err
	}
	var failed []error
	for _, name := range names {
		if !strings.HasPrefix(name, temporary) && (!Valid(name) || keep(name)) {
			continue
		}
		err := s.disk.remove(filepath.Join(s.dir, name))
		switch {
		case err == nil:
			n++
		case !errors.Is(err, fs.ErrNotExist):
			failed = append(failed, err)
		}
	}
	if n > 0 {
		failed = append(failed, s.disk.syncDir(s.dir))
	}
	if err := errors.Join(failed...); err != nil {
		return n, fmt.Errorf("sweep the blobs; what is left is tried again at the next start: %w", err)
	}
	return n, nil
}
