package chat

import (
	"fmt"
	"strings"

	"verbatim/internal/attachment"
	"verbatim/internal/event"
	"verbatim/internal/llm"
)

// What a file costs in tokens, estimated: an image as providers count one of
// middle size, a document by its bytes.
const (
	imageTokens     = 1_100
	pdfBytesAToken  = 20
	textBytesAToken = 4
)

func filesCost(user *event.UserMessage) int {
	n := 0
	for _, a := range user.Attachments {
		switch {
		case strings.HasPrefix(a.MIME, "image/"):
			n += imageTokens
		case a.MIME == attachment.TypePDF:
			n += int(a.Size)/pdfBytesAToken + messageTokens
		default:
			n += int(min(a.Size, attachment.MaxFoldBytes))/textBytesAToken + messageTokens
		}
	}
	return n
}

// question returns a user message as the model is told of it: its text, its text
// files folded in, its images and documents as bytes. Where one of these does not
// go along a note says so.
func (s *Service) question(user *event.UserMessage, files bool, choice Choice) llm.Message {
	m := llm.Message{Role: llm.RoleUser, Text: user.Text}
	for _, a := range user.Attachments {
		if !files {
			m.Text = folded(m.Text, fmt.Sprintf("[The file %q came with this message; it is not sent again, because the conversation has grown too long.]", a.Name))
			continue
		}
		data, err := s.opt.Blobs.Read(a.Blob, attachment.MaxBytes)
		var f attachment.File
		if err == nil {
			f, err = attachment.Inspect(a.Name, data)
		}
		switch {
		case err != nil:
			// The conversation must go on without it, now and later.
			s.opt.Logger.Error("read a file of a message", "message", user.Message, "blob", a.Blob, "err", err)
			m.Text = folded(m.Text, fmt.Sprintf("[The file %q came with this message; it can't be read any more.]", a.Name))
		case f.Kind == attachment.KindText:
			m.Text = folded(m.Text, attachment.Fold(f))
		case choice.TextOnly:
			m.Text = folded(m.Text, fmt.Sprintf("[The file %q (%s) came with this message; this model takes text only, so it was not sent.]", a.Name, a.MIME))
		default:
			m.Files = append(m.Files, llm.File{Name: a.Name, MIME: a.MIME, Data: data})
		}
	}
	return m
}

func folded(text, more string) string {
	if text == "" {
		return more
	}
	return text + "\n\n" + more
}
