package delivery

import (
	"time"

	"verbatim/internal/surface"
)

func wait(until time.Time) Op { return Op{Kind: OpWait, Until: until} }

// sooner returns the earlier of two waits; zero means for ever.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// hold says how an item lets those after it go on.
type hold int

const (
	// done: nothing is left to do. open: all there is is shown, more may come.
	// blocked: something must be done first.
	done hold = iota
	open
	blocked
)

// Next says what is to be done now. It changes nothing: asked again at the same
// time it says the same.
func (l *Lane) Next(now time.Time) Op {
	if l.busy {
		return wait(time.Time{})
	}
	if l.loaded {
		l.rewind(now)
	}
	if c := l.now; c.spot != nil && !l.final(c.spot, now) {
		if c.t != nil && c.it == nil {
			c.it = c.t.find(c.spot.Item)
		}
		return l.gated(l.pending(c.t, c.it, c.spot, now), now)
	}
	for _, s := range l.loose {
		return l.gated(l.nextLoose(s, now), now)
	}
	var until time.Time
	for _, t := range l.tracks {
		op, free := l.nextTrack(t, now)
		if op.Kind != OpWait {
			return l.gated(op, now)
		}
		until = sooner(until, op.Until)
		if !free {
			break
		}
	}
	if op, ok := l.nextTyping(now); ok {
		if op = l.gated(op, now); op.Kind != OpWait || until.IsZero() || op.Until.Before(until) {
			return op
		}
	}
	return wait(until)
}

// gated holds a call back until it may be made.
func (l *Lane) gated(op Op, now time.Time) Op {
	if op.Kind == OpStore || op.Kind == OpWait {
		return op
	}
	if gate := l.gate(); now.Before(gate) {
		return wait(gate)
	}
	return op
}

// nextLoose sends a post of no item, or one again. A card that is sent again shows
// what it would show now.
func (l *Lane) nextLoose(s *spot, now time.Time) Op {
	if l.final(s, now) {
		return Op{Kind: OpStore, spot: s, after: func() { l.unloose(s) }}
	}
	for _, t := range l.tracks {
		if it := t.find(s.Item); t.ID == s.Binding && it != nil && it.card && s.Body != nil {
			op := l.pending(t, it, s, now)
			if op.Kind == OpSend && s.State == Planned && s.Again {
				op.Post = l.post(t, it, s, 0)
			}
			return op
		}
	}
	return l.pending(nil, nil, s, now)
}

// find returns an item by its key; nil when its records have not been read.
func (t *track) find(key string) *item {
	for _, it := range t.script.items {
		if it.key == key {
			return it
		}
	}
	return nil
}

func (l *Lane) unloose(s *spot) {
	for i, other := range l.loose {
		if other == s {
			l.loose = append(l.loose[:i:i], l.loose[i+1:]...)
			return
		}
	}
}

// nextTrack says what is next in a binding; free reports that the one after it
// may go on.
func (l *Lane) nextTrack(t *track, now time.Time) (op Op, free bool) {
	var until time.Time
	left := false
	for _, it := range l.ahead(t) {
		if len(t.script.runs) > 0 {
			if run := t.script.runs[0]; run.last != 0 && it.first > run.last {
				// Whatever comes after a run comes after its end.
				break
			}
		}
		op, how := l.nextItem(t, it, now)
		if op.Kind != OpWait {
			return op, false
		}
		until = sooner(until, op.Until)
		if how == blocked {
			return wait(until), false
		}
		left = left || how == open && it.closed
	}
	if left {
		// A card's last change is still to be made.
		return wait(until), false
	}
	if op, ok := l.nextRun(t, now); ok {
		return op, false
	}
	if t.complete() {
		return l.drop(t), false
	}
	return wait(until), t.Closed && !t.running() && t.script.seq >= t.Until
}

// drop ends a binding.
func (l *Lane) drop(t *track) Op {
	return Op{Kind: OpStore, store: Change{Binding: t.ID, Done: max(t.Until, t.Done, 1)}, after: func() {
		for i, other := range l.tracks {
			if other == t {
				l.tracks = append(l.tracks[:i:i], l.tracks[i+1:]...)
				return
			}
		}
	}}
}

// nextItem says what is next for an item, and whether those after it may go on.
func (l *Lane) nextItem(t *track, it *item, now time.Time) (Op, hold) {
	if v, ok := t.settled[it]; ok && v == it.version {
		return wait(time.Time{}), done
	}
	spots := t.spots[it.key]
	var last *spot
	if len(spots) > 0 {
		last = spots[len(spots)-1]
		if !l.final(last, now) {
			return l.pending(t, it, last, now), blocked
		}
	}
	op, how := l.nextText(t, it, last, now)
	if it.card {
		op, how = l.nextCard(t, it, last, now)
	}
	if op.Kind == OpWait && how == done {
		t.settled[it] = it.version
	}
	return op, how
}

// pending goes on with a placement that is not settled.
func (l *Lane) pending(t *track, it *item, s *spot, now time.Time) Op {
	switch {
	case s.State == Planned && l.gone:
		return l.give(s, Refused, "the chat is closed to us")
	case s.State == Planned && it != nil && it.dropped:
		return l.give(s, Expired, "its message was deleted")
	case s.State == Planned && l.old(s, now) && !l.mustTell(t, s, now):
		return l.give(s, Expired, "it could not be posted in time")
	case s.Body == nil:
		return l.give(s, Expired, "its text was erased")
	case now.Before(s.NotBefore):
		return wait(s.NotBefore)
	case s.State == Planned || l.cfg.Caps.Idempotent:
		return Op{Kind: OpSend, Priority: priority(it, s), Post: *s.Body, t: t, it: it, spot: s}
	}
	return Op{Kind: OpLook, Priority: ForText, After: l.lastID, t: t, it: it, spot: s}
}

func priority(it *item, s *spot) Priority {
	kind := s.Body.Kind
	switch {
	case s.Body.Final, kind == surface.KindError:
		return ForFinal
	case it != nil && it.closed && it.kind == surface.KindAnswer:
		return ForFinal
	case kind == surface.KindApproval:
		return ForApproval
	case kind == surface.KindTool:
		return ForTool
	}
	return ForText
}

// give ends a placement without a call.
func (l *Lane) give(s *spot, state State, why string) Op {
	return Op{Kind: OpStore, spot: s, after: func() {
		s.State, s.Error = state, why
		if state == Expired {
			s.Body = nil
		}
	}}
}

// nextCard is for an item that is one post, whose text may change.
func (l *Lane) nextCard(t *track, it *item, last *spot, now time.Time) (Op, hold) {
	how := open
	if it.closed {
		how = done
	}
	if last == nil {
		switch {
		case it.moot || it.dropped:
			return wait(time.Time{}), done
		case l.gone:
			return l.write(t, it, 0, 0, Refused, "the chat is closed to us"), blocked
		case stale(it.at, now, l.cfg.Policy.MaxAge):
			return l.write(t, it, 0, 0, Expired, "it was too old to be posted"), blocked
		}
		return l.first(t, it, 0, 0, nil, now), blocked
	}
	if !l.editable(last) || it.dropped {
		return wait(time.Time{}), how
	}
	post := l.post(t, it, last, 0)
	if fingerprint(&post) == last.Shown && !last.unsure || it.closed && (last.Wait > deadCard || l.old(last, now)) {
		return wait(time.Time{}), how
	}
	due := last.NotBefore
	if !it.closed {
		due = later(due, last.At.Add(l.interval(now)))
	}
	if now.Before(due) {
		return wait(due), open
	}
	return Op{Kind: OpEdit, Priority: editPriority(it), Post: post, PlatformID: last.PlatformID, t: t, it: it, spot: last}, blocked
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// nextTyping shows that an answer is being written while nothing else is said.
func (l *Lane) nextTyping(now time.Time) (Op, bool) {
	if !l.cfg.Caps.Typing || l.gone || len(l.tracks) == 0 {
		return Op{}, false
	}
	t := l.tracks[len(l.tracks)-1]
	for _, run := range t.script.runs {
		if run.hidden || run.last != 0 || run.waiting > 0 || stale(run.at, now, time.Hour) {
			continue
		}
		if due := l.typed.Add(typingEvery); now.Before(due) {
			return wait(due), true
		}
		return Op{Kind: OpTyping, Priority: ForTyping}, true
	}
	return Op{}, false
}
