package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
)

// lines reads a file line by line, and keeps the hashes of the whole and of the
// conversation.
type lines struct {
	in           *bufio.Reader
	number       int // of the line that peek returns, from 1
	line         []byte
	held         bool
	whole, piece hash.Hash
}

func newLines(in *bufio.Reader) *lines {
	return &lines{in: in, whole: sha256.New(), piece: sha256.New()}
}

// peek returns the next line without its end, the same one until it is taken;
// it is valid until then. io.EOF after the last; ErrCut for one without an end or
// one that is too long.
func (l *lines) peek() ([]byte, error) {
	if l.held {
		return l.line, nil
	}
	l.line = l.line[:0]
	l.number++
	for {
		piece, err := l.in.ReadSlice('\n')
		l.line = append(l.line, piece...)
		switch {
		case len(l.line) > MaxLine:
			return nil, fmt.Errorf("%w: line %d has more than %d bytes", ErrCut, l.number, MaxLine)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(l.line) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%w: line %d has no end", ErrCut, l.number)
		case err != nil:
			return nil, fmt.Errorf("read the file: %w", err)
		}
		l.line, l.held = bytes.TrimSuffix(l.line, []byte("\n")), true
		return l.line, nil
	}
}

// take goes on behind the line that peek returned.
func (l *lines) take() {
	for _, h := range []hash.Hash{l.whole, l.piece} {
		h.Write(l.line)
		h.Write([]byte("\n"))
	}
	l.held = false
}

// errBlob means that a blob of the file is not what the file says it is.
var errBlob = errors.New("a blob of the file is damaged")

// blobReader reads the data lines of a blob.
type blobReader struct {
	lines *lines
	rest  []byte
	left  int64
	want  string
	hash  hash.Hash
}

func newBlobReader(l *lines, b blobLine) *blobReader {
	return &blobReader{lines: l, left: b.Size, want: b.SHA256, hash: sha256.New()}
}

// Read gives the blob, and errBlob in place of its end if it is not whole.
func (b *blobReader) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		more, err := b.next()
		if err != nil {
			return 0, err
		}
		if !more {
			return 0, b.end()
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *blobReader) next() (more bool, err error) {
	line, err := b.lines.peek()
	if errors.Is(err, io.EOF) {
		return false, ErrCut
	}
	if err != nil || !isLine(line, "data") {
		return false, err
	}
	var d dataLine
	ok := readLine(line, &d)
	b.lines.take()
	b.left -= int64(len(d.Data))
	if !ok || len(d.Data) == 0 || len(d.Data) > chunkBytes || b.left < 0 {
		return false, errBlob
	}
	b.rest = d.Data
	b.hash.Write(d.Data)
	return true, nil
}

func (b *blobReader) end() error {
	if b.left != 0 || hexSum(b.hash) != b.want {
		return errBlob
	}
	return io.EOF
}

// drain takes the data lines that are left.
func (b *blobReader) drain() error {
	for {
		line, err := b.lines.peek()
		if errors.Is(err, io.EOF) {
			return ErrCut
		}
		if err != nil {
			return err
		}
		if !isLine(line, "data") {
			return nil
		}
		b.lines.take()
	}
}
