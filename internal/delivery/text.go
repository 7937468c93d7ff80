package delivery

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"verbatim/internal/split"
)

// nextText is for an item that is a text; last is its last placement.
func (l *Lane) nextText(t *track, it *item, last *spot, now time.Time) (Op, hold) {
	if it.dropped || l.skips(t, it, last) {
		return wait(time.Time{}), done
	}
	if it.held {
		return wait(time.Time{}), blocked
	}
	var end int64
	if last != nil {
		end = last.To
		if l.editable(last) {
			op, how := l.nextEdit(t, it, last, now)
			if op.Kind != OpWait || how != done {
				return op, how
			}
			end = last.To
		}
	}
	rest := string(it.text[end:])
	if !hasInk(rest) {
		return l.nextBlank(t, it, last, end)
	}
	switch {
	case l.gone && it.closed:
		return l.write(t, it, end, int64(len(it.text)), Refused, "the chat is closed to us"), blocked
	case it.closed && stale(it.at, now, l.cfg.Policy.MaxAge):
		return l.write(t, it, end, int64(len(it.text)), Expired, "it was too old to be posted"), blocked
	}
	to, until, ok := l.ready(it, last, end, now)
	if !ok {
		return wait(until), blocked
	}
	return l.first(t, it, end, to, last, now), blocked
}

func hasInk(s string) bool { return strings.IndexFunc(s, isInk) >= 0 }

// nextBlank is for a text of which only blanks are left: they belong to the
// placement before them.
func (l *Lane) nextBlank(t *track, it *item, last *spot, end int64) (Op, hold) {
	size := int64(len(it.text))
	switch {
	case !it.closed:
		return wait(time.Time{}), open
	case last == nil:
		return l.write(t, it, 0, size, Blank, ""), blocked
	case end < size || !last.Sealed:
		return Op{Kind: OpStore, t: t, it: it, spot: last, after: func() {
			last.To, last.Sealed = size, true
			l.close(last)
		}}, blocked
	}
	return wait(time.Time{}), done
}

// write makes a placement that no call is made for.
func (l *Lane) write(t *track, it *item, from, to int64, state State, why string) Op {
	s := l.spot(t, it, from, to)
	s.State, s.Error, s.Sealed = state, why, true
	return Op{Kind: OpStore, t: t, it: it, make: s}
}

// spot makes the next placement of an item.
func (l *Lane) spot(t *track, it *item, from, to int64) *spot {
	return &spot{Placement: Placement{
		Binding: t.ID, Run: it.run, Item: it.key, Segment: it.segment, Part: len(t.spots[it.key]) + 1, Seq: it.seq, From: from, To: to,
	}}
}

// ready says up to where a new piece that begins at end is to be posted now, or
// when to look again.
func (l *Lane) ready(it *item, last *spot, end int64, now time.Time) (to int64, until time.Time, ok bool) {
	if !it.closed && it.whole {
		return 0, until, false
	}
	if !it.closed && !l.live() && len(it.text)-int(end) < paragraphInk {
		return 0, until, false
	}
	text := string(it.text)
	cut, sealed := l.cut(it, l.inPlain(last), text, int(end))
	switch {
	case it.closed, sealed && l.live():
		return int64(cut), until, true
	case l.live():
		steady := min(split.Steady(text, int(end)), cut)
		if split.Visible(text[end:steady], enoughInk) < enoughInk || inWord(text, int(end), steady) {
			return 0, until, false
		}
		return int64(steady), until, true
	}
	return l.paragraph(it, text, last, end, int64(cut), now)
}

// longWord is how many bytes a word has at least that a post opens in.
const longWord = 48

// inWord reports whether a piece would end in a word that it holds no more than
// the beginning of. It may be that post's end for ever, if it can't be changed.
func inWord(text string, from, to int) bool {
	if to-from >= longWord || to >= len(text) {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(text[from:to])
	after, _ := utf8.DecodeRuneInString(text[to:])
	return spaced(before) && spaced(after)
}

// spaced reports whether a character is of a script that has white space between
// words.
func spaced(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) &&
		!unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// paragraph says up to where text that still grows is posted where posts can't
// grow.
func (l *Lane) paragraph(it *item, text string, last *spot, end, cut int64, now time.Time) (to int64, until time.Time, ok bool) {
	if split.Visible(text[end:], paragraphInk) < paragraphInk {
		return 0, until, false
	}
	to = min(int64(it.marked.Paragraph(text, int(end))), cut)
	if to <= end || !hasInk(text[end:to]) || !hasInk(text[to:]) {
		return 0, until, false
	}
	if last != nil && now.Before(last.At.Add(paragraphGap)) {
		return 0, last.At.Add(paragraphGap), false
	}
	return to, until, true
}

// live says that posts grow.
func (l *Lane) live() bool { return l.cfg.Caps.Edit && l.cfg.Policy.Streaming }

// inPlain reports whether the piece after a placement is plain text: the platform
// has just refused the markup of the one before, and may of this one.
func (l *Lane) inPlain(last *spot) bool {
	return last != nil && last.Plain && last.State != Delivered
}

// cut says where the piece of an item ends that begins at from.
func (l *Lane) cut(it *item, plain bool, text string, from int) (to int, sealed bool) {
	if plain {
		return it.plain.Cut(l.dressed(it, l.plain), text, from, it.closed)
	}
	return it.marked.Cut(l.dressed(it, l.marked), text, from, it.closed)
}

// dressed is a rule for an item that is not shown as it is.
func (l *Lane) dressed(it *item, r split.Rule) split.Rule {
	if it.dress != nil {
		measure := r.Measure
		r.Measure = func(display string) int { return measure(it.dress(display)) }
	}
	return r
}

// display is a range of an item as it is shown alone.
func (l *Lane) display(it *item, plain bool, from, to int) string {
	text := string(it.text)
	if plain {
		text = it.plain.Display(l.dressed(it, l.plain), text, from, to).Text
	} else {
		text = it.marked.Display(l.dressed(it, l.marked), text, from, to).Text
	}
	if it.dress != nil {
		return it.dress(text)
	}
	return text
}
