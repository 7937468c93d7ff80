package script

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Parse reads a script. An error names the line.
func Parse(text string) (*Script, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("a script is UTF-8; bytes that are not go into :raw")
	}
	p := &parser{script: &Script{}}
	p.begin()
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	for i, line := range lines {
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	p.endBlock()
	if len(p.script.sections) == 1 && p.empty() {
		return nil, errors.New("a script needs at least one step")
	}
	return p.script, nil
}

// parser builds the script line by line, always at its last try.
type parser struct {
	script *Script
	pace   time.Duration
	// size is the characters of a piece; 0 for words.
	size int
	// when is the :if that is open, nil for none.
	when *condition

	inBlock   bool
	block     []string
	blockKind stepKind
	elseSeen  bool
}

// begin opens a section.
func (p *parser) begin() {
	p.script.sections = append(p.script.sections, section{rounds: []round{{tries: [][]step{nil}}}})
	p.pace, p.size, p.when = 0, 0, nil
}

func (p *parser) section() *section { return &p.script.sections[len(p.script.sections)-1] }

func (p *parser) round() *round {
	s := p.section()
	return &s.rounds[len(s.rounds)-1]
}

func (p *parser) add(s step) {
	s.when = p.when
	r := p.round()
	r.tries[len(r.tries)-1] = append(r.tries[len(r.tries)-1], s)
}

// empty reports whether the section has no step yet.
func (p *parser) empty() bool {
	s := p.section()
	return len(s.rounds) == 1 && len(s.rounds[0].tries) == 1 && len(s.rounds[0].tries[0]) == 0
}

func (p *parser) line(line string) error {
	switch {
	case strings.HasPrefix(line, "::"):
		return p.blockLine(line[1:])
	case !strings.HasPrefix(line, ":"):
		return p.blockLine(line)
	}
	word, rest, _ := strings.Cut(line[1:], " ")
	if word == "" {
		return nil // a comment
	}
	p.endBlock()
	rest = strings.TrimSpace(rest)
	read, ok := directives()[word]
	if !ok {
		return fmt.Errorf("no such directive: :%s", word)
	}
	return read(p, rest)
}

func (p *parser) blockLine(line string) error {
	if p.inBlock {
		p.block = append(p.block, line)
		return nil
	}
	if strings.TrimSpace(line) != "" {
		return errors.New("words outside of a :text or :reasoning block")
	}
	return nil
}

// endBlock cuts the block that is open into pieces.
func (p *parser) endBlock() {
	if !p.inBlock {
		return
	}
	for _, piece := range pieces(strings.Join(p.block, "\n"), p.size) {
		p.add(step{kind: p.blockKind, text: piece, wait: p.pace})
	}
	p.inBlock, p.block = false, nil
}

// pieces cuts text into words, each with the white space after it, or into runs
// of size characters.
func pieces(text string, size int) []string {
	var out []string
	start, count, space := 0, 0, false
	for i, r := range text {
		wordEnds := size == 0 && space && !unicode.IsSpace(r)
		if i > start && (wordEnds || size > 0 && count == size) {
			out = append(out, text[start:i])
			start, count = i, 0
		}
		count++
		space = unicode.IsSpace(r)
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

// quoted reads a Go string.
func quoted(arg string) (string, error) {
	text, err := strconv.Unquote(arg)
	if err != nil {
		return "", fmt.Errorf("not a quoted string: %s", arg)
	}
	return text, nil
}

func duration(arg string) (time.Duration, error) {
	if arg == "0" {
		return 0, nil
	}
	d, err := time.ParseDuration(arg)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("not a duration such as 40ms: %q", arg)
	}
	return d, nil
}
