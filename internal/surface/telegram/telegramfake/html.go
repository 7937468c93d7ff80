package telegramfake

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Entity is a part of a text that is shown in another way, as the MessageEntity of
// https://core.telegram.org/bots/api#messageentity: positions in UTF-16 units.
type Entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`
	Language string `json:"language,omitempty"`
}

// kinds are the tags of https://core.telegram.org/bots/api#html-style and the
// entities they make. Those for spoilers, emoji and times are left out: nothing
// of ours writes them.
var kinds = map[string]string{
	"b": "bold", "strong": "bold",
	"i": "italic", "em": "italic",
	"u": "underline", "ins": "underline",
	"s": "strikethrough", "strike": "strikethrough", "del": "strikethrough",
	"a": "text_link", "code": "code", "pre": "pre", "blockquote": "blockquote",
}

// attributes are those that a tag may have.
var attributes = map[string]string{"a": "href", "code": "class"}

// ParseHTML takes the tags out of a text as Telegram does, but strictly: what is
// not in the documentation is an error, where Telegram drops or mends some of it.
func ParseHTML(source string) (string, []Entity, error) {
	p := &parser{rest: source}
	for p.rest != "" {
		if err := p.step(); err != nil {
			return "", nil, fmt.Errorf("can't parse entities: %w at byte offset %d", err, len(source)-len(p.rest))
		}
	}
	if len(p.open) > 0 {
		return "", nil, fmt.Errorf("can't parse entities: can't find end tag corresponding to start tag %q", p.open[len(p.open)-1].name)
	}
	return p.text.String(), p.entities, nil
}

type parser struct {
	rest     string
	text     strings.Builder
	units    int
	open     []element
	entities []Entity
}

type element struct {
	name   string
	index  int
	entity Entity
}

func (p *parser) step() error {
	switch p.rest[0] {
	case '<':
		return p.tag()
	case '>':
		return fmt.Errorf("a bare %q", ">")
	case '&':
		c, rest, err := reference(p.rest)
		if err != nil {
			return err
		}
		p.write(c)
		p.rest = rest
	default:
		c, size := utf8.DecodeRuneInString(p.rest)
		if c == utf8.RuneError && size == 1 {
			return fmt.Errorf("text must be encoded in UTF-8")
		}
		p.write(c)
		p.rest = p.rest[size:]
	}
	return nil
}

func (p *parser) write(c rune) {
	p.text.WriteRune(c)
	p.units += utf16Len(string(c))
}

// reference reads a character reference: the four names of the documentation, and
// all numeric ones.
func reference(s string) (rune, string, error) {
	name, rest, ok := strings.Cut(s[1:], ";")
	if !ok {
		return 0, "", fmt.Errorf("a bare %q", "&")
	}
	switch name {
	case "lt":
		return '<', rest, nil
	case "gt":
		return '>', rest, nil
	case "amp":
		return '&', rest, nil
	case "quot":
		return '"', rest, nil
	}
	if digits, found := strings.CutPrefix(name, "#"); found {
		base := 10
		if hex, isHex := strings.CutPrefix(digits, "x"); isHex {
			digits, base = hex, 16
		}
		if n, err := strconv.ParseUint(digits, base, 21); err == nil {
			return rune(n), rest, nil
		}
	}
	return 0, "", fmt.Errorf("an unsupported entity %q", "&"+name+";")
}

func (p *parser) tag() error {
	body, rest, ok := strings.Cut(p.rest[1:], ">")
	if !ok {
		return fmt.Errorf("an unclosed tag")
	}
	var err error
	if name, found := strings.CutPrefix(body, "/"); found {
		err = p.end(name)
	} else {
		err = p.start(body)
	}
	if err == nil {
		p.rest = rest
	}
	return err
}

func (p *parser) start(body string) error {
	name, argument, _ := strings.Cut(body, " ")
	kind, ok := kinds[name]
	if !ok {
		return fmt.Errorf("unsupported start tag %q", name)
	}
	value, err := attribute(name, argument)
	if err != nil {
		return err
	}
	if err := p.mayNest(kind, value != ""); err != nil {
		return err
	}
	entity := Entity{Type: kind, Offset: p.units}
	switch name {
	case "a":
		entity.URL = value
	case "code":
		entity.Language = strings.TrimPrefix(value, "language-")
	}
	p.open = append(p.open, element{name: name, index: len(p.entities), entity: entity})
	p.entities = append(p.entities, entity)
	return nil
}

func attribute(name, argument string) (string, error) {
	if argument == "" {
		if name == "a" {
			return "", fmt.Errorf("a link without an address")
		}
		return "", nil
	}
	quoted, ok := strings.CutPrefix(argument, attributes[name]+`="`)
	value, end, closed := strings.Cut(quoted, `"`)
	if !ok || !closed || end != "" || attributes[name] == "" {
		return "", fmt.Errorf("an unsupported attribute %q in the tag %q", argument, name)
	}
	var b strings.Builder
	for value != "" {
		if value[0] == '&' {
			c, rest, err := reference(value)
			if err != nil {
				return "", err
			}
			b.WriteRune(c)
			value = rest
			continue
		}
		b.WriteByte(value[0])
		value = value[1:]
	}
	if name == "code" && !strings.HasPrefix(b.String(), "language-") {
		return "", fmt.Errorf("a class %q that is no language", b.String())
	}
	return b.String(), nil
}

// mayNest holds the rules under "Message entities can be nested" of
// https://core.telegram.org/bots/api#formatting-options: code is in nothing and
// holds nothing, but for a language in a block and for a quotation around it, and
// neither quotations nor links are nested.
func (p *parser) mayNest(kind string, language bool) error {
	for _, outer := range p.open {
		around := outer.entity.Type
		allowed := around != kind && around != "code" && around != "pre" &&
			(around == "blockquote" || kind != "code" && kind != "pre" && kind != "blockquote")
		if around == "pre" && kind == "code" && language && outer.entity.Offset == p.units {
			allowed = true
		}
		if !allowed {
			return fmt.Errorf("%s inside %s", kind, around)
		}
	}
	if kind == "code" && language && (len(p.open) == 0 || p.open[len(p.open)-1].name != "pre") {
		return fmt.Errorf("a language outside of a block of code")
	}
	return nil
}

func (p *parser) end(name string) error {
	if len(p.open) == 0 {
		return fmt.Errorf("an unexpected end tag %q", name)
	}
	last := p.open[len(p.open)-1]
	if name != last.name {
		return fmt.Errorf("an unmatched end tag, expected %q, found %q", "</"+last.name+">", "</"+name+">")
	}
	p.open = p.open[:len(p.open)-1]
	if p.units == last.entity.Offset {
		return fmt.Errorf("an empty tag %q", name)
	}
	p.entities[last.index].Length = p.units - last.entity.Offset
	if len(p.open) > 0 && p.open[len(p.open)-1].name == "pre" {
		// The code inside a block only names its language.
		p.entities[p.open[len(p.open)-1].index].Language = last.entity.Language
		p.entities = p.entities[:last.index]
	}
	return nil
}

// utf16Len returns the length of s in UTF-16 units.
func utf16Len(s string) int {
	n := 0
	for _, c := range s {
		n++
		if c > 0xFFFF {
			n++
		}
	}
	return n
}
