package blob

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// compareBytes is how much of two blobs is compared at once.
const compareBytes = 64 << 10

// Import keeps what r holds under a name that is known already, from an export,
// and returns once it is durable. The same content again is well and changes
// nothing; other content is ErrDiffers. Imports wait for each other.
func (s *Store) Import(blob string, r io.Reader) error {
	s.importing.Lock()
	defer s.importing.Unlock()
	there, _, err := s.Open(blob)
	if errors.Is(err, ErrMissing) {
		return s.importNew(blob, r)
	}
	if err != nil {
		return err
	}
	defer there.Close()
	same, err := equal(there, r)
	if err != nil {
		return fmt.Errorf("compare a blob: %w", err)
	}
	if !same {
		return fmt.Errorf("%w: %s", ErrDiffers, blob)
	}
	// A crash may have come before its name was durable.
	return s.disk.syncDir(s.dir)
}

func (s *Store) importNew(blob string, r io.Reader) error {
	w, err := s.Create()
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := io.Copy(w, r); err != nil {
		return fmt.Errorf("import a blob: %w", err)
	}
	return w.commitAs(blob)
}

// equal reports whether two readers hold the same bytes.
func equal(a, b io.Reader) (bool, error) {
	pieceA, pieceB := make([]byte, compareBytes), make([]byte, compareBytes)
	for {
		n, err := fill(a, pieceA)
		if err != nil {
			return false, err
		}
		m, err := fill(b, pieceB)
		if err != nil {
			return false, err
		}
		if !bytes.Equal(pieceA[:n], pieceB[:m]) {
			return false, nil
		}
		if n < compareBytes {
			return true, nil
		}
	}
}

// fill reads until the piece is full or the reader at its end.
func fill(r io.Reader, piece []byte) (int, error) {
	n, err := io.ReadFull(r, piece)
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}
