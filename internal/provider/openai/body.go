package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	"verbatim/internal/llm"
)

// body is a request as it grows. A file of it is there once: encoded straight
// into the buffer.
type body struct {
	*bytes.Buffer
	// err is the first that came up; what follows it does not count.
	err error
}

// estimate returns about how many bytes a request takes, so that its files are
// not copied as it grows.
func estimate(req llm.Request) int {
	const around = 256
	n := 4<<10 + len(req.System)
	for _, m := range req.Messages {
		n += around + len(m.Text) + len(m.Text)/8
		for _, c := range m.Calls {
			n += around + len(c.Args) + len(c.Args)/4
		}
		for _, f := range m.Files {
			n += around + base64.StdEncoding.EncodedLen(len(f.Data))
		}
	}
	return n
}

// json writes a value. Text stays as it is but for what JSON must escape.
func (b *body) json(v any) {
	e := json.NewEncoder(b.Buffer)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		if b.err == nil {
			b.err = err
		}
		return
	}
	b.Truncate(b.Len() - 1) // the line feed that the encoder adds
}

// members writes the members of an object and its end.
func (b *body) members(v any) {
	at := b.Len()
	b.json(v)
	if b.err == nil {
		copy(b.Bytes()[at:], b.Bytes()[at+1:])
		b.Truncate(b.Len() - 1)
	}
}

// messages writes the instruction and the messages, each call with its result.
func (b *body) messages(req llm.Request) {
	h := newHistory(req.Messages)
	comma := ""
	write := func(m message, files []llm.File) {
		b.WriteString(comma)
		comma = ","
		if len(files) > 0 {
			b.withFiles(m, files)
			return
		}
		b.json(m)
	}
	if req.System != "" {
		write(message{Role: "system", Content: &req.System}, nil)
	}
	for _, m := range req.Messages {
		switch m.Role {
		case llm.RoleAssistant:
			for _, out := range h.round(m) {
				write(out, nil)
			}
		case llm.RoleTool: // was written after its call
		case llm.RoleUser:
			write(message{Role: string(m.Role), Content: &m.Text}, m.Files)
		}
	}
}

// withFiles writes a message as a list of parts: its files, then its text where it
// has any.
func (b *body) withFiles(m message, files []llm.File) {
	b.WriteString(`{"role":`)
	b.json(m.Role)
	b.WriteString(`,"content":[`)
	for i, f := range files {
		if i > 0 {
			b.WriteByte(',')
		}
		b.file(f)
	}
	if *m.Content != "" {
		b.WriteString(`,{"type":"text","text":`)
		b.json(*m.Content)
		b.WriteByte('}')
	}
	b.WriteString("]}")
}

func (b *body) file(f llm.File) {
	if strings.HasPrefix(f.MIME, "image/") {
		b.WriteString(`{"type":"image_url","image_url":{"url":`)
		b.dataURL(f)
		b.WriteString("}}")
		return
	}
	b.WriteString(`{"type":"file","file":{"filename":`)
	b.json(f.Name)
	b.WriteString(`,"file_data":`)
	b.dataURL(f)
	b.WriteString("}}")
}

// dataURL writes a file as the string of a data: URL. Nothing in it needs an
// escape.
func (b *body) dataURL(f llm.File) {
	b.WriteString(`"data:` + plainMIME(f.MIME) + `;base64,`)
	b.Grow(base64.StdEncoding.EncodedLen(len(f.Data)))
	b.Write(base64.StdEncoding.AppendEncode(b.AvailableBuffer(), f.Data))
	b.WriteByte('"')
}

// plainMIME drops what can't stand in a type.
func plainMIME(mime string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f && r != '"' && r != '\\' && r != ',' && r != ';' {
			return r
		}
		return -1
	}, mime)
}
