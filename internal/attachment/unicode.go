package attachment

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const byteOrderMark = "\ufeff"

// decodeUnicode decodes text in UTF-8, or in the encoding that its byte order
// mark says. The mark is dropped. It refuses what is not wholly text.
func decodeUnicode(data []byte) (string, bool) {
	var text string
	var ok bool
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe\x00\x00")) && len(data)%4 == 0:
		text, ok = decode32(data[4:], binary.LittleEndian)
	case bytes.HasPrefix(data, []byte("\x00\x00\xfe\xff")):
		text, ok = decode32(data[4:], binary.BigEndian)
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		text, ok = decode16(data[2:], binary.LittleEndian)
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		text, ok = decode16(data[2:], binary.BigEndian)
	case bytes.Contains(data, []byte("\x1b$")):
		if text, ok = decodeEscaped(data); ok {
			return text, true
		}
		fallthrough
	default:
		if ok = utf8.Valid(data); ok {
			text = strings.TrimPrefix(string(data), byteOrderMark)
		}
	}
	if !ok || binaryIn(text) {
		return "", false
	}
	return text, true
}

// decode16 decodes UTF-16 and refuses halves of pairs.
func decode16(data []byte, order binary.ByteOrder) (string, bool) {
	if len(data)%2 != 0 {
		return "", false
	}
	var text strings.Builder
	text.Grow(len(data))
	for ; len(data) > 0; data = data[2:] {
		r := rune(order.Uint16(data))
		if utf16.IsSurrogate(r) {
			if len(data) < 4 {
				return "", false
			}
			r = utf16.DecodeRune(r, rune(order.Uint16(data[2:])))
			if r == utf8.RuneError {
				return "", false
			}
			data = data[2:]
		}
		text.WriteRune(r)
	}
	return text.String(), true
}

func decode32(data []byte, order binary.ByteOrder) (string, bool) {
	if len(data)%4 != 0 {
		return "", false
	}
	var text strings.Builder
	text.Grow(len(data))
	for ; len(data) > 0; data = data[4:] {
		r := order.Uint32(data)
		if r > unicode.MaxRune || !utf8.ValidRune(rune(r)) {
			return "", false
		}
		text.WriteRune(rune(r))
	}
	return text.String(), true
}

// decodeBare16 decodes UTF-16 without a mark where it is plain to see: every
// other byte is zero at least half of the time, and never one between.
func decodeBare16(data []byte) (string, bool) {
	if len(data) < 4 || len(data)%2 != 0 {
		return "", false
	}
	var zeros [2]int
	for i, b := range data {
		if b == 0 {
			zeros[i%2]++
		}
	}
	order, n := binary.ByteOrder(binary.LittleEndian), zeros[1]
	if zeros[0] > 0 {
		order, n = binary.BigEndian, zeros[0]
	}
	if min(zeros[0], zeros[1]) > 0 || 4*n < len(data) {
		return "", false
	}
	text, ok := decode16(data, order)
	if !ok || binaryIn(text) || !graphic([]byte(text)) {
		return "", false
	}
	return text, true
}

// binaryIn reports whether s has a control character that no text has. Those of
// terminals are text: escape, bell, backspace, and the end mark of old systems
// at the very end.
func binaryIn(s string) bool {
	const endMark = "\x1a"
	return strings.IndexFunc(strings.TrimSuffix(s, endMark), func(r rune) bool {
		switch {
		case r >= ' ':
			return r == 0x7f
		case '\a' <= r && r <= '\r', r == '\x1b':
			return false
		}
		return true
	}) >= 0
}

// graphic reports whether every character beyond ASCII is one that is assigned
// and has a place in a text.
func graphic(text []byte) bool {
	return bytes.IndexFunc(text, func(r rune) bool {
		return r == utf8.RuneError || r >= utf8.RuneSelf && !unicode.IsGraphic(r) && !unicode.Is(unicode.Cf, r)
	}) < 0
}

// damagedUTF8 reports whether data is UTF-8 but for a few bytes.
func damagedUTF8(data []byte) bool {
	good, bad := 0, 0
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good++
		}
		data = data[n:]
	}
	return bad > 0 && good >= 8*bad
}
