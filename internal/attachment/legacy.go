package attachment

import (
	"bytes"
	"errors"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/transform"
)

// candidate is an encoding from before Unicode, and how well a text decoded by it
// fits the languages that were written in it: 0 for not at all, 1 at the most.
type candidate struct {
	encoding encoding.Encoding
	score    func(text string) float64
}

// candidates are the encodings that are told apart. Any two of them take many of
// the same bytes; what they make of these differs.
func candidates() []candidate {
	return []candidate{
		{simplifiedchinese.GB18030, scoreChinese},
		{traditionalchinese.Big5, scoreChinese},
		{japanese.ShiftJIS, scoreJapanese},
		{japanese.EUCJP, scoreJapanese},
		{korean.EUCKR, scoreKorean},
		{charmap.Windows1252, scoreWestern},
		{charmap.Windows1251, scoreCyrillic},
	}
}

// margin is how much better than the next one the right encoding must fit.
const margin = 2

// decodeOther decodes text that is not Unicode by its own account. It looks at
// all of data and refuses where two encodings fit about as well.
func decodeOther(data []byte) (string, bool) {
	if text, ok := decodeBare16(data); ok {
		return text, true
	}
	if bytes.IndexByte(data, 0) >= 0 || damagedUTF8(data) {
		return "", false
	}
	if text, ok := decodeDeclared(data); ok {
		return text, true
	}
	var best string
	var first, second float64
	for _, c := range candidates() {
		text, ok := decodeBy(c.encoding, data)
		if !ok {
			continue
		}
		switch score := c.score(text); {
		case score > first:
			best, first, second = text, score, first
		case score > second:
			second = score
		}
	}
	return best, first > 0 && first >= margin*second
}

// pieceBytes is how much is decoded before it is looked at.
const pieceBytes = 16 << 10

// decodeBy decodes strictly, and gives up at the first piece that is no text.
func decodeBy(e encoding.Encoding, data []byte) (string, bool) {
	decoder := e.NewDecoder()
	var text strings.Builder
	piece := make([]byte, pieceBytes)
	for {
		written, read, err := decoder.Transform(piece, data, true)
		if !graphic(piece[:written]) {
			return "", false
		}
		if text.Len() == 0 {
			text.Grow(2 * len(data))
		}
		text.Write(piece[:written])
		data = data[read:]
		if err == nil {
			return text.String(), !binaryIn(text.String())
		}
		if !errors.Is(err, transform.ErrShortDst) {
			return "", false
		}
	}
}

// declaredWithin is how far into a document its declaration may be, in bytes.
const declaredWithin = 1024

// decodeDeclared decodes a document of tags, XML or HTML, by the encoding that it
// names.
func decodeDeclared(data []byte) (string, bool) {
	name := declared(data)
	if name == "" || strings.HasPrefix(name, "utf-16") { // a name in ASCII is none in UTF-16
		return "", false
	}
	e, err := htmlindex.Get(name)
	if err != nil || e == encoding.Replacement {
		return "", false
	}
	return decodeBy(e, data)
}

// declared returns what follows encoding= or charset= in the beginning of a
// document of tags.
func declared(data []byte) string {
	head := strings.ToLower(strings.TrimLeft(string(data[:min(len(data), declaredWithin)]), " \t\r\n"))
	if !strings.HasPrefix(head, "<") {
		return ""
	}
	for _, key := range []string{"encoding", "charset"} {
		_, value, ok := strings.Cut(head, key)
		value, equals := strings.CutPrefix(strings.TrimLeft(value, " "), "=")
		if !ok || !equals {
			continue
		}
		value = strings.TrimLeft(value, " \"'")
		end := strings.IndexFunc(value, func(r rune) bool { return !token(string(r)) && r != ':' })
		if end > 0 {
			return value[:end]
		}
	}
	return ""
}

// decodeEscaped decodes Japanese mail, ISO-2022-JP, all of which is ASCII.
func decodeEscaped(data []byte) (string, bool) {
	if !bytes.Contains(data, []byte("\x1b$B")) && !bytes.Contains(data, []byte("\x1b$@")) {
		return "", false
	}
	text, ok := decodeBy(japanese.ISO2022JP, data)
	return text, ok && !strings.Contains(text, "\x1b") && scoreJapanese(text) > 0
}
