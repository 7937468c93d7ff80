package delivery

import (
	"strings"
	"time"

	"verbatim/internal/split"
	"verbatim/internal/surface"
)

// OpKind is what a lane wants done.
type OpKind int

// The kinds. All but OpWait and OpStore are one call of the surface.
const (
	// OpWait: nothing before Until, or before something new comes when Until
	// is zero.
	OpWait OpKind = iota
	// OpStore: only store what Begin returns.
	OpStore
	OpSend
	OpEdit
	// OpLook reads the newest own posts, OpCheck one post.
	OpLook
	OpCheck
	OpTyping
)

// Priority orders lanes that share a budget; the greater goes first.
type Priority int

// The priorities.
const (
	ForTyping Priority = iota
	ForTool
	ForText
	ForApproval
	ForFinal
)

// Op is the next thing to do in a chat.
type Op struct {
	Kind     OpKind
	Until    time.Time
	Priority Priority
	// Post is what is sent or edited in, PlatformID what is edited or checked.
	Post       surface.Post
	PlatformID string
	// After is the platform id after which to look.
	After string

	t    *track
	it   *item
	spot *spot
	// make is the placement of a first Send; to the end of an Edit's range;
	// change what an OpStore stores.
	make  *spot
	to    int64
	after func()
	store Change
}

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

// nextLoose sends a post of no item.
func (l *Lane) nextLoose(s *spot, now time.Time) Op {
	if l.final(s, now) {
		return Op{Kind: OpStore, spot: s, after: func() { l.unloose(s) }}
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
	for _, it := range t.script.items {
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
	case s.State == Planned && l.old(s, now):
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

// nextText is for an item that is a text; last is its last placement.
func (l *Lane) nextText(t *track, it *item, last *spot, now time.Time) (Op, hold) {
	if it.dropped {
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
		if split.Visible(text[end:steady], enoughInk) < enoughInk {
			return 0, until, false
		}
		return int64(steady), until, true
	}
	return l.paragraph(it, text, last, end, int64(cut), now)
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
	p.Text, _ = l.cfg.Render(l.display(it, s.Plain, int(s.From), int(to)), s.Plain)
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

// editable reports whether a placement can still be changed.
func (l *Lane) editable(s *spot) bool {
	return l.cfg.Caps.Edit && s.State == Delivered && s.PlatformID != "" && !s.Sealed
}

// nextEdit lets the last post of a text grow. It is done when the post is full,
// or shows all of a text that is closed.
func (l *Lane) nextEdit(t *track, it *item, s *spot, now time.Time) (Op, hold) {
	if now.Before(s.NotBefore) {
		return wait(s.NotBefore), blocked
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
		return Op{Kind: OpCheck, Priority: ForText, PlatformID: s.PlatformID, t: t, it: it, spot: s}, blocked
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

// mustCheck reports whether it must be read back that an edit is shown.
func (l *Lane) mustCheck(s *spot) bool {
	return l.cfg.Caps.ReadBack && s.Attempts > 1 && s.checks == 0
}

// close forgets the body of a placement that nothing is done about any more.
func (l *Lane) close(s *spot) { s.Body = nil }

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
	if fingerprint(&post) == last.Shown && !last.unsure {
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
