package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"strconv"
	"strings"

	"verbatim/internal/surface"
)

const (
	// maxAlbum is how many files a message has at most:
	// https://core.telegram.org/bots/api#sendmediagroup.
	maxAlbum = 10
	// maxPhotoBytes is the largest picture that Telegram takes as one:
	// https://core.telegram.org/bots/api#sendphoto. A larger one is a document.
	maxPhotoBytes = 10_000_000
)

// albumItem is a file of an album; its media names a part of the request.
type albumItem struct {
	Type      string `json:"type"`
	Media     string `json:"media"`
	Caption   string `json:"caption,omitempty"`
	ParseMode string `json:"parse_mode,omitempty"`
}

// sendFiles makes one request of a post with files.
func (b *bot) sendFiles(ctx context.Context, s sending, p surface.Post) surface.Outcome {
	switch {
	case len(p.Files) > maxAlbum:
		return surface.Outcome{Class: surface.Refused, Detail: fmt.Sprintf("a message of Telegram has at most %d files, this has %d", maxAlbum, len(p.Files))}
	case len(p.Files) > 1 && s.Keyboard != nil:
		return surface.Outcome{Class: surface.Refused, Detail: "an album of Telegram has no buttons"}
	}
	method, contentType, body, err := upload(s, p.Files)
	if err != nil {
		return surface.Outcome{Class: surface.Refused, Detail: "no request can be made of these files"}
	}
	return sent(b.api.post(ctx, method, contentType, body), p)
}

// upload makes the request for one file, or for an album: of pictures if all are
// some, else of documents, since Telegram does not mix them.
func upload(s sending, files []surface.File) (method, contentType string, body []byte, err error) {
	var b bytes.Buffer
	form := &fields{form: multipart.NewWriter(&b)}
	form.target(s)
	kind := kindOf(files)
	if len(files) == 1 {
		method = map[string]string{"photo": "sendPhoto", "document": "sendDocument"}[kind]
		form.text("caption", s.Caption)
		form.text("parse_mode", s.ParseMode)
		if s.Keyboard != nil {
			form.json("reply_markup", s.Keyboard)
		}
		form.file(kind, files[0])
	} else {
		method = "sendMediaGroup"
		items := make([]albumItem, len(files))
		for i, f := range files {
			part := "file" + strconv.Itoa(i)
			items[i] = albumItem{Type: kind, Media: "attach://" + part}
			form.file(part, f)
		}
		items[0].Caption, items[0].ParseMode = s.Caption, s.ParseMode
		form.json("media", items)
	}
	form.keep(form.form.Close())
	return method, form.form.FormDataContentType(), b.Bytes(), form.err
}

func kindOf(files []surface.File) string {
	for _, f := range files {
		switch f.MIME {
		case "image/jpeg", "image/png", "image/webp":
			if len(f.Data) <= maxPhotoBytes {
				continue
			}
		}
		return "document"
	}
	return "photo"
}

// fields writes a form and keeps its first error.
type fields struct {
	form *multipart.Writer
	err  error
}

func (f *fields) keep(err error) {
	if f.err == nil {
		f.err = err
	}
}

func (f *fields) target(s sending) {
	f.text("chat_id", strconv.FormatInt(s.Chat, 10))
	if s.Thread != 0 {
		f.text("message_thread_id", strconv.FormatInt(s.Thread, 10))
	}
	if s.Reply != nil {
		f.json("reply_parameters", s.Reply)
	}
}

// text leaves out what is empty.
func (f *fields) text(name, value string) {
	if value != "" {
		f.keep(f.form.WriteField(name, value))
	}
}

func (f *fields) json(name string, value any) {
	raw, err := json.Marshal(value)
	f.keep(err)
	f.text(name, string(raw))
}

func (f *fields) file(name string, file surface.File) {
	part, err := f.form.CreateFormFile(name, fileName(file.Name))
	f.keep(err)
	if err == nil {
		_, err = part.Write(file.Data)
		f.keep(err)
	}
}

// fileName keeps a name on the one line of its header.
func fileName(name string) string {
	name = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7F {
			return '_'
		}
		return c
	}, name)
	if name == "" {
		return "file"
	}
	return name
}
