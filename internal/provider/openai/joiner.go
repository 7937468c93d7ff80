package openai

import "unicode/utf8"

// joiner makes valid UTF-8 of the pieces of one text. It joins a surrogate pair
// or a character that the provider cut between two pieces; what belongs to no
// character becomes U+FFFD, at the end of the text only if it might still have
// become one before.
type joiner struct {
	// tail is a beginning of a character, at most 3 bytes.
	tail []byte
}

// add returns what the piece p adds to the text. p may hold surrogates as
// scanner.text writes them, and is not kept.
func (j *joiner) add(p []byte) string {
	if len(j.tail) == 0 && utf8.Valid(p) {
		return string(p)
	}
	if len(p) == 0 {
		return ""
	}
	p = append(j.tail, p...)
	out := make([]byte, 0, len(p))
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		if r == utf8.RuneError && n == 1 {
			var open bool
			if r, n, open = decodeOdd(p); open {
				break
			}
		}
		out = utf8.AppendRune(out, r)
		p = p[n:]
	}
	j.tail = append([]byte(nil), p...)
	return string(out)
}

// end returns what stands for the cut character at the end of the text.
func (j *joiner) end() string {
	if len(j.tail) == 0 {
		return ""
	}
	j.tail = nil
	return string(utf8.RuneError)
}

// decodeOdd decodes the beginning of p where it is no valid UTF-8. It reports
// open if more bytes may make a character of the whole of p.
func decodeOdd(p []byte) (r rune, n int, open bool) {
	high, ok := decodeSurrogate(p)
	switch {
	case !ok && !utf8.FullRune(p):
		return 0, 0, true
	case !ok:
		return utf8.RuneError, 1, false
	case high >= 0xdc00:
		return utf8.RuneError, 3, false
	}
	low, ok := decodeSurrogate(p[3:])
	switch {
	case ok && low >= 0xdc00:
		return (high-0xd800)<<10 + (low - 0xdc00) + 0x10000, 6, false
	case len(p) == 3:
		return 0, 0, true
	}
	return utf8.RuneError, 3, false
}

// decodeSurrogate decodes the three bytes of a surrogate at the beginning of p.
func decodeSurrogate(p []byte) (rune, bool) {
	if len(p) < 3 || p[0] != 0xed || p[1]&0xe0 != 0xa0 || p[2]&0xc0 != 0x80 {
		return 0, false
	}
	return 0xd000 | rune(p[1]&0x3f)<<6 | rune(p[2]&0x3f), true
}

// plain returns p, which is complete, as valid UTF-8.
func plain(p []byte) string {
	var j joiner
	return j.add(p) + j.end()
}
