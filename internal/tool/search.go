package tool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// The bounds of a line: how much of one is searched, and how much is shown.
const (
	maxLineBytes = 64 << 10
	maxLineRunes = 300
)

// errEnough ends a search that has found as much as it may.
var errEnough = errors.New("enough was found")

// search is one search_files at work.
type search struct {
	ws      *workspace
	walk    walk
	pattern pattern
	out     Output
	found   int
	files   int
	binary  []string
	long    int // lines over maxLineBytes
	notes   []string
}

// file searches one file: its name, then its lines.
func (s *search) file(ctx context.Context, p string) error {
	s.files++
	if s.pattern.matchesName(p) {
		if err := s.result("%s\n", visible(p)); err != nil {
			return err
		}
	}
	f, _, err := s.ws.openFile(p)
	if err != nil {
		s.walk.miss(err)
		return nil
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 64<<10)
	head, err := r.Peek(sniffBytes)
	if err != nil && err != io.EOF {
		s.walk.miss(pathError(p, err))
		return nil
	}
	if binaryKind(head) != "" {
		s.binary = append(s.binary, visible(p))
		return nil
	}
	return s.lines(ctx, p, r)
}

func (s *search) lines(ctx context.Context, p string, r *bufio.Reader) error {
	var line []byte
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return errStopped
		}
		var err error
		line, err = readLine(r, line[:0])
		if len(line) == maxLineBytes {
			s.long++
		}
		if len(line) > 0 {
			if err := s.line(p, n, bytes.TrimRight(line, "\r\n")); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			s.walk.miss(pathError(p, err))
			return nil
		}
	}
}

// readLine appends a line to dst with its line break. Of a line over
// maxLineBytes the rest is read and dropped.
func readLine(r *bufio.Reader, dst []byte) ([]byte, error) {
	for {
		piece, err := r.ReadSlice('\n')
		dst = append(dst, piece[:min(len(piece), maxLineBytes-min(len(dst), maxLineBytes))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return dst, err
		}
	}
}

func (s *search) line(p string, n int, line []byte) error {
	at := s.pattern.re.FindIndex(line)
	if at == nil {
		return nil
	}
	return s.result("%s:%d: %s\n", visible(p), n, aroundMatch(line, at[0]))
}

func (s *search) result(format string, args ...any) error {
	if s.found == maxFound {
		return errEnough
	}
	s.found++
	_, err := fmt.Fprintf(s.out, format, args...)
	return err
}

// aroundMatch cuts a long line, keeping what is around the byte at.
func aroundMatch(line []byte, at int) string {
	if utf8.RuneCount(line) <= maxLineRunes {
		return string(line)
	}
	from := at
	for range maxLineRunes / 3 {
		_, size := utf8.DecodeLastRune(line[:from])
		from -= size
	}
	to := from
	for range maxLineRunes {
		_, size := utf8.DecodeRune(line[to:])
		to += size
	}
	cut := string(line[from:to])
	if from > 0 {
		cut = "…" + cut
	}
	if to < len(line) {
		cut += "…"
	}
	return cut
}
