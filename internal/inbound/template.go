package inbound

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"verbatim/internal/id"
	"verbatim/internal/surface"
)

// Templates that need no thought.
const (
	// DefaultTemplate makes one conversation of each chat, and of each thread
	// in it.
	DefaultTemplate = "{{chat}}/{{thread}}"
	// OneConversation makes one of all that comes to a surface.
	OneConversation = "default"
)

// built are the names that every surface has.
var built = []string{"chat", "sender", "surface", "thread"}

// template is what names a conversation: text, then values with text between
// them, then text.
type template struct {
	head, tail string
	names      []string
	between    []string // one less than names
}

// CheckTemplate returns what is wrong with the template of a conversation, in a
// sentence for the person who wrote it, and nil for nothing. A template is text
// with names in double braces; it may name chat, thread, sender and surface, and
// the fields that messages of the surface have.
func CheckTemplate(text string, fields ...string) error {
	t, err := parseTemplate(text)
	if err != nil {
		return err
	}
	known := slices.Concat(built, fields)
	slices.Sort(known)
	known = slices.Compact(known)
	for _, name := range t.names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("the conversation names {{%s}}, which messages here don't have; it may name %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

func parseTemplate(text string) (template, error) {
	var t template
	literal := func(s string) error {
		if strings.Contains(s, "{{") || strings.Contains(s, "}}") {
			return errors.New("the conversation has braces that don't match; write names as {{thread}}")
		}
		return nil
	}
	for {
		before, rest, found := strings.Cut(text, "{{")
		if err := literal(before); err != nil {
			return template{}, err
		}
		switch {
		case !found && len(t.names) == 0:
			t.head = before
			return t, nil
		case !found:
			t.tail = before
			return t, nil
		case len(t.names) == 0:
			t.head = before
		default:
			t.between = append(t.between, before)
		}
		name, after, closed := strings.Cut(rest, "}}")
		name = strings.TrimSpace(name)
		if !closed || name == "" || literal(name) != nil {
			return template{}, literal("{{")
		}
		t.names = append(t.names, name)
		text = after
	}
}

// The ids of a surface's conversations are <surface>.<body>, after /new with
// .<number> behind. A body has letters, digits and dashes as they are and every
// other byte as _ and two hexadecimal digits; _- stands between values. So it can
// be read back, and no two lists of values make the same one. A body that is too
// long is cut and ends with __ and a hash of all of it. None has a dot, and no
// name of a surface has one.
const (
	boundary = "_-"
	cutMark  = "__"
	// hashChars are 120 bits.
	hashChars = 20
	// suffixChars leaves room for ten million times /new.
	suffixChars = 8
	// nothing is the body where all values are empty.
	nothing = "_"
)

// body returns what names a conversation for the values of a message.
func (t template) body(surfaceName string, value func(name string) string) string {
	values := make([]string, len(t.names))
	last := -1
	for i, name := range t.names {
		if values[i] = escape(value(name)); values[i] != "" {
			last = i
		}
	}
	var b strings.Builder
	b.WriteString(escape(t.head))
	for i := range last + 1 {
		if i > 0 {
			b.WriteString(boundary)
			if strings.ContainsFunc(t.between[i-1], func(r rune) bool { return r < 128 && isPlain(byte(r)) && r != '-' }) {
				b.WriteString(escape(t.between[i-1]) + boundary)
			}
		}
		b.WriteString(values[i])
	}
	b.WriteString(escape(t.tail))
	if b.Len() == 0 {
		return nothing
	}
	return shortened(b.String(), id.MaxBytes-len(surfaceName)-1-suffixChars)
}

func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-'
}

func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if isPlain(s[i]) {
			b.WriteByte(s[i])
			continue
		}
		fmt.Fprintf(&b, "_%02x", s[i])
	}
	return b.String()
}

// shortened returns a body of at most maxBytes.
func shortened(body string, maxBytes int) string {
	if len(body) <= maxBytes {
		return body
	}
	keep := maxBytes - len(cutMark) - hashChars
	for back := 1; back <= 2 && back <= keep; back++ {
		if body[keep-back] == '_' {
			keep -= back
			break
		}
	}
	sum := sha256.Sum256([]byte(body))
	return body[:keep] + cutMark + base64.RawURLEncoding.EncodeToString(sum[:])[:hashChars]
}

// base returns the id of a message's conversation before any /new.
func (in *Inbox) base(m surface.Message) id.Conversation {
	name := in.opt.Surface
	return id.Conversation(name + "." + in.template.body(name, func(field string) string {
		if v, ok := m.Fields[field]; ok {
			return v
		}
		switch field {
		case "chat":
			return m.Chat.ID
		case "thread":
			return m.Chat.Thread
		case "sender":
			return m.Sender.ID
		case "surface":
			return name
		}
		return ""
	}))
}

// numbered is the conversation that the n-th /new made of a base; 0 is the base.
func numbered(base id.Conversation, n int) id.Conversation {
	if n == 0 {
		return base
	}
	return base + id.Conversation("."+strconv.Itoa(n))
}

// number returns how often /new was written in the conversations of a base.
func (in *Inbox) number(ctx context.Context, base id.Conversation) (int, error) {
	text, err := in.opt.Store.Mark(ctx, in.opt.Surface, ownMarks+"new:"+string(base))
	if err != nil || text == "" {
		return 0, err
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("read the number of the conversation %s: %w", base, err)
	}
	return n, nil
}

func (in *Inbox) setNumber(ctx context.Context, base id.Conversation, n int) error {
	return in.opt.Store.SetMark(ctx, in.opt.Surface, ownMarks+"new:"+string(base), strconv.Itoa(n))
}

// conversation returns where a message belongs now.
func (in *Inbox) conversation(ctx context.Context, m surface.Message) (id.Conversation, error) {
	base := in.base(m)
	n, err := in.number(ctx, base)
	return numbered(base, n), err
}
