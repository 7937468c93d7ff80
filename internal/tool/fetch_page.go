package tool

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// page is a body that was read and is text.
type page struct {
	// contentType is as the server wrote it, or what the bytes look like.
	contentType string
	media       string
	utf8        string
	// cut says that the body went on.
	cut bool
}

// readPage reads at most so many bytes of a body and decodes them. What is no
// text is refused with its type and size.
func readPage(resp *http.Response, most int64) (page, error) {
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return page{}, sentence(fmt.Sprintf("the page is packed as %s, which can't be read", quoted(coding, 40)))
	}
	p := page{contentType: resp.Header.Get("Content-Type")}
	if p.contentType != "" && !textual(mediaOf(p.contentType)) {
		return page{}, notText(p.contentType, resp.ContentLength)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return page{}, err
	}
	if p.cut = int64(len(raw)) > most; p.cut {
		raw = raw[:most]
	}
	if p.contentType == "" {
		p.contentType = http.DetectContentType(raw)
	}
	if p.media = mediaOf(p.contentType); !textual(p.media) {
		return page{}, notText(p.contentType, sizeOf(raw, p.cut))
	}
	p.contentType = visible(p.contentType)
	p.utf8 = decode(raw, p)
	if strings.ContainsRune(p.utf8, 0) {
		return page{}, sentence(fmt.Sprintf("the page calls itself %s but is no text (%s); nothing of it is shown", quoted(p.media, 100), countOf(int64(len(raw)), "byte")))
	}
	return p, nil
}

// mediaOf returns the type without parameters, in lower case. A type that is
// broken behind its first part still counts as that.
func mediaOf(contentType string) string {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media, _, _ = strings.Cut(contentType, ";")
		media = strings.ToLower(strings.Trim(media, " \t"))
	}
	return media
}

func textual(media string) bool {
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+xml") || slices.Contains([]string{
		"application/json", "application/x-ndjson", "application/xml", "application/javascript", "application/ecmascript",
		"application/yaml", "application/x-yaml", "application/toml", "application/sql", "application/x-sh", "application/x-httpd-php",
	}, media)
}

// isHTML reports whether a page is read by its structure.
func (p page) isHTML() bool { return p.media == "text/html" || p.media == "application/xhtml+xml" }

// text returns what a person would read of the page, which is at u.
func (p page) text(u *url.URL) string {
	if p.isHTML() {
		return readable(p.utf8, u)
	}
	return p.utf8
}

// decode makes UTF-8 of a body: by its byte order mark, by what the server or an
// HTML page says of itself, else as UTF-8 if it is that, else as windows-1252.
func decode(raw []byte, p page) string {
	const unsaid = "windows-1252"
	whole := trimPartial(raw)
	e, name, certain := charset.DetermineEncoding(raw, p.contentType)
	if !certain && (name == unsaid || !p.isHTML()) && utf8.Valid(whole) {
		name = "utf-8"
	}
	if name == "utf-8" {
		return strings.ToValidUTF8(string(bytes.TrimPrefix(whole, []byte("\ufeff"))), "\ufffd")
	}
	decoded, err := e.NewDecoder().Bytes(raw)
	if err != nil {
		return strings.ToValidUTF8(string(raw), "\ufffd")
	}
	return strings.TrimPrefix(string(decoded), "\ufeff")
}

// trimPartial drops a character that a cut has left incomplete.
func trimPartial(raw []byte) []byte {
	for i := 1; i <= min(utf8.UTFMax-1, len(raw)); i++ {
		if last := raw[len(raw)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return raw[:len(raw)-i]
			}
			break
		}
	}
	return raw
}

func sizeOf(raw []byte, cut bool) int64 {
	if cut {
		return -1
	}
	return int64(len(raw))
}

// notText refuses a body of so many bytes, -1 where that is not known.
func notText(contentType string, size int64) error {
	length := "its size is not known"
	if size >= 0 {
		length = countOf(size, "byte")
	}
	return sentence(fmt.Sprintf("the page is of the type %s (%s), which is no text; nothing of it is shown", quoted(contentType, 100), length))
}
