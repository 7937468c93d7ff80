package script

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxResultShown is how much of a tool's result :result sends, in bytes.
const maxResultShown = 300

// condition is what a request must be like for a step to be played.
type condition struct {
	not bool
	// match is what a result of a tool must be like; nil asks for tools that can
	// be called.
	match *match
	// result is the number of that result in its round, from 1; 0 for any.
	result int
}

func (c *condition) holds(q *question) bool {
	switch {
	case c == nil:
		return true
	case c.match == nil:
		return (len(q.Tools) > 0) != c.not
	}
	for i, text := range q.results() {
		if (c.result == 0 || c.result == i+1) && c.match.takes(plain(text)) {
			return !c.not
		}
	}
	return c.not
}

// readIf begins the steps that are for some requests only.
func readIf(p *parser, rest string) error {
	if p.when != nil {
		return errors.New("an :if inside another; end that one first")
	}
	c := &condition{}
	rest, c.not = cutWord(rest, "not")
	if rest == "tools" {
		p.when = c
		return nil
	}
	rest, isResult := cutWord(rest, "result")
	if !isResult {
		return errors.New("want :if, then tools or result, with not before it for the opposite")
	}
	if number, after, _ := strings.Cut(rest, " "); number != "" && number[0] <= '9' {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return fmt.Errorf("not the number of a result: %q", number)
		}
		c.result, rest = n, after
	}
	m, err := readMatch(rest)
	if err != nil {
		return err
	}
	c.match, p.when = &m, c
	return nil
}

func cutWord(text, word string) (rest string, found bool) {
	if rest, found = strings.CutPrefix(text, word+" "); found {
		return strings.TrimLeft(rest, " "), true
	}
	return text, false
}

// readOtherwise turns to the requests that the :if before is not for.
func readOtherwise(p *parser, rest string) error {
	switch {
	case p.when == nil:
		return errors.New("no :if is open")
	case rest != "":
		return fmt.Errorf("nothing follows this directive: %q", rest)
	}
	turned := *p.when
	turned.not = !turned.not
	p.when = &turned
	return nil
}

func readEnd(p *parser, rest string) error {
	switch {
	case p.when == nil:
		return errors.New("no :if is open")
	case rest != "":
		return fmt.Errorf("nothing follows this directive: %q", rest)
	}
	p.when = nil
	return nil
}

func readResult(p *parser, rest string) error {
	n, err := strconv.Atoi(rest)
	if err != nil || n < 1 {
		return fmt.Errorf("not the number of a result: %q", rest)
	}
	p.add(step{kind: stepResult, count: n, wait: p.pace, tool: toolStep{size: p.size}})
	return nil
}

// result sends the first line of a tool's result.
func (p *player) result(s step) {
	results := p.asked.results()
	if s.count > len(results) {
		return
	}
	for _, piece := range pieces(firstLine(results[s.count-1]), s.tool.size) {
		p.piece("content", piece, s.wait)
	}
}

// firstLine returns the first line that says something, or as much of it as is
// shown.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimLeftFunc(text, unicode.IsSpace), "\n")
	if len(line) <= maxResultShown {
		return strings.TrimSuffix(line, "\r")
	}
	cut := maxResultShown
	for !utf8.RuneStart(line[cut]) {
		cut--
	}
	return line[:cut] + "…"
}

// results returns what the calls of the round before came to.
func (q *question) results() []string {
	n := len(q.Messages)
	for n > 0 && q.Messages[n-1].Role == "tool" {
		n--
	}
	var out []string
	for _, m := range q.Messages[n:] {
		out = append(out, flat(m.Content))
	}
	return out
}
