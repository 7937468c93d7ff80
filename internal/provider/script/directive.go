package script

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxRepeat bounds the pieces that one step sends.
const maxRepeat = 10_000_000

type directive func(p *parser, rest string) error

func directives() map[string]directive {
	return map[string]directive{
		"when": readWhen, "else": readElse, "round": readRound, "again": readAgain,
		"pace": readPace, "sleep": readSleep,
		"text": readBlock(stepText), "reasoning": readBlock(stepReasoning),
		"repeat": readRepeat, "tool": readTool,
		"usage": readUsage, "finish": readFinish, "error": readError,
		"drop": bare(stepDrop), "hang": bare(stepHang), "raw": readRaw,
		"if": readIf, "otherwise": readOtherwise, "end": readEnd, "result": readResult,
	}
}

func readWhen(p *parser, rest string) error {
	m, err := readMatch(rest)
	if err != nil {
		return err
	}
	if err := p.open(); err != nil {
		return err
	}
	s := p.section()
	s.matches = append(s.matches, m)
	return nil
}

func readMatch(rest string) (match, error) {
	how, text, _ := strings.Cut(rest, " ")
	if how != "equals" && how != "starts" && how != "contains" || text == "" {
		return match{}, errors.New("want equals, starts or contains, and the words")
	}
	return match{how: how, text: plain(text)}, nil
}

func readElse(p *parser, _ string) error {
	if err := p.open(); err != nil {
		return err
	}
	if len(p.section().matches) > 0 {
		p.begin()
	}
	p.elseSeen = true
	return nil
}

// open begins a section unless the last one is still without steps.
func (p *parser) open() error {
	if p.elseSeen || !p.empty() && len(p.section().matches) == 0 {
		return errors.New("the section before takes every message, so this one would never play")
	}
	if !p.empty() {
		p.begin()
	}
	return nil
}

func readRound(p *parser, _ string) error {
	s := p.section()
	s.rounds = append(s.rounds, round{tries: [][]step{nil}})
	p.when = nil
	return nil
}

func readAgain(p *parser, _ string) error {
	r := p.round()
	r.tries = append(r.tries, nil)
	p.when = nil
	return nil
}

func readPace(p *parser, rest string) error {
	pace, size, _ := strings.Cut(rest, " ")
	d, err := duration(pace)
	if err != nil {
		return err
	}
	n := 0
	if size != "" {
		if n, err = strconv.Atoi(size); err != nil || n < 1 {
			return fmt.Errorf("not a number of characters: %q", size)
		}
	}
	p.pace, p.size = d, n
	return nil
}

func readSleep(p *parser, rest string) error {
	d, err := duration(rest)
	if err != nil {
		return err
	}
	p.add(step{kind: stepSleep, wait: d})
	return nil
}

func readBlock(kind stepKind) directive {
	return func(p *parser, rest string) error {
		if rest == "" {
			p.inBlock, p.blockKind = true, kind
			return nil
		}
		text, err := quoted(rest)
		if err != nil {
			return err
		}
		p.add(step{kind: kind, text: text, wait: p.pace})
		return nil
	}
}

func readRepeat(p *parser, rest string) error {
	number, text, _ := strings.Cut(rest, " ")
	n := 0
	if number != "prompt" {
		var err error
		if n, err = strconv.Atoi(number); err != nil || n < 1 || n > maxRepeat {
			return fmt.Errorf("not a count from 1 to %d, nor the word prompt: %q", maxRepeat, number)
		}
	}
	text, err := quoted(strings.TrimSpace(text))
	if err != nil {
		return err
	}
	p.add(step{kind: stepRepeat, text: text, count: n, wait: p.pace})
	return nil
}

func readTool(p *parser, rest string) error {
	s := step{kind: stepTool, wait: p.pace, tool: toolStep{index: -1, size: p.size}}
	if s.wait > 0 && s.tool.size == 0 {
		s.tool.size = 4
	}
	for {
		word, after, _ := strings.Cut(rest, " ")
		key, value, isOption := strings.Cut(word, "=")
		if !isOption || strings.HasPrefix(word, "{") {
			break
		}
		if err := s.tool.option(key, value); err != nil {
			return err
		}
		rest = strings.TrimLeft(after, " ")
	}
	s.tool.name, s.text, _ = strings.Cut(rest, " ")
	if s.tool.name == "" {
		return errors.New("want :tool, the tool's name and its arguments")
	}
	p.add(s)
	return nil
}

func (t *toolStep) option(key, value string) error {
	switch key {
	case "id":
		t.id = value
		return nil
	case "index":
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 {
			return fmt.Errorf("not an index: %q", value)
		}
		t.index = n
		return nil
	}
	return fmt.Errorf("no such option of :tool: %s", key)
}

func readUsage(p *parser, rest string) error {
	s := step{kind: stepUsage}
	if rest == "none" {
		s.usage.none = true
		p.add(s)
		return nil
	}
	fields := map[string]*int64{
		"input": &s.usage.input, "output": &s.usage.output, "reasoning": &s.usage.reasoning, "cached": &s.usage.cached,
	}
	for _, word := range strings.Fields(rest) {
		key, value, _ := strings.Cut(word, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		if fields[key] == nil || err != nil {
			return fmt.Errorf("want none, or input, output, reasoning and cached, each as name=number: %q", word)
		}
		*fields[key] = n
	}
	p.add(s)
	return nil
}

func readFinish(p *parser, rest string) error {
	if rest == "" || strings.ContainsAny(rest, " \t") {
		return errors.New("want :finish and one reason, such as stop, length or none")
	}
	p.add(step{kind: stepFinish, text: rest})
	return nil
}

func readError(p *parser, rest string) error {
	number, rest, _ := strings.Cut(rest, " ")
	status, err := strconv.Atoi(number)
	if err != nil || status < 300 || status > 599 {
		return fmt.Errorf("not an HTTP status of an error: %q", number)
	}
	f := faultStep{status: status, message: "the script says so"}
	for rest != "" {
		word, after, _ := strings.Cut(rest, " ")
		key, value, isOption := strings.Cut(word, "=")
		if !isOption {
			f.message = rest
			break
		}
		switch key {
		case "retry_after":
			f.retryAfter = value
		case "type":
			f.kind = value
		case "code":
			f.code = value
		default:
			return fmt.Errorf("no such option of :error: %s", key)
		}
		rest = strings.TrimLeft(after, " ")
	}
	p.add(step{kind: stepError, fault: f})
	return nil
}

func readRaw(p *parser, rest string) error {
	text, err := quoted(rest)
	if err != nil {
		return err
	}
	p.add(step{kind: stepRaw, text: text, wait: p.pace})
	return nil
}

func bare(kind stepKind) directive {
	return func(p *parser, rest string) error {
		if rest != "" {
			return fmt.Errorf("nothing follows this directive: %q", rest)
		}
		p.add(step{kind: kind})
		return nil
	}
}
