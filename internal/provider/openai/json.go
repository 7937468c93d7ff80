package openai

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// scanner walks over one JSON text without building values. It is lenient: what
// it steps over it does not check. After an error bad is set and every loop
// over a container ends.
type scanner struct {
	b   []byte
	i   int
	bad bool
}

func (s *scanner) fail() bool {
	s.bad = true
	s.i = len(s.b)
	return false
}

// peek returns the next byte that is not white space, 0 at the end.
func (s *scanner) peek() byte {
	for s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return c
		}
	}
	return 0
}

// open enters a container and reports whether it has an element. A value of
// another kind is stepped over and has none.
func (s *scanner) open(begin, end byte) bool {
	if s.peek() != begin {
		s.skip()
		return false
	}
	s.i++
	if s.peek() == end {
		s.i++
		return false
	}
	return true
}

// next goes on after an element and reports whether another follows.
func (s *scanner) next(end byte) bool {
	switch s.peek() {
	case ',':
		s.i++
		return true
	case end:
		s.i++
		return false
	}
	return s.fail()
}

// key reads the key of a member and its colon. Keys with escapes are none that
// we know and are returned as they are written.
func (s *scanner) key() []byte {
	if s.peek() != '"' {
		s.fail()
		return nil
	}
	key := s.quoted()
	if s.peek() != ':' {
		s.fail()
		return nil
	}
	s.i++
	return key
}

// quoted returns what stands between the quotes of the string that begins here.
func (s *scanner) quoted() []byte {
	begin := s.i + 1
	for i := begin; i < len(s.b); {
		n := bytes.IndexByte(s.b[i:], '"')
		if n < 0 {
			break
		}
		i += n
		slashes := 0
		for i-slashes > begin && s.b[i-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			s.i = i + 1
			return s.b[begin:i]
		}
		i++
	}
	s.fail()
	return nil
}

// text appends the string that begins here to dst. Surrogates that are written
// as escapes are appended each as three bytes, as if they were characters, so
// that a pair cut in two can still be joined (see joiner). A value that is not
// a string is stepped over.
func (s *scanner) text(dst []byte) []byte {
	if s.peek() != '"' {
		s.skip()
		return dst
	}
	raw := s.quoted()
	for {
		n := bytes.IndexByte(raw, '\\')
		if n < 0 || n+1 >= len(raw) {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:n]...)
		dst, raw = s.escape(dst, raw[n+1:])
	}
}

// escape appends what the escape says whose part after the backslash raw begins
// with, and returns the rest.
func (s *scanner) escape(dst, raw []byte) (grown, rest []byte) {
	c, rest := raw[0], raw[1:]
	switch c {
	case '"', '\\', '/':
		return append(dst, c), rest
	case 'n':
		return append(dst, '\n'), rest
	case 't':
		return append(dst, '\t'), rest
	case 'r':
		return append(dst, '\r'), rest
	case 'b':
		return append(dst, '\b'), rest
	case 'f':
		return append(dst, '\f'), rest
	case 'u':
		if unit, ok := hex4(rest); ok {
			return appendUnit(dst, unit), rest[4:]
		}
	}
	s.fail()
	return dst, nil
}

func hex4(b []byte) (unit rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		unit = unit<<4 | rune(c)
	}
	return unit, true
}

// appendUnit appends a UTF-16 code unit, a surrogate as three bytes.
func appendUnit(dst []byte, u rune) []byte {
	if !isSurrogate(u) {
		return utf8.AppendRune(dst, u)
	}
	return append(dst, 0xe0|byte(u>>12), 0x80|byte(u>>6)&0xbf, 0x80|byte(u)&0xbf)
}

func isSurrogate(u rune) bool { return 0xd800 <= u && u < 0xe000 }

// skip steps over a value.
func (s *scanner) skip() {
	depth := 0
	for {
		switch c := s.peek(); c {
		case 0, ',', ':':
			if depth == 0 || c == 0 {
				s.fail()
				return
			}
			s.i++
			continue
		case '{', '[':
			depth++
			s.i++
		case '}', ']':
			if depth--; depth < 0 {
				s.fail()
				return
			}
			s.i++
		case '"':
			s.quoted()
		default:
			s.literal()
		}
		if depth == 0 {
			return
		}
	}
}

// literal steps over a number, true, false or null.
func (s *scanner) literal() {
	begin := s.i
	for s.i < len(s.b) {
		c := s.b[s.i]
		if c != '+' && c != '-' && c != '.' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && c != 'E' {
			break
		}
		s.i++
	}
	if s.i == begin {
		s.fail()
	}
}

// raw returns the value that begins here, as it is written.
func (s *scanner) raw() []byte {
	s.peek()
	begin := s.i
	s.skip()
	return s.b[begin:s.i]
}

// int reads a whole number; 0 for anything else.
func (s *scanner) int() int64 {
	raw := s.raw()
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != f || f < -1<<53 || f > 1<<53 {
		return 0
	}
	return int64(f)
}
