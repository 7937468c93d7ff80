package delivery

import (
	"time"

	"verbatim/internal/split"
	"verbatim/internal/surface"
)

// editable reports whether a placement can still be changed.
func (l *Lane) editable(s *spot) bool {
	return l.cfg.Caps.Edit && s.State == Delivered && s.PlatformID != "" && !s.Sealed
}

// nextEdit lets the last post of a text grow. It is done when the post is full,
// or shows all of a text that is closed.
func (l *Lane) nextEdit(t *track, it *item, s *spot, now time.Time) (Op, hold) {
	old := it.closed && l.old(s, now)
	switch {
	case now.Before(s.NotBefore) && !old:
		return wait(s.NotBefore), blocked
	case s.ending, old && l.mustCheck(s):
		return l.check(t, it, s), blocked
	case old:
		return l.letGo(t, it, s, now), blocked
	}
	if !it.closed && !s.unsure {
		if until, ok := l.editDue(it, s, now); !ok {
			return wait(until), open
		}
	}
	text := string(it.text)
	to, full := l.cut(it, s.Plain, text, int(s.From))
	last := full || it.closed
	if !last {
		to = min(to, max(split.Steady(text, int(s.From)), int(s.To)))
	}
	to = max(to, int(s.To))
	post := l.post(t, it, s, int64(to))
	if fingerprint(&post) != s.Shown || s.unsure {
		return Op{Kind: OpEdit, Priority: editPriority(it), Post: post, PlatformID: s.PlatformID, t: t, it: it, spot: s, to: int64(to)}, blocked
	}
	switch {
	case !last:
		return wait(time.Time{}), open
	case l.mustCheck(s):
		return l.check(t, it, s), blocked
	}
	return Op{Kind: OpStore, t: t, it: it, spot: s, after: func() {
		s.To, s.Sealed = int64(to), true
		l.close(s)
	}}, blocked
}

func editPriority(it *item) Priority {
	switch {
	case it.kind == surface.KindApproval:
		return ForApproval
	case it.kind == surface.KindTool:
		return ForTool
	case it.closed:
		return ForFinal
	}
	return ForText
}

// editDue says whether a growing text is to be edited in now, or when.
func (l *Lane) editDue(it *item, s *spot, now time.Time) (until time.Time, ok bool) {
	ink := split.Visible(string(it.text[s.To:]), l.cfg.Policy.BufferThreshold)
	if ink == 0 {
		return time.Time{}, false
	}
	due := s.At.Add(l.interval(now))
	if ink < l.cfg.Policy.BufferThreshold {
		if late := s.At.Add(lateEdit); late.After(due) {
			due = late
		}
	}
	return due, !now.Before(due)
}

// close forgets the body of a placement that nothing is done about any more.
func (l *Lane) close(s *spot) { s.Body = nil }

// letGo ends a post whose edits were tried for as long as they may be: what is
// confirmed stays, the rest is for another post.
func (l *Lane) letGo(t *track, it *item, s *spot, now time.Time) Op {
	op := Op{Kind: OpStore, t: t, it: it, spot: s}
	if s.unsure && s.EditTo > s.To {
		op.make = l.lost(t, it, s, now)
	}
	op.after = func() {
		s.Sealed, s.unsure, s.EditTo = true, false, 0
		if s.Error == "" {
			s.Error = "it could not be completed in time"
		}
	}
	return op
}

// lost is what an edit may have shown that can't be made again.
func (l *Lane) lost(t *track, it *item, s *spot, now time.Time) *spot {
	lost := l.spot(t, it, s.To, s.EditTo)
	lost.Post, lost.State, lost.Sealed, lost.At = l.cfg.Mint(), Unknown, true, now
	lost.Error = "an edit may have shown it before its message could not be changed any more"
	return lost
}
