package archive

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"hash"
	"io"
)

// writer writes lines and keeps the hashes of the whole and of the conversation.
type writer struct {
	out          *bufio.Writer
	whole, piece hash.Hash
}

func newWriter(w io.Writer) *writer {
	return &writer{out: bufio.NewWriterSize(w, 64<<10), whole: sha256.New(), piece: sha256.New()}
}

func (w *writer) json(line any) error {
	b, err := json.Marshal(line)
	if err != nil {
		return err
	}
	return w.line(b)
}

func (w *writer) line(b []byte) error {
	b = append(b, '\n')
	w.whole.Write(b)
	w.piece.Write(b)
	_, err := w.out.Write(b)
	return err
}
