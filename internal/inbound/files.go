package inbound

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"verbatim/internal/attachment"
	"verbatim/internal/chat"
	"verbatim/internal/event"
	"verbatim/internal/surface"
)

// content is what of a message goes on, and what is told about the rest.
type content struct {
	text  string
	files []event.Attachment
	// refused are lines about what was not taken.
	refused []string
}

func (c content) empty() bool { return len(c.files) == 0 && blank(c.text) }

func blank(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !unicode.IsSpace(r) }) < 0
}

// look decides what of a message goes on, and keeps its files. Those of a message
// that can't be stored afterwards belong to nothing and are swept at the next
// start.
func (in *Inbox) look(ctx context.Context, m surface.Message) (content, error) {
	c := content{text: m.Text, refused: m.Refused}
	switch {
	case len(m.Text) > chat.MaxPromptBytes:
		c.text, c.refused = "", append(c.refused, "the text, which is longer than 1 MiB; send a shorter one")
	case !utf8.ValidString(m.Text):
		c.text, c.refused = "", append(c.refused, "the text, which is not valid UTF-8")
	}
	for _, f := range m.Files {
		if len(c.files) == attachment.MaxFiles {
			c.refused = append(c.refused, fmt.Sprintf("%s: a message takes at most %d files; send it with the next one", quoted(attachment.CleanName(f.Name)), attachment.MaxFiles))
			continue
		}
		kept, err := in.keep(ctx, f, len(c.files)+1)
		if refusal, ok := errors.AsType[*attachment.Refusal](err); ok {
			c.refused = append(c.refused, quoted(refusal.Name)+" "+refusal.Reason)
			continue
		}
		if err != nil {
			return content{}, err
		}
		c.files = append(c.files, kept)
	}
	return c, nil
}

func (in *Inbox) keep(ctx context.Context, f surface.File, number int) (event.Attachment, error) {
	file, err := attachment.Inspect(f.Name, f.Data)
	if err != nil {
		return event.Attachment{}, err
	}
	blob, err := in.opt.Blobs.Put(ctx, file.Data)
	if err != nil {
		return event.Attachment{}, fmt.Errorf("keep the file %q: %w", file.Name, err)
	}
	return event.Attachment{ID: fileID(number), Name: file.Name, MIME: file.MIME, Size: int64(len(file.Data)), Blob: blob}, nil
}

func fileID(number int) string { return fmt.Sprintf("f%d", number) }

// told is what a person reads about the parts that were not taken.
func (c content) told() string {
	if len(c.refused) == 0 {
		return ""
	}
	head := "Not taken of this message; the rest was:"
	if c.empty() {
		head = "Nothing of this message was taken:"
	}
	return head + "\n- " + strings.Join(c.refused, "\n- ")
}
