package delivery

import (
	"time"

	"verbatim/internal/surface"
)

// Begin takes a step up and returns what must be stored before its call is made,
// or, of an OpStore, all there is to it. The lane takes no other step until Settle,
// or, of an OpStore, Stored.
func (l *Lane) Begin(op Op, now time.Time) Change {
	l.busy = true
	change := op.store
	change.Address = l.cfg.Address
	switch op.Kind {
	case OpStore:
		if op.after != nil {
			op.after()
		}
		if op.make != nil {
			l.made(op)
		}
	case OpSend:
		s := op.spot
		if op.make != nil {
			l.made(op)
		}
		body := op.Post
		s.State, s.Body = InFlight, &body
		l.now = current{t: op.t, it: op.it, spot: s}
		l.attempt(s, now)
		if s.First.IsZero() {
			s.First = now
		}
	case OpEdit:
		s, body := op.spot, op.Post
		s.Body, s.EditTo, s.Seq = &body, max(s.EditTo, op.to, 1), body.Seq
		l.attempt(s, now)
		if l.has(bugEarlyRange) {
			s.To = max(s.To, op.to)
		}
	default:
	}
	if len(l.owed) > 0 {
		change.Place, l.owed = append(change.Place, l.owed...), nil
	}
	if op.Kind == OpLook || op.Kind == OpCheck {
		return change
	}
	if op.spot != nil {
		change.Place = append(change.Place, op.spot.Placement)
	}
	if op.make != nil && op.make != op.spot {
		change.Place = append(change.Place, op.make.Placement)
	}
	return change
}

// made gives a new placement its place in its item.
func (l *Lane) made(op Op) {
	op.t.spots[op.it.key] = append(op.t.spots[op.it.key], op.make)
	if op.make.Post == "" {
		op.make.Post = l.cfg.Mint()
	}
}

func (l *Lane) attempt(s *spot, now time.Time) {
	s.Attempts++
	s.Start, s.At, s.NotBefore = l.cfg.Start, now, time.Time{}
	l.last = now
}

// Stored says that what Begin returned for an OpStore is durable.
func (l *Lane) Stored() { l.busy = false }

// Settle says what a call came to, and returns what must be stored before the next
// step.
func (l *Lane) Settle(op Op, out surface.Outcome, now time.Time) Change {
	l.busy = false
	change := Change{Address: l.cfg.Address}
	if op.Kind == OpTyping {
		l.typed = now
	}
	if l.heed(op, out, now) {
		pace := l.pace
		change.Pace = &pace
	}
	switch op.Kind {
	case OpSend:
		l.sent(op, out, now)
	case OpEdit:
		change.Place = append(change.Place, l.edited(op, out, now)...)
	default:
		return change
	}
	change.Place = append(change.Place, op.spot.Placement)
	l.owe(&change)
	return change
}

// heed obeys what the platform says about how often it wants to be called, and
// reports whether that changed anything.
func (l *Lane) heed(op Op, out surface.Outcome, now time.Time) bool {
	if out.RetryAfter <= 0 {
		return false
	}
	l.pace.NotBefore = later(l.pace.NotBefore, now.Add(out.RetryAfter))
	if out.Class == surface.NotTaken && op.Kind != OpTyping {
		l.pace.Interval = min(2*l.interval(now), maxInterval)
	}
	l.pace.Quiet = now
	return true
}

// sent is what became of a Send.
func (l *Lane) sent(op Op, out surface.Outcome, now time.Time) {
	s := op.spot
	s.Error = out.Detail
	switch out.Class {
	case surface.Delivered:
		l.confirmed(op, s, out.PlatformID)
	case surface.NotTaken:
		s.State = Planned
		l.backOff(s, out, now)
	case surface.Refused:
		l.refused(op, out, now)
	default:
		s.State, s.since = Unknown, now
		l.backOff(s, out, now)
		l.misjudge(s)
	}
}

// confirmed says that a post is shown.
func (l *Lane) confirmed(op Op, s *spot, platformID string) {
	s.State, s.PlatformID, s.Error, s.Again = Delivered, platformID, "", false
	s.Shown, s.Wait, s.failed = fingerprint(s.Body), 0, 0
	if platformID != "" {
		l.lastID = platformID
	}
	if op.it == nil || !l.cfg.Caps.Edit || platformID == "" || !op.it.card && op.it.closed && s.To == int64(len(op.it.text)) {
		s.Sealed = true
		l.close(s)
	}
}

// backOff sets when a call is made again.
func (l *Lane) backOff(s *spot, out surface.Outcome, now time.Time) {
	if out.RetryAfter > 0 {
		s.NotBefore = now.Add(out.RetryAfter)
		return
	}
	s.Wait = min(max(2*s.Wait, firstWait), maxWait)
	s.NotBefore = now.Add(s.Wait)
}

// refused tries a post once more as plain text.
func (l *Lane) refused(op Op, out surface.Outcome, now time.Time) {
	s := op.spot
	l.gone = l.gone || out.Gone
	s.State = Refused
	if out.Gone || s.Plain || op.it == nil {
		return
	}
	was := s.Body.Text
	s.Plain = true
	if !op.it.card {
		to, _ := l.dressed(op.it, l.plain).Cut(string(op.it.text[:s.To]), int(s.From), true)
		s.To = int64(to)
	}
	plain := l.post(op.t, op.it, s, s.To)
	if plain.Text == was {
		return
	}
	s.State, s.Body, s.NotBefore = Planned, &plain, now
}

// edited is what became of an Edit; it returns placements that it made.
func (l *Lane) edited(op Op, out surface.Outcome, now time.Time) []Placement {
	s := op.spot
	s.Error = out.Detail
	switch out.Class {
	case surface.Delivered:
		s.To, s.EditTo, s.unsure, s.failed, s.Wait, s.Error = max(s.To, op.to), 0, false, 0, 0, ""
		s.Shown = fingerprint(s.Body)
		if op.it.card {
			s.To = 0
		}
		l.sealEdited(op)
	case surface.NotTaken:
		if !s.unsure {
			s.EditTo = 0
		}
		if out.RetryAfter == 0 {
			s.failed++
		}
		l.backOff(s, out, now)
		if op.it.closed && s.failed >= deadEdits && !s.unsure && l.posts(op) {
			s.ending = l.mustCheck(s)
			s.Sealed = !s.ending
		}
	case surface.Refused:
		return l.editRefused(op, out, now)
	default:
		s.unsure = true
		l.backOff(s, out, now)
	}
	return nil
}

// posts reports whether something is left that a new post can show instead of an
// edit.
func (l *Lane) posts(op Op) bool { return !op.it.card && hasInk(string(op.it.text[op.spot.To:])) }

// sealEdited ends a post that shows all it ever will.
func (l *Lane) sealEdited(op Op) {
	s := op.spot
	if op.it.card || l.mustCheck(s) {
		return
	}
	if op.it.closed && s.To == int64(len(op.it.text)) {
		s.Sealed = true
		l.close(s)
	}
}

// editRefused keeps what is shown; the rest is posted anew. A part that a lost edit
// may have shown is a placement of its own that nobody can be sure of.
func (l *Lane) editRefused(op Op, out surface.Outcome, now time.Time) []Placement {
	s := op.spot
	if !out.Gone && !s.Plain && l.fitsPlain(op.it, s) {
		s.Plain, s.NotBefore = true, now
		if post := l.post(op.t, op.it, s, op.to); post.Text != op.Post.Text {
			if !s.unsure {
				s.EditTo = 0
			}
			return nil
		}
	}
	if !out.Gone && !op.it.card && l.mustCheck(s) {
		s.ending, s.NotBefore = true, now
		return nil
	}
	return l.seal(op, now)
}

// fitsPlain reports whether what a post shows fits into it without markup.
func (l *Lane) fitsPlain(it *item, s *spot) bool {
	if it.card {
		return true
	}
	to, _ := l.cut(it, true, string(it.text), int(s.From))
	return int64(to) >= s.To
}

// SettleLook says what own messages the platform shows after op.After.
func (l *Lane) SettleLook(op Op, seen []surface.Seen, err error, now time.Time) Change {
	l.busy = false
	s := op.spot
	change := Change{Address: l.cfg.Address}
	for _, m := range seen {
		if !l.known(m.PlatformID) && l.cfg.Same(m, s.Body.Text) {
			l.confirmed(op, s, m.PlatformID)
			change.Place = []Placement{s.Placement}
			return change
		}
	}
	if err == nil && !now.Before(later(s.At, s.since).Add(CallTime+settleTime)) {
		s.State, s.NotBefore, s.Error = Planned, now, "it was looked for and is not there"
		change.Place = []Placement{s.Placement}
		return change
	}
	s.NotBefore = now.Add(2 * time.Second)
	return change
}

// known reports whether a message is one that we know already.
func (l *Lane) known(platformID string) bool {
	for _, t := range l.tracks {
		for _, spots := range t.spots {
			for _, s := range spots {
				if s.PlatformID == platformID {
					return true
				}
			}
		}
	}
	return false
}
