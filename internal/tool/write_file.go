package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"

	"verbatim/internal/event"
)

// maxWriteBytes is the largest file that is written or edited.
const maxWriteBytes = 10 << 20

type writeFile struct{ ws *workspace }

func (writeFile) Spec() Spec {
	return Spec{
		Name:        "write_file",
		Description: `Writes a whole text file of the workspace, in place of what was there, and creates the folders it needs. The content is written exactly as given: nothing is added, also no line break at the end. Use it for new files and for files that change altogether; to change a part of a file use edit_file. Up to 10 MiB. A link is not written through, and a file that may only be read is refused. The result says whether the file is new, and how it changed.`,
		Parameters:  json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"the file, relative to the workspace"},"content":{"type":"string","description":"all of the file"}},"required":["path","content"],"additionalProperties":false}`),
		Risk:        event.RiskMedium,
	}
}

func (t writeFile) Prepare(args json.RawMessage) (Action, error) {
	var p, content string
	if err := readArguments(args, text("path", &p), text("content", &content)); err != nil {
		return Action{}, err
	}
	clean, err := cleanFilePath(p)
	if err != nil {
		return Action{}, err
	}
	if len(content) > maxWriteBytes {
		return Action{}, tooLargeError(clean, int64(len(content)))
	}
	return Action{
		Reason: t.reason(clean, len(content)),
		Run: func(ctx context.Context, out Output) error {
			return t.ws.alone(ctx, func() error { return t.run(ctx, clean, content, out) })
		},
	}, nil
}

// reason says what is there at the time of asking; only people read it.
func (t writeFile) reason(p string, size int) string {
	what := "writes " + countOf(int64(size), "byte") + " to "
	info, err := t.ws.root.Lstat(p)
	if err != nil {
		return what + "a new file " + quoted(p, 160)
	}
	return what + quoted(p, 160) + " in place of " + countOf(info.Size(), "byte")
}

func tooLargeError(p string, size int64) error {
	return fmt.Errorf("%s would have %s; the most is %s; nothing was written", visible(p), countOf(size, "byte"), countOf(maxWriteBytes, "byte"))
}

func (t writeFile) run(ctx context.Context, p, content string, out Output) error {
	if err := t.ws.root.MkdirAll(path.Dir(p), 0o777); err != nil {
		return pathError(path.Dir(p), err)
	}
	to, err := t.ws.target(p)
	if err != nil {
		return err
	}
	defer to.close()
	before, known := to.content()
	if err := to.write(ctx, []byte(content)); err != nil {
		return err
	}
	_, err = io.WriteString(out, t.report(to, before, known, content))
	return err
}

func (t writeFile) report(to *target, before []byte, known bool, content string) string {
	name, size := visible(to.path), countOf(int64(len(content)), "byte")
	if to.before == nil {
		return fmt.Sprintf("wrote %s, a new file of %s\n", name, size)
	}
	said := fmt.Sprintf("wrote %s: %s in place of %s\n", name, size, countOf(to.before.Size(), "byte"))
	if !known {
		return said
	}
	if string(before) == content {
		return said + "the content is the same as before\n"
	}
	return said + unifiedDiff(to.path, before, []byte(content))
}
