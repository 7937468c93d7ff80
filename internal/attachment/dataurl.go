package attachment

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// What callers of ParseDataURL branch on.
var (
	// ErrDataURL means that it is no data: URL.
	ErrDataURL = errors.New("not a data: URL")
	// ErrTooLarge means that it holds more than MaxBytes.
	ErrTooLarge = errors.New("larger than 2 MiB")
)

// maxHeadBytes bounds what stands before the comma.
const maxHeadBytes = 512

// ParseDataURL returns what a data: URL holds, at most MaxBytes, and the type it
// claims, in lower case and without parameters; one that claims none is
// text/plain. What follows the comma is either base64 of the usual alphabet with
// all its padding, or characters and %XX for bytes. Line breaks and other control
// characters, and a raw #, which would begin a fragment, are errors. An error is
// ErrDataURL or ErrTooLarge and says where it is wrong.
func ParseDataURL(url string) (mime string, data []byte, err error) {
	const scheme = "data:"
	if len(url) < len(scheme) || !strings.EqualFold(url[:len(scheme)], scheme) {
		return "", nil, fmt.Errorf("%w: data: is not how it begins", ErrDataURL)
	}
	rest := url[len(scheme):]
	comma := strings.IndexByte(rest[:min(len(rest), maxHeadBytes)], ',')
	if comma < 0 {
		return "", nil, fmt.Errorf("%w: no comma within its first %d bytes", ErrDataURL, maxHeadBytes)
	}
	mime, inBase64, err := parseHead(rest[:comma])
	if err != nil {
		return "", nil, err
	}
	body := rest[comma+1:]
	if len(body) > longestBody {
		return "", nil, ErrTooLarge
	}
	if !inBase64 || strings.IndexByte(body, '%') >= 0 {
		data, err = unescape(body)
	} else {
		data = []byte(body)
	}
	if err == nil && inBase64 {
		data, err = decodeBase64(data)
	}
	switch {
	case err != nil:
		return "", nil, err
	case len(data) > MaxBytes:
		return "", nil, ErrTooLarge
	}
	return mime, data, nil
}

// longestBody is the longest form of MaxBytes: each byte escaped, which is more
// than base64 takes.
const longestBody = 3 * MaxBytes

// parseHead reads what stands between data: and the comma.
func parseHead(head string) (mime string, inBase64 bool, err error) {
	params := strings.Split(head, ";")
	last := len(params) - 1
	if last > 0 && strings.EqualFold(strings.Trim(params[last], " "), "base64") {
		inBase64, params = true, params[:last]
	}
	mime = strings.ToLower(params[0])
	if mime == "" {
		return TypeText, inBase64, nil
	}
	kind, sub, ok := strings.Cut(mime, "/")
	if !ok || !token(kind) || !token(sub) {
		return "", false, fmt.Errorf("%w: %q is no type of a file", ErrDataURL, params[0])
	}
	return mime, inBase64, nil
}

// token reports whether s can be a half of a type's name.
func token(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !latin(rune(c)) && !digit(c) && strings.IndexByte("!#$&-^_.+", c) < 0 {
			return false
		}
	}
	return s != ""
}

// unescape resolves %XX.
func unescape(s string) ([]byte, error) {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '%':
			if i+2 >= len(s) {
				return nil, fmt.Errorf("%w: it ends within a %%XX", ErrDataURL)
			}
			high, low := hexDigit(s[i+1]), hexDigit(s[i+2])
			if high < 0 || low < 0 {
				return nil, fmt.Errorf("%w: %q at byte %d of its content is no %%XX", ErrDataURL, s[i:i+3], i)
			}
			out = append(out, byte(high<<4|low))
			i += 2
		case c < ' ' || c == 0x7f || c == '#':
			return nil, fmt.Errorf("%w: byte %d of its content must be written as %%%02X", ErrDataURL, i, c)
		default:
			out = append(out, c)
		}
	}
	return out, nil
}

func hexDigit(c byte) int {
	switch {
	case digit(c):
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// decodeBase64 decodes in place.
func decodeBase64(text []byte) ([]byte, error) {
	if bytes.ContainsAny(text, "\r\n") { // which the decoder would pass over
		return nil, fmt.Errorf("%w: its base64 has line breaks", ErrDataURL)
	}
	n, err := base64.StdEncoding.Strict().Decode(text, text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDataURL, err)
	}
	return text[:n:n], nil
}
