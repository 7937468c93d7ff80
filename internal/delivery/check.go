package delivery

import (
	"errors"
	"time"

	"verbatim/internal/surface"
)

// mustCheck reports whether it must be read back that an edit is shown.
func (l *Lane) mustCheck(s *spot) bool {
	return l.cfg.Caps.ReadBack && s.Attempts > 1 && !s.checked
}

// check reads a post.
func (l *Lane) check(t *track, it *item, s *spot) Op {
	return Op{Kind: OpCheck, Priority: ForText, PlatformID: s.PlatformID, t: t, it: it, spot: s}
}

// SettleCheck says what a platform shows of a post that was edited.
func (l *Lane) SettleCheck(op Op, seen surface.Seen, err error, now time.Time) Change {
	l.busy = false
	s := op.spot
	change := Change{Address: l.cfg.Address}
	s.checks++
	over := true
	switch {
	case errors.Is(err, surface.ErrGone):
		s.ending = true
	case err != nil && s.checks < mostChecks:
		s.NotBefore, over = now.Add(checkWait), false
	case err != nil:
		// It was confirmed; that it can't be looked at takes nothing back.
		s.checked = true
	default:
		l.compare(op, seen)
	}
	if over && s.ending {
		change.Place = append(change.Place, l.seal(op, now)...)
	}
	change.Place = append(change.Place, s.Placement)
	return change
}

// compare takes a placement to what the platform really shows of it. When that is
// less than was confirmed it is edited once more; the second time the rest is
// posted anew.
func (l *Lane) compare(op Op, seen surface.Seen) {
	s := op.spot
	was := s.To
	post, ok := l.shownAs(op, seen)
	switch {
	case !ok:
		// Somebody else has changed it, or the platform has; what was confirmed
		// was there.
		s.checked, s.Error = true, "the platform shows something else than was posted"
		return
	case s.To >= was:
		s.checked = true
	case s.unshown || s.ending:
		s.ending, s.Error = true, "the platform took an edit and does not show it"
	default:
		s.unshown, s.checks, s.Shown = true, 0, ""
		return
	}
	s.Shown, s.unsure, s.EditTo = fingerprint(&post), false, 0
}

// shownAs finds the range of a placement that a message shows, and makes it the
// placement's.
func (l *Lane) shownAs(op Op, seen surface.Seen) (surface.Post, bool) {
	s, text := op.spot, string(op.it.text)
	try := *s
	for to := max(s.To, s.EditTo); to > s.From; to-- {
		if to > int64(len(text)) || !isBoundary(text, to) {
			continue
		}
		for _, plain := range []bool{s.Plain, !s.Plain} {
			try.Plain = plain
			if post := l.post(op.t, op.it, &try, to); l.cfg.Same(seen, post.Text) {
				s.To, s.Plain = to, plain
				return post, true
			}
		}
	}
	return surface.Post{}, false
}

func isBoundary(text string, at int64) bool {
	return at == int64(len(text)) || text[at]&0xC0 != 0x80
}

// seal ends a post: what is confirmed stays, the rest is for another one. What an
// edit may have shown that nobody can settle any more is a placement of its own.
func (l *Lane) seal(op Op, now time.Time) (lost []Placement) {
	s := op.spot
	if s.unsure && !op.it.card && s.EditTo > s.To {
		p := l.lost(op.t, op.it, s, now)
		op.t.spots[op.it.key] = append(op.t.spots[op.it.key], p)
		lost = append(lost, p.Placement)
	}
	s.Sealed, s.unsure, s.EditTo, s.ending = true, false, 0, false
	return lost
}
