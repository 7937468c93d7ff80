package webhook

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"verbatim/internal/surface"
)

const (
	// maxFiles is how many files a message has at most.
	maxFiles = 5
	// maxFileBytes is the longest file.
	maxFileBytes = 2 << 20
	// maxHeadBytes bounds what stands before the comma of a data: URL.
	maxHeadBytes = 512
)

// files returns what attachments holds: a list of {"name", "url"} with a data:
// URL, or {"name", "text"}. One file that can't be taken refuses the message, so
// that its sender knows.
func (f *fields) files() []surface.File {
	value, ok := f.all["attachments"]
	if !ok || value == nil {
		return nil
	}
	list, ok := value.([]any)
	switch {
	case !ok:
		f.fail(invalid("attachments must be a list"))
	case len(list) > maxFiles:
		f.fail(&problem{http.StatusRequestEntityTooLarge, fmt.Sprintf("there are %d attachments, and at most %d can be taken; nothing was taken", len(list), maxFiles)})
	default:
		return f.each(list)
	}
	return nil
}

func (f *fields) each(list []any) []surface.File {
	var out []surface.File
	for i, item := range list {
		file, err := fileOf(item, i)
		if err != nil {
			f.fail(err)
			return nil
		}
		out = append(out, file)
	}
	return out
}

func fileOf(item any, i int) (surface.File, error) {
	m, _ := item.(map[string]any)
	name, named := m["name"].(string)
	address, isURL := m["url"].(string)
	text, isText := m["text"].(string)
	if !named || name == "" || len(name) > maxNameBytes || isURL == isText {
		return surface.File{}, invalid(`attachments[%d] must be {"name", "url"} with a data: URL, or {"name", "text"}`, i)
	}
	file := surface.File{Name: name, MIME: "text/plain", Data: []byte(text)}
	if isURL {
		var ok bool
		if file.MIME, file.Data, ok = dataURL(address); !ok {
			return surface.File{}, invalid("the url of attachments[%d] is not a data: URL that can be read", i)
		}
	}
	if len(file.Data) > maxFileBytes {
		return surface.File{}, &problem{http.StatusRequestEntityTooLarge, fmt.Sprintf("attachments[%d] is larger than 2 MiB; nothing was taken", i)}
	}
	return file, nil
}

// dataURL returns what a data: URL holds and the type that it claims, without
// parameters; text/plain if it claims none.
func dataURL(address string) (kind string, data []byte, ok bool) {
	const scheme = "data:"
	if len(address) < len(scheme) || !strings.EqualFold(address[:len(scheme)], scheme) {
		return "", nil, false
	}
	rest := address[len(scheme):]
	comma := strings.IndexByte(rest[:min(len(rest), maxHeadBytes)], ',')
	if comma < 0 {
		return "", nil, false
	}
	head, inBase64 := cutSuffixFold(rest[:comma], ";base64")
	text, err := url.PathUnescape(rest[comma+1:])
	if err != nil {
		return "", nil, false
	}
	data = []byte(text)
	if inBase64 {
		if data, err = base64.StdEncoding.DecodeString(text); err != nil {
			return "", nil, false
		}
	}
	kind, _, _ = strings.Cut(head, ";")
	if kind == "" {
		kind = "text/plain"
	}
	return strings.ToLower(kind), data, true
}

func cutSuffixFold(s, suffix string) (string, bool) {
	if cut := len(s) - len(suffix); cut >= 0 && strings.EqualFold(s[cut:], suffix) {
		return s[:cut], true
	}
	return s, false
}
