package split

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// lineEnds returns the beginnings of lines at which the next piece may begin.
func (p *places) lineEnds() []place {
	var ends []place
	for i := 1; i < len(p.lines); i++ {
		l := p.lines[i]
		if l.start > p.limit {
			break
		}
		inside := slices.ContainsFunc(p.units, func(u unit) bool { return u.within(l.start) })
		if rank := p.rank(i); rank > 0 && !inside && l.start >= p.first {
			ends = append(ends, place{l.start, rank})
		}
	}
	return ends
}

// rank says how good it is to end the piece in front of line i; 0 means never.
func (p *places) rank(i int) int {
	before, l := p.lines[i-1], p.lines[i]
	switch l.kind {
	case closer, separator:
		return 0
	case body:
		return p.rankBody(before, l)
	case row:
		if before.kind != row {
			return 0
		}
		return atRow
	case heading:
		if l.more {
			return 0 // It is the line under the words.
		}
	case blank, prose, rule, indented, opener:
	}
	if p.mayBeSeparator(before, l) {
		return 0
	}
	_, alone := state{}.step(p.text, l.start, l.end)
	switch {
	case alone.kind == indented && l.kind != indented:
		return atSentence // It would be shown as code.
	case l.gap || l.item || l.quote || l.kind == heading || l.kind == rule || l.kind == opener,
		before.kind == closer, before.kind == row, before.kind == rule, l.table >= 0:
		return atBlock
	}
	return atLine
}

// rankBody ranks a line of code: a piece neither ends right after the opener nor
// right before the closer, because its next or its own code would be empty.
func (p *places) rankBody(before, l placed) int {
	rest := p.text[l.at:l.end]
	if before.kind != body || l.end == len(p.text) && rest != "" && empty(rest[run(rest, rest[0]):]) && strings.IndexByte("`~", rest[0]) >= 0 {
		return 0
	}
	if l.gap {
		return atRow
	}
	return atLine
}

// mayBeSeparator reports whether a last line that is not finished may become the
// one under the header of a table.
func (p *places) mayBeSeparator(before, l placed) bool {
	return l.end == len(p.text) && l.more && cells(p.text[before.at:before.end]) > 0 &&
		strings.Trim(p.text[l.at:l.end], "|-: \t") == ""
}

// words returns the places within lines, from low on, at which a sentence or a
// word ends. last is the line that the limit is in.
func (p *places) words(last placed, low int) []place {
	var ends []place
	for _, l := range p.lines {
		marker := l.kind == opener || l.kind == closer || p.isRow(l)
		if l.end > low && l.start < p.limit && (!marker || l.start == last.start && l.start < p.first) {
			ends = p.wordsOf(l, low, ends)
		}
	}
	return slices.DeleteFunc(ends, func(e place) bool {
		return slices.ContainsFunc(p.units, func(u unit) bool { return u.within(e.at) })
	})
}

// noBreak are the spaces that keep words together.
const noBreak = "\u00a0\u2007\u202f\u2060\ufeff"

func (p *places) wordsOf(l placed, low int, ends []place) []place {
	// seen is where the last visible character ended, and whether a blank
	// has followed it.
	seen, blanks := -1, false
	for at := max(p.from, l.at); at < min(l.end, p.limit+1); {
		size := cluster(p.text[at:l.end])
		if char := p.text[at : at+size]; isBlank(char) {
			at, blanks = at+size, blanks || !strings.ContainsAny(char, noBreak)
			continue
		}
		if seen >= 0 && at >= max(low, p.first) {
			if rank := p.rankWord(l, seen, at, blanks); rank > 0 {
				ends = append(ends, place{at, rank})
			}
		}
		at += size
		seen, blanks = at, false
	}
	return ends
}

// rankWord says how good it is to end the piece before the character at at, when
// the one before ends at seen.
func (p *places) rankWord(l placed, seen, at int, blanks bool) int {
	const (
		ends   = ".!?…"
		wide   = "。！？｡"
		pauses = "，、；：﹐､"
		quotes = "\"')]*_”’»›」』）】》〉"
	)
	before := strings.TrimRight(p.text[max(l.at, seen-16):seen], quotes)
	r, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(p.text[at:])
	switch {
	case l.kind == body || l.kind == indented:
		if blanks {
			return atSpace
		}
		return 0
	case strings.ContainsRune(wide, r) && (blanks || !strings.ContainsRune(quotes+ends+wide, next)):
		return atSentence
	case strings.ContainsRune(pauses, r) && !strings.ContainsRune(quotes, next):
		return atSpace
	case !blanks:
		return 0
	case p.needsGuard(l, at):
		return atGuard
	case strings.ContainsRune(ends, r):
		return atSentence
	}
	return atSpace
}

// needsGuard reports whether the rest of a line would be taken for a block.
func (p *places) needsGuard(l placed, at int) bool {
	if strings.IndexByte("`~>#-+*=_|0123456789", p.text[at]) < 0 {
		return false
	}
	_, alone := state{}.step(p.text, at, l.end)
	return alone.kind != prose || alone.item || alone.quote
}
