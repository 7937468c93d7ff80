package zulip

import (
	"bytes"
	"context"
	"mime/multipart"
	"net/http"
	"path"
	"strings"

	"verbatim/internal/surface"
)

// upload puts a file on the server and returns the line that shows it. Nobody
// sees a file before a message links to it, so whatever goes wrong here, nothing
// was shown (https://zulip.com/api/upload-file).
func (b *bot) upload(ctx context.Context, f surface.File) (line string, out surface.Outcome) {
	name := plainName(f.Name)
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("filename", name)
	if err == nil {
		_, err = part.Write(f.Data)
	}
	if err == nil {
		err = form.Close()
	}
	var req *http.Request
	if err == nil {
		at := b.site.JoinPath("api", "v1", "user_uploads").String()
		req, err = http.NewRequestWithContext(ctx, http.MethodPost, at, &body)
	}
	if err != nil {
		return "", surface.Outcome{Class: surface.Refused, Detail: "no request can be made of the file " + name}
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	b.sign(req)
	r, out := b.do(req)
	var at string
	switch {
	case out.Class == surface.Refused || r.status == http.StatusRequestEntityTooLarge:
		out.Class = surface.Refused
	case out.Class == surface.Delivered && (r.field("url", &at) == nil || r.field("uri", &at) == nil) && strings.HasPrefix(at, "/user_uploads/"):
		return fileLink(name, at), surface.Outcome{}
	default:
		out.Class = surface.NotTaken
	}
	out.Detail = "the file " + name + " was not taken, so nothing was sent: " + out.Detail
	return "", out
}

// fileLink is how Zulip shows a file.
func fileLink(name, at string) string { return "[" + name + "](" + at + ")" }

// plainName is the last part of a name, without what would end a link.
func plainName(name string) string {
	name = path.Base(strings.ReplaceAll(name, "\\", "/"))
	name = strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune("[]()`*\x7f", r) {
			return '_'
		}
		return r
	}, name)
	if name == "." || name == "/" {
		return "file"
	}
	return name
}
