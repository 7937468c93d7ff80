package sim

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"verbatim/internal/delivery"
	"verbatim/internal/surface"
)

// Fate is what becomes of one call of the platform.
type Fate struct {
	// Class is what the platform answers. The zero value is Delivered.
	Class surface.Class
	// Landed says that it is shown whatever the answer; a call that is
	// Delivered is shown but for Hidden.
	Landed, Hidden bool
	// After is how long the answer takes.
	After time.Duration
	// RetryAfter, Wide, Gone and Markup are those of the answer.
	RetryAfter         time.Duration
	Wide, Gone, Markup bool
	// Crash says that the process ends during the call.
	Crash bool
	// Late is how long a message that landed can't be read back.
	Late time.Duration
}

// message is one on the platform.
type message struct {
	id, post string
	text     string
	buttons  int
	// from is since when it can be read back.
	from    time.Time
	deleted bool
	// told is what the last call that was acknowledged said.
	told string
}

// room is a chat on the platform, with the facts by which it is judged.
type room struct {
	address  delivery.Address
	messages []*message
	byID     map[string]*message
	byPost   map[string]*message
	// quiet is until when the platform wants no call, as far as that was
	// stored.
	quiet time.Time
	// knows is the process that alone knows of that; nil when it is stored.
	knows *process
	// since is when it was told so.
	since time.Time
	// closed says that the chat takes nothing from us.
	closed bool
	// closures counts how often it was.
	closures int
	// checks counts those in a row.
	checks int
	// lines are words of the product's own lines.
	lines map[string]string
}

// capsOf returns what a platform of a kind can do.
func capsOf(s Surface, limit int) surface.Caps {
	c := surface.Caps{Size: surface.Size{Max: limit, Unit: surface.CodePoints}}
	switch s {
	case Edit:
		c.Size.Unit = surface.UTF16
		c.Markup, c.Edit, c.Typing, c.Buttons = true, true, true, true
	case ReadBack:
		c.Markup, c.Edit, c.ReadBack, c.Typing = true, true, true, true
	case Blind:
		c.Size.Unit = surface.Bytes
	case Idempotent:
		c.Markup, c.Idempotent = true, true
	}
	return c
}

// measure counts a text in a unit.
func measure(text string, u surface.Unit) int {
	switch u {
	case surface.Bytes:
		return len(text)
	case surface.UTF16:
		n := 0
		for _, r := range text {
			n += utf16.RuneLen(r)
		}
		return n
	default:
		return utf8.RuneCountInString(text)
	}
}

// render is that of every platform here: blanks at the ends are not shown, and what
// is bold has a mark of its own.
func render(u surface.Unit) func(string, bool) (string, int) {
	return func(markdown string, plain bool) (string, int) {
		text := strings.TrimSpace(markdown)
		if !plain {
			text = strings.ReplaceAll(text, "**", "*")
		}
		return text, measure(text, u)
	}
}

func same(seen surface.Seen, text string) bool {
	return strings.TrimSpace(seen.Text) == strings.TrimSpace(text)
}

// call makes one call of a room with a fate.
func (w *world) call(r *room, op delivery.Op, f Fate) surface.Outcome {
	w.res.Calls++
	out := surface.Outcome{Class: f.Class, RetryAfter: f.RetryAfter, Wide: f.Wide, Gone: f.Gone, Markup: f.Markup, Detail: string(f.Class)}
	if out.Class == "" {
		out.Class = surface.Delivered
	}
	shown := out.Class == surface.Delivered && !f.Hidden || f.Landed
	switch op.Kind {
	case delivery.OpSend:
		return w.send(r, op, out, shown, f.Late)
	case delivery.OpEdit:
		return w.edit(r, op, out, shown)
	default:
		return out
	}
}

// takes is what the platform says about a text before anything else.
func (w *world) takes(r *room, p surface.Post) (surface.Outcome, bool) {
	if strings.Contains(p.Text, "▉") {
		w.wrong(&w.res.Glyphs, "a cursor glyph in %q", p.Text)
	}
	size := measure(p.Text, w.caps.Size.Unit)
	switch {
	case strings.TrimSpace(p.Text) == "":
		w.wrong(&w.res.Blank, "post %s is blank", p.ID)
		return surface.Outcome{Class: surface.Refused, Detail: "blank"}, false
	case size > w.caps.Size.Max:
		w.wrong(&w.res.Long, "post %s has %d %s of %d", p.ID, size, w.caps.Size.Unit, w.caps.Size.Max)
		return surface.Outcome{Class: surface.Refused, Detail: "too long"}, false
	case r.closed:
		return surface.Outcome{Class: surface.Refused, Gone: true, Detail: "chat closed"}, false
	}
	return surface.Outcome{}, true
}

func (w *world) send(r *room, op delivery.Op, out surface.Outcome, shown bool, late time.Duration) surface.Outcome {
	if no, ok := w.takes(r, op.Post); !ok {
		return no
	}
	m := r.byPost[op.Post.ID]
	if shown && (m == nil || !w.caps.Idempotent) {
		w.ids++
		m = &message{id: fmt.Sprintf("x%d", w.ids), post: op.Post.ID, text: op.Post.Text, buttons: len(op.Post.Buttons), from: w.now.Add(late)}
		r.messages = append(r.messages, m)
		r.byID[m.id], r.byPost[m.post] = m, m
	}
	if out.Class == surface.Delivered {
		m.told = op.Post.Text
		if !w.nameless {
			out.PlatformID = m.id
		}
	}
	return out
}

func (w *world) edit(r *room, op delivery.Op, out surface.Outcome, shown bool) surface.Outcome {
	m := r.byID[op.PlatformID]
	if m.deleted {
		return surface.Outcome{Class: surface.Refused, Gone: true, Detail: "the message is gone"}
	}
	if no, ok := w.takes(r, op.Post); !ok {
		no.Gone = false
		return no
	}
	if shown {
		m.text, m.buttons = op.Post.Text, len(op.Post.Buttons)
	}
	if out.Class == surface.Delivered {
		m.told = op.Post.Text
	}
	return out
}

// own is what read-back returns.
func (w *world) own(r *room, after string) []surface.Seen {
	var out []surface.Seen
	from := 0
	for i, m := range r.messages {
		if m.id == after {
			from = i + 1
		}
	}
	for _, m := range r.messages[from:] {
		if !m.deleted && !w.now.Before(m.from) {
			out = append(out, surface.Seen{PlatformID: m.id, Text: m.text, At: m.from})
		}
	}
	return out
}

func (w *world) read(r *room, platformID string) (surface.Seen, error) {
	m := r.byID[platformID]
	if m == nil || m.deleted {
		return surface.Seen{}, surface.ErrGone
	}
	return surface.Seen{PlatformID: m.id, Text: m.text, At: m.from}, nil
}
