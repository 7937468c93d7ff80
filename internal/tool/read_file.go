package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"

	"verbatim/internal/event"
)

// maxReadBytes is how much of a file read_file reads.
const maxReadBytes = 1 << 20

type readFile struct{ ws *workspace }

func (readFile) Spec() Spec {
	return Spec{
		Name:        "read_file",
		Description: `Reads a text file of the workspace, exactly as it is, without line numbers. Read a file before you edit it. Of a long output you see the end (20,000 characters, 2,000 lines) and are told what is missing; of a file over 1 MiB only the last 1 MiB is read: to find a place in a long file, call search_files. Images, PDF documents and other binary files are refused with their kind and size.`,
		Parameters:  json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"the file, relative to the workspace"}},"required":["path"],"additionalProperties":false}`),
		Risk:        event.RiskLow,
		ReadOnly:    true,
	}
}

func (t readFile) Prepare(args json.RawMessage) (Action, error) {
	var p string
	if err := readArguments(args, text("path", &p)); err != nil {
		return Action{}, err
	}
	clean, err := cleanPath(p)
	if err != nil {
		return Action{}, err
	}
	return Action{
		Reason: "reads the file " + quoted(clean, 200),
		Run:    func(_ context.Context, out Output) error { return t.run(clean, out) },
	}, nil
}

func (t readFile) run(p string, out Output) error {
	f, info, err := t.ws.openFile(p)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := mustBeText(f, info, p); err != nil {
		return err
	}
	left := max(0, info.Size()-maxReadBytes)
	content, err := io.ReadAll(io.LimitReader(io.NewSectionReader(f, left, maxReadBytes), maxReadBytes))
	if err != nil {
		return pathError(p, err)
	}
	if kind := binaryKind(content); kind != "" {
		return binaryError(p, kind, info)
	}
	if left > 0 {
		content, left = fromNextLine(content, left)
	}
	return writeContent(out, content, left, info.Size())
}

// mustBeText looks at the beginning of a file, where a signature is.
func mustBeText(f *os.File, info fs.FileInfo, p string) error {
	head := make([]byte, sniffBytes)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return pathError(p, err)
	}
	if kind := binaryKind(head[:n]); kind != "" {
		return binaryError(p, kind, info)
	}
	return nil
}

func binaryError(p, kind string, info fs.FileInfo) error {
	return fmt.Errorf("%s is %s of %s, not text; it can't be read here", visible(p), kind, countOf(info.Size(), "byte"))
}

// fromNextLine leaves out the line in whose middle content begins, or the
// character if there is no other line. left is what is left out before.
func fromNextLine(content []byte, left int64) ([]byte, int64) {
	n := bytes.IndexByte(content, '\n') + 1
	if n == 0 {
		for n < min(len(content), utf8.UTFMax-1) && !utf8.RuneStart(content[n]) {
			n++
		}
	}
	return content[n:], left + int64(n)
}

func writeContent(out Output, content []byte, left, size int64) error {
	if _, err := out.Write(content); err != nil {
		return err
	}
	if left == 0 {
		return nil
	}
	// At the end, because the beginning of a long output is not shown.
	note := fmt.Sprintf("[the file has %s; its first %s were not read]\n", countOf(size, "byte"), countOf(left, "byte"))
	if !bytes.HasSuffix(content, []byte("\n")) {
		note = "\n" + note
	}
	_, err := io.WriteString(out, note)
	return err
}
