package approval

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxCommand is the longest command, in bytes, that a rule reads.
const MaxCommand = 8 << 10

// Words returns the words of a command that a POSIX shell takes for exactly one
// simple command with nothing to expand, in the shell's own way: quotes
// removed, the program first. For anything else, and for whatever is in doubt,
// the error says in a few words what stands in the way.
//
// Refused are operators, redirections, substitutions, variables, patterns, line
// breaks, comments, assignments before the program, words that the shell itself
// takes for syntax or that change the shell, and characters that can't be seen.
func Words(command string) ([]string, error) {
	switch {
	case len(command) > MaxCommand:
		return nil, fmt.Errorf("it has more than %d bytes", MaxCommand)
	case !utf8.ValidString(command):
		return nil, errors.New("it is not valid UTF-8")
	}
	for _, r := range command {
		if !visible(r) {
			return nil, fmt.Errorf("it holds the character %U, which can't be seen", r)
		}
	}
	s := splitter{rest: command}
	for s.rest != "" {
		if err := s.step(); err != nil {
			return nil, err
		}
	}
	s.end()
	if len(s.words) == 0 {
		return nil, errors.New("it is empty")
	}
	if err := checkProgram(s.words[0]); err != nil {
		return nil, err
	}
	return s.words, nil
}

// visible reports whether a person sees r as what it is: a space, a tab, or
// something with ink. What else some shell might take for a blank or for the end
// of a line, and what hides among letters, is not.
func visible(r rune) bool {
	const brailleBlank = '\u2800'
	if r == ' ' || r == '\t' {
		return true
	}
	return r != brailleBlank && unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S) &&
		!unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// splitter reads a command word by word.
type splitter struct {
	rest  string
	words []string
	word  strings.Builder
	open  bool // a word has begun; it may still be empty, as in ""
	// plain is the unquoted character before rest in the same word, 0 when
	// there is none.
	plain byte
}

// step reads one character outside of quotes, or all between a pair of quotes.
func (s *splitter) step() error {
	c := s.rest[0]
	switch c {
	case ' ', '\t':
		s.rest = s.rest[1:]
		s.end()
		return nil
	case '\'':
		return s.singleQuoted()
	case '"':
		return s.doubleQuoted()
	case '\\':
		return s.escaped()
	}
	if !s.ordinary(c) {
		return fmt.Errorf("it holds an unquoted %q", rune(c))
	}
	s.take(1)
	s.plain = c
	return nil
}

// ordinary reports whether c, unquoted, means itself in every shell.
func (s *splitter) ordinary(c byte) bool {
	switch {
	case c >= utf8.RuneSelf || isName(c):
		return true
	case c == '~':
		// HEAD~1; elsewhere it may stand for a home directory.
		return isName(s.plain)
	case c == '=':
		return s.open
	}
	return strings.IndexByte("-+./,:@%", c) >= 0
}

func isName(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}

// take moves n bytes into the word as they are.
func (s *splitter) take(n int) {
	s.word.WriteString(s.rest[:n])
	s.rest = s.rest[n:]
	s.open = true
	s.plain = 0
}

// end completes the word, if one is open.
func (s *splitter) end() {
	if s.open {
		s.words = append(s.words, s.word.String())
	}
	s.word.Reset()
	s.open = false
	s.plain = 0
}

func (s *splitter) singleQuoted() error {
	s.rest = s.rest[1:]
	n := strings.IndexByte(s.rest, '\'')
	if n < 0 {
		return errors.New("a quote is not closed")
	}
	s.take(n)
	s.rest = s.rest[1:]
	return nil
}

func (s *splitter) doubleQuoted() error {
	s.rest = s.rest[1:]
	s.take(0)
	for s.rest != "" {
		switch c := s.rest[0]; {
		case c == '"':
			s.rest = s.rest[1:]
			return nil
		case c == '$' || c == '`':
			return fmt.Errorf("it holds a %q that is not in single quotes", rune(c))
		case c == '\\' && len(s.rest) > 1 && strings.IndexByte("$`\"\\", s.rest[1]) >= 0:
			s.rest = s.rest[1:]
		}
		s.take(1)
	}
	return errors.New("a quote is not closed")
}

func (s *splitter) escaped() error {
	s.rest = s.rest[1:]
	if s.rest == "" {
		return errors.New("it ends with a backslash")
	}
	_, n := utf8.DecodeRuneInString(s.rest)
	s.take(n)
	return nil
}
