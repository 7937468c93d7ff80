package tool

import (
	"bytes"
	"net/http"
	"strings"
	"unicode/utf8"
)

// sniffBytes is how much of a file's beginning tells whether it is text.
const sniffBytes = 8 << 10

// binaryKind says what data is that is no text, and "" for text. Text in an
// old 8-bit encoding counts as text.
func binaryKind(data []byte) string {
	if bytes.HasPrefix(data, []byte("%PDF-")) {
		return "a PDF document"
	}
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return "text in UTF-16"
	}
	if bytes.IndexByte(data, 0) < 0 && strange(data) <= len(data)/8 {
		return ""
	}
	// A signature only gives a name to what is no text: "BM" begins pictures
	// and sentences.
	switch kind, _, _ := strings.Cut(http.DetectContentType(data), ";"); {
	case strings.HasPrefix(kind, "text/") || kind == "application/octet-stream":
		return "binary data"
	case strings.HasPrefix(kind, "image/"):
		return "an image (" + kind + ")"
	default:
		return "binary data (" + kind + ")"
	}
}

// strange counts the bytes that text in UTF-8 doesn't have.
func strange(data []byte) int {
	n := 0
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		cut := r == utf8.RuneError && size == 1 && !utf8.FullRune(data[i:])
		if !cut && (r == utf8.RuneError && size == 1 || r < ' ' && !strings.ContainsRune("\t\n\v\f\r\b\x1b", r)) {
			n++
		}
		i += size
	}
	return n
}
