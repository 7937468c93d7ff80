package delivery

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"
	"unicode/utf8"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/split"
	"verbatim/internal/surface"
)

// What a lane waits for.
const (
	// CallTime is how long one call may take.
	CallTime = 15 * time.Second
	// settleTime is how long after CallTime a post that may have landed is
	// looked for.
	settleTime = 15 * time.Second
	// firstWait and maxWait bound the pause before a call is made again.
	firstWait = time.Second
	maxWait   = 5 * time.Minute
	// maxInterval is the slowest that a platform's complaints make edits, and
	// calmTime how long it must be quiet for them to become twice as fast.
	maxInterval = 10 * time.Second
	calmTime    = time.Minute
	// enoughInk is how many visible characters open a post that grows.
	enoughInk = 4
	// paragraphInk is how many must wait before text goes out at a paragraph's
	// end where posts can't grow, and paragraphGap the time between two.
	paragraphInk = 600
	paragraphGap = 2 * time.Second
	// lateEdit is how long a few characters wait for more.
	lateEdit = 3 * time.Second
	// typingEvery is how often typing is shown.
	typingEvery = 4 * time.Second
	// deadEdits is how many edits in a row the platform may fail to take before
	// what is left is posted instead.
	deadEdits = 3
	// deadCard is the pause between tries after which the last change of a card
	// is given up: what comes after its run waits for it.
	deadCard = 30 * time.Second
	// mostChecks is how often a confirmed edit is looked for where the platform
	// does not answer, and checkWait the time between two.
	mostChecks = 3
	checkWait  = 2 * time.Second
)

// Config is what a lane is made for.
type Config struct {
	Address Address
	Caps    surface.Caps
	Policy  Policy
	// Render and Same are the surface's; Same only with ReadBack.
	Render func(markdown string, plain bool) (text string, size int)
	Same   func(seen surface.Seen, text string) bool
	// Mint makes ids of posts.
	Mint func() string
	// Start is the number of this start of the process.
	Start int64

	bug bug
}

// Lane is the ordered work for one chat, without any input or output: it is told
// records, asked what is next, and told how that went. It makes no call and reads
// no clock. Not safe for concurrent use.
type Lane struct {
	cfg    Config
	marked split.Rule
	plain  split.Rule
	pace   Pace
	tracks []*track
	// loose are posts of no item: the product's own lines, and what is sent
	// again.
	loose []*spot
	// now is the post that was sent last; nothing else is begun while it is not
	// settled.
	now  current
	busy bool
	// last is when a post or an edit was last begun, typed when typing was
	// last shown.
	last, typed time.Time
	lastID      string
	// gone says that the platform has closed the chat to us.
	gone bool
	// loaded says that what was loaded was not compared with the clock yet.
	loaded bool
	// owed is only used by a bug.
	owed []Placement
}

// current is a post with what it belongs to; it and t are nil for one of no item.
type current struct {
	t    *track
	it   *item
	spot *spot
}

// spot is a placement with what is remembered of it while the process runs.
type spot struct {
	Placement
	// failed counts the edits in a row that were surely not taken; unsure says
	// that an edit up to EditTo may have landed.
	failed int
	unsure bool
	// checks counts how often it was looked at what an edit came to; checked
	// says that this is over, unshown that the edit was not there once, ending
	// that it is not edited any more.
	checks                   int
	checked, unshown, ending bool
	// since is when a call that may have landed had surely been made.
	since time.Time
}

// track is a binding of the lane, being shown.
type track struct {
	Binding
	script *script
	spots  map[string][]*spot
	// settled maps an item to its version at which nothing was left to do.
	settled map[*item]int
}

// NewLane takes up what is stored of a chat. The change, if it has any
// placements, must be stored before the first call.
func NewLane(cfg Config, saved Saved) (*Lane, Change) {
	l := &Lane{cfg: cfg, pace: saved.Pace, lastID: saved.LastID, loaded: true}
	l.marked = split.Rule{Max: cfg.Caps.Size.Max, Markers: cfg.Caps.Markup, Measure: l.measure(false)}
	l.plain = split.Rule{Max: cfg.Caps.Size.Max, Measure: l.measure(true)}
	if l.has(bugForgottenPace) {
		l.pace = Pace{}
	}
	for _, b := range saved.Bindings {
		l.track(b)
	}
	change := Change{Address: cfg.Address}
	for _, p := range saved.Place {
		s := &spot{Placement: p, unsure: p.EditTo != 0}
		if s.State == InFlight {
			s.State, s.Error = Unknown, "the process ended during the call"
			change.Place = append(change.Place, s.Placement)
		}
		l.keep(s)
	}
	return l, change
}

func (l *Lane) measure(plain bool) func(string) int {
	return func(display string) int {
		text, size := l.cfg.Render(display, plain)
		if l.has(bugUnit) {
			size = utf8.RuneCountInString(text)
		}
		return size
	}
}

func (l *Lane) keep(s *spot) {
	kept := false
	for _, t := range l.tracks {
		if t.ID == s.Binding && s.Seq > t.script.seq {
			t.spots[s.Item] = append(t.spots[s.Item], s)
			l.unsettled(current{t: t, spot: s})
			slices.SortFunc(t.spots[s.Item], func(a, b *spot) int { return cmp.Compare(a.Part, b.Part) })
			kept = true
		}
	}
	if (s.Again || !kept) && !l.final(s, time.Time{}) {
		l.loose = append(l.loose, s)
		l.unsettled(current{spot: s})
	}
}

// unsettled notes the post that the last process had begun.
func (l *Lane) unsettled(c current) {
	if c.spot.Attempts > 0 && !c.spot.Again && !l.final(c.spot, time.Time{}) {
		l.now = c
	}
}

func (l *Lane) track(b Binding) *track {
	for _, t := range l.tracks {
		if t.ID == b.ID {
			t.Closed, t.Until = b.Closed, b.Until
			t.script.until = until(b)
			return t
		}
	}
	t := &track{
		Binding: b, script: newScript(l.cfg.Address, l.cfg.Caps, l.cfg.Policy, max(b.From, b.Done)),
		spots: map[string][]*spot{}, settled: map[*item]int{},
	}
	t.script.until = until(b)
	l.tracks = append(l.tracks, t)
	return t
}

// until is the seq after which a closed binding shows no new run. A conversation
// without records has none.
func until(b Binding) int64 {
	if !b.Closed {
		return 0
	}
	return max(b.Until, 1)
}

// Bind says which bindings have something left to do, as they are stored now. One
// that is not among them was closed and has shown all there is.
func (l *Lane) Bind(all []Binding) {
	for _, t := range l.tracks {
		if !slices.ContainsFunc(all, func(b Binding) bool { return b.ID == t.ID }) {
			t.Closed, t.Until = true, t.script.seq
			t.script.until = until(t.Binding)
		}
	}
	for _, b := range all {
		l.track(b)
	}
}

// Say adds a post of the product itself, or one that is to be sent again, which is
// stored as planned.
func (l *Lane) Say(p Placement) {
	for _, s := range l.loose {
		if s.Post == p.Post {
			return
		}
	}
	for _, t := range l.tracks {
		for _, s := range t.spots[p.Item] {
			if s.Post == p.Post {
				s.Placement = p
				l.loose = append(l.loose, s)
				return
			}
		}
	}
	l.loose = append(l.loose, &spot{Placement: p})
}

// Repeats returns those of the placements that may be missing which nobody finds
// out anything more about, as they are stored to be sent again.
func Repeats(unsure []Placement, caps surface.Caps, p Policy, now time.Time) (again []Placement) {
	for _, one := range unsure {
		if !final(&one, caps, p, now) {
			continue
		}
		one.State, one.Again, one.NotBefore, one.Wait, one.First = Planned, true, time.Time{}, 0, time.Time{}
		again = append(again, one)
	}
	return again
}

// Revive says that something came from the chat: it is not closed to us.
func (l *Lane) Revive() { l.gone = false }

// Reading is a conversation that a lane follows.
type Reading struct {
	Binding      int64
	Conversation id.Conversation
	After        int64
}

// Readings returns what the lane wants records of, and after which.
func (l *Lane) Readings() []Reading {
	var out []Reading
	for _, t := range l.tracks {
		if t.complete() {
			continue
		}
		out = append(out, Reading{Binding: t.ID, Conversation: t.Conversation, After: t.script.seq})
	}
	return out
}

// Feed gives records of a binding's conversation, in order.
func (l *Lane) Feed(binding int64, records []event.Record) {
	for _, t := range l.tracks {
		if t.ID != binding {
			continue
		}
		for _, r := range records {
			t.script.apply(r)
		}
	}
}

// complete reports whether a closed binding has shown all that it ever will.
func (t *track) complete() bool {
	return t.Closed && t.script.seq >= t.Until && !t.running() && len(t.script.runs) == 0
}

func (t *track) running() bool {
	for _, run := range t.script.runs {
		if run.last == 0 {
			return true
		}
	}
	return false
}

// fingerprint names what a post shows.
func fingerprint(p *surface.Post) string {
	h := sha256.New()
	h.Write([]byte(p.Text))
	for _, b := range p.Buttons {
		h.Write([]byte("\x00" + b.Label + "\x00" + b.Data))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// final reports whether nothing more will be found out about a placement. With
// the zero time it is asked of one that was loaded.
func (l *Lane) final(s *spot, now time.Time) bool {
	return final(&s.Placement, l.cfg.Caps, l.cfg.Policy, now)
}

func final(p *Placement, caps surface.Caps, policy Policy, now time.Time) bool {
	switch p.State {
	case Planned, InFlight:
		return false
	case Unknown:
		if caps.Idempotent || caps.ReadBack {
			return p.Body == nil || old(p, policy, now)
		}
		return true
	default:
		return true
	}
}

// old reports whether a placement has been tried for as long as it may be.
func (l *Lane) old(s *spot, now time.Time) bool { return old(&s.Placement, l.cfg.Policy, now) }

func old(p *Placement, policy Policy, now time.Time) bool {
	return !p.First.IsZero() && !now.IsZero() && stale(p.First, now, policy.MaxAge)
}

// rewind sees to it that a clock that was set back while the process was down
// makes nothing wait for as long as it was set back. Whatever happened later than
// now is taken to have happened now; delays stay as long as they were. It does so
// once, for what was loaded.
func (l *Lane) rewind(now time.Time) {
	l.loaded = false
	back(now, &l.pace.Quiet, &l.pace.NotBefore)
	each := func(s *spot) {
		back(now, &s.At, &s.NotBefore)
		back(now, &s.First)
		s.since = now
	}
	for _, s := range l.loose {
		each(s)
	}
	for _, t := range l.tracks {
		for _, spots := range t.spots {
			for _, s := range spots {
				each(s)
			}
		}
	}
}

// back moves times by as much as the first of them is later than now.
func back(now time.Time, first *time.Time, more ...*time.Time) {
	by := first.Sub(now)
	if by <= 0 {
		return
	}
	for _, t := range append(more, first) {
		if !t.IsZero() {
			*t = t.Add(-by)
		}
	}
}

// interval is the time between two edits as the platform's complaints have made
// it.
func (l *Lane) interval(now time.Time) time.Duration {
	have := l.pace.Interval
	for quiet := now.Sub(later(l.pace.Quiet, l.pace.NotBefore)); have > l.cfg.Policy.EditInterval && quiet >= calmTime; quiet -= calmTime {
		have /= 2
	}
	return max(have, l.cfg.Policy.EditInterval)
}

// gate is when the next call may be made.
func (l *Lane) gate() time.Time {
	gate := l.pace.NotBefore
	if !l.last.IsZero() {
		if t := l.last.Add(l.cfg.Caps.PerChat); t.After(gate) {
			gate = t
		}
	}
	return gate
}
