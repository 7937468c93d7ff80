package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"verbatim/internal/event"
)

type editFile struct{ ws *workspace }

func (editFile) Spec() Spec {
	return Spec{
		Name:        "edit_file",
		Description: `Changes one place of a text file of the workspace: old, which must be in the file exactly once, is replaced by new; nothing else changes. Read the file first and copy old from it exactly, white space and all, with enough lines around it that there is only one such place. To delete text, give an empty new. In a file whose lines end in CRLF, the line breaks of old and new are taken as such. If old is not there, or more than once, nothing is written and you are told what was found. Up to 10 MiB. The result shows the change as a unified diff.`,
		Parameters:  json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"the file, relative to the workspace"},"old":{"type":"string","description":"the text to replace, exactly as it is in the file"},"new":{"type":"string","description":"the text to put there"}},"required":["path","old","new"],"additionalProperties":false}`),
		Risk:        event.RiskMedium,
	}
}

var (
	errNoOld    = errors.New("old is empty; give the text to replace, or use write_file for a whole file")
	errSameText = errors.New("old and new are the same; nothing would change")
)

func (t editFile) Prepare(args json.RawMessage) (Action, error) {
	var p string
	var e edit
	if err := readArguments(args, text("path", &p), text("old", &e.old), text("new", &e.new)); err != nil {
		return Action{}, err
	}
	clean, err := cleanFilePath(p)
	switch {
	case err != nil:
		return Action{}, err
	case e.old == "":
		return Action{}, errNoOld
	case e.old == e.new:
		return Action{}, errSameText
	case len(e.new) > maxWriteBytes:
		return Action{}, tooLargeError(clean, int64(len(e.new)))
	}
	return Action{
		Reason: e.reason(clean),
		Run: func(ctx context.Context, out Output) error {
			return t.ws.alone(ctx, func() error { return t.run(ctx, clean, e, out) })
		},
	}, nil
}

// reason has at most 300 characters: 3 texts of 60 and 15 for each one's
// length, and the words.
func (e edit) reason(p string) string {
	if e.new == "" {
		return fmt.Sprintf("deletes %s from the file %s", quoted(e.old, 100), quoted(p, 100))
	}
	return fmt.Sprintf("changes %s to %s in the file %s", quoted(e.old, 60), quoted(e.new, 60), quoted(p, 60))
}

func (t editFile) run(ctx context.Context, p string, e edit, out Output) error {
	to, err := t.ws.target(p)
	if err != nil {
		return err
	}
	defer to.close()
	before, err := to.text()
	if err != nil {
		return err
	}
	after, err := e.apply(p, before)
	if err != nil {
		return err
	}
	if len(after) > maxWriteBytes {
		return tooLargeError(p, int64(len(after)))
	}
	if err := to.write(ctx, []byte(after)); err != nil {
		return err
	}
	return reportEdit(out, p, before, after)
}

func reportEdit(out Output, p, before, after string) error {
	diff := unifiedDiff(p, []byte(before), []byte(after))
	if diff == "" {
		diff = "the file is too large to show the difference\n"
	}
	_, err := io.WriteString(out, fmt.Sprintf("changed %s: %s, before %s\n%s", visible(p),
		countOf(int64(len(after)), "byte"), countOf(int64(len(before)), "byte"), diff))
	return err
}

// text reads a file that is to be edited.
func (t *target) text() (string, error) {
	f, info, err := openRegular(t.folder, t.name, t.path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info.Size() > maxWriteBytes {
		return "", fmt.Errorf("%s has %s; files up to %s can be edited", visible(t.path), countOf(info.Size(), "byte"), countOf(maxWriteBytes, "byte"))
	}
	var b strings.Builder
	if _, err := io.Copy(&b, io.LimitReader(f, maxWriteBytes)); err != nil {
		return "", pathError(t.path, err)
	}
	if int64(b.Len()) != t.before.Size() {
		return "", changedError(t.path)
	}
	if kind := binaryKind([]byte(b.String())); kind != "" {
		return "", binaryError(t.path, kind, info)
	}
	return b.String(), nil
}
