package sse

import (
	"fmt"
	"io"
)

// WriteReference writes the table of the eleven events as Markdown, for the
// reference page.
func WriteReference(w io.Writer) error {
	for _, event := range Table() {
		if err := event.writeReference(w); err != nil {
			return err
		}
	}
	return nil
}

func (e Wire) writeReference(w io.Writer) error {
	end := ""
	if e.Terminal {
		end = " Nothing follows it."
	}
	if _, err := fmt.Fprintf(w, "#### `%s`\n\n%s%s\n\n| field | type | | what it is |\n|---|---|---|---|\n", e.Name, e.Doc, end); err != nil {
		return err
	}
	for _, f := range e.Fields {
		if _, err := fmt.Fprintf(w, "| `%s` | %s | %s | %s |\n", f.Name, f.Type, f.rank(), f.Doc); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

func (f WireField) rank() string {
	switch {
	case f.Basic:
		return "always"
	case f.Optional:
		return "extra, at times"
	}
	return "extra"
}
