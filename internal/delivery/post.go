package delivery

import (
	"time"

	"verbatim/internal/surface"
)

// first is the first Send of a new piece.
func (l *Lane) first(t *track, it *item, from, to int64, last *spot, now time.Time) Op {
	s := l.spot(t, it, from, to)
	s.Post, s.First, s.Plain = l.cfg.Mint(), now, l.inPlain(last)
	post := l.post(t, it, s, to)
	s.Body = &post
	return Op{Kind: OpSend, Priority: priority(it, s), Post: post, t: t, it: it, make: s, spot: s}
}

// post makes the post of a range, or of a card.
func (l *Lane) post(t *track, it *item, s *spot, to int64) surface.Post {
	p := surface.Post{
		ID: s.Post, Conversation: string(t.Conversation), Run: string(it.run), Kind: it.kind, Seq: it.seq, Part: s.Part, Plain: s.Plain,
	}
	if s.Part == 1 {
		p.ReplyTo, p.Files = it.replyTo, it.files
	}
	if it.card {
		p.Buttons = it.buttons
		p.Text = l.render(string(it.text), s.Plain)
		return p
	}
	p.Final = it.final && to == int64(len(it.text))
	from := s.From
	if l.has(bugOnlyNew) && s.State == Delivered {
		from = min(s.To, to)
	}
	p.Text, _ = l.cfg.Render(l.display(it, s.Plain, int(from), int(to)), s.Plain)
	if l.has(bugCursor) && !it.closed {
		p.Text += " ▉"
	}
	return p
}

// render makes the text of a card. One that is too long for the platform loses its
// end: what matters in it comes first.
func (l *Lane) render(markdown string, plain bool) string {
	text, size := l.cfg.Render(markdown, plain)
	if size <= l.cfg.Caps.Size.Max {
		return text
	}
	rule := l.marked
	if plain {
		rule = l.plain
	}
	to, _ := rule.Cut(markdown, 0, true)
	text, _ = l.cfg.Render(rule.Display(markdown, 0, to).Text, plain)
	return text
}
