package sim

import (
	"context"
	"slices"
	"strings"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/id"
)

// patience is how long after the last fault everything is shown at the latest.
const patience = 30 * time.Minute

// place is where a word is to be.
type place struct {
	told
	receipt *shownRun
	seen    int
	deleted bool
}

// shownRun is a run in a chat.
type shownRun struct {
	delivery.Receipt
	run   id.Run
	story *story
}

// verdict is what is found out about one chat.
type verdict struct {
	*world
	room *room
	runs []*shownRun
	want []*place
	by   map[string]*place
	// order is the place of a word among those to be seen.
	order map[*place]int
	// touched are runs of which a person deleted a message.
	touched map[id.Run]bool
}

// judge reads what is on the platform at the end.
func (w *world) judge() {
	if late := w.now.Sub(w.calm); !w.calm.IsZero() && late > patience {
		w.wrong(&w.res.Stuck, "the last step comes %v after the last fault", late)
	}
	for _, r := range w.rooms {
		v := &verdict{world: w, room: r, by: map[string]*place{}, order: map[*place]int{}, touched: map[id.Run]bool{}}
		v.receipts()
		v.expect()
		v.read()
		v.count()
		for _, run := range v.runs {
			v.check(run)
		}
		var posts []string
		for _, m := range r.messages {
			if !m.deleted {
				posts = append(posts, m.text)
			}
		}
		w.res.Posts = append(w.res.Posts, posts)
	}
}

// receipts reads what is stored about each run in the chat, and complains of runs
// that are not shown.
func (v *verdict) receipts() {
	for _, s := range v.stories {
		for n := range s.runs {
			run := s.runID(n + 1)
			all, err := v.disk.Receipts(context.Background(), run)
			if err != nil {
				panic("sim: " + err.Error())
			}
			for _, r := range all {
				if r.Binding.Address != v.room.address {
					continue
				}
				v.runs = append(v.runs, &shownRun{r, run, s})
				if !r.Finished {
					v.wrong(&v.res.Stuck, "%s is never shown to its end in %s", run, v.room.address.Chat.ID)
				}
			}
		}
	}
}

// expect makes the list of words that a reader is to see, in order.
func (v *verdict) expect() {
	for _, run := range v.runs {
		for _, t := range run.story.told {
			if t.run == run.run && v.shows(t) {
				v.want = append(v.want, &place{told: t, receipt: run})
			}
		}
	}
	live := v.caps.Edit && v.policy.Streaming
	slices.SortStableFunc(v.want, func(a, b *place) int { return slices.Compare(a.rank(live), b.rank(live)) })
	for name, post := range v.room.lines {
		if _, said := v.watch.place[post]; said {
			v.want = append(v.want, &place{told: told{name: name, what: inLine}})
		}
	}
	for i, p := range v.want {
		v.by[p.name], v.order[p] = p, i
	}
	v.res.Words += len(v.want)
}

func (p *place) rank(live bool) []int64 {
	if live {
		return []int64{p.receipt.Binding.ID, p.pos, int64(p.sub)}
	}
	return []int64{p.receipt.Binding.ID, p.flat, int64(p.sub)}
}

// shows reports whether the chat shows a word by its policy.
func (v *verdict) shows(t told) bool {
	here := t.via.Surface == v.room.address.Surface && t.via.Device == v.room.address.Chat.ID
	if t.again && !here {
		return false
	}
	switch t.what {
	case inQuestion:
		return v.policy.Echo && !here
	case inCommentary:
		return v.policy.Commentary
	case inReasoning:
		return v.policy.Reasoning != delivery.ReasoningNone
	case inTool:
		return v.policy.Tools != delivery.ShowNothing
	default:
		return true
	}
}

// read goes through the messages as a reader does.
func (v *verdict) read() {
	last := -1
	for _, m := range v.room.messages {
		all, half := words(m.text)
		if half > 0 {
			v.wrong(&v.res.Cut, "a word is cut in %q", m.text)
		}
		if p, ok := v.watch.place[m.post]; ok && m.deleted {
			v.touched[p.Run] = true
		}
		for _, w := range all {
			p := v.by[w.name]
			switch {
			case p == nil:
				v.wrong(&v.res.Doubled, "%s is shown and was not to be", w.name)
				continue
			case m.deleted:
				p.deleted = true
				continue
			}
			p.seen++
			if p.what == inLine || p.seen > 1 || v.watch.asked[m.post] > 0 {
				continue
			}
			if v.order[p] < last {
				v.wrong(&v.res.Reordered, "%s is shown after %s", w.name, v.want[last].name)
			}
			last = max(last, v.order[p])
		}
	}
}

// count finds words that are missing, or there too often.
func (v *verdict) count() {
	for _, p := range v.want {
		most := 1
		if p.what == inApproval && !v.caps.Edit {
			most = 2 // the request and its resolution
		}
		state, asked := v.stateOf(p)
		most += asked
		if p.seen > most {
			v.wrong(&v.res.Doubled, "%s (%s) is shown %d times", p.name, state, p.seen)
		}
		unsure := state == delivery.Unknown || state == delivery.Refused || state == delivery.Expired
		if unsure {
			v.res.Unsure++
		}
		if p.seen == 0 && !p.deleted && !unsure && !v.excused(p) {
			v.wrong(&v.res.Lost, "%s is not shown; its placement is %q", p.name, state)
		}
	}
}

// excused says that a word need not be there.
func (v *verdict) excused(p *place) bool {
	if p.receipt == nil {
		return false
	}
	if p.receipt.story.deleted[p.run] || !p.receipt.Finished {
		return true // Its turn was deleted, or it is counted as stuck.
	}
	// A card that is gone or too old, that takes no change any more or that was
	// sent again when its run was over, shows nothing new.
	if p.what != inTool && p.what != inApproval {
		return false
	}
	for _, s := range p.receipt.Place {
		if s.State == delivery.Expired || s.Segment == "" && v.watch.asked[s.Post] > 0 {
			return true
		}
	}
	for _, f := range []Fault{RefusedEver, MarkupFault, NotShown, ClockJump} {
		if v.res.Faults[f] > 0 {
			return true
		}
	}
	return v.touched[p.run] || v.room.closures > 0
}

// stateOf returns the state of the placement that a word is in, and how often a
// person asked for it again.
func (v *verdict) stateOf(p *place) (state delivery.State, asked int) {
	if p.receipt == nil {
		s := v.watch.place[v.room.lines[p.name]]
		return s.State, v.watch.asked[s.Post]
	}
	if p.what == inQuestion { // It belongs to no run.
		for _, post := range v.watch.order[itemKey{p.receipt.Binding.ID, "q:m_" + string(p.run)}] {
			s := v.watch.place[post]
			state, asked = s.State, v.watch.asked[s.Post]
		}
		return state, asked
	}
	for _, s := range p.receipt.Place {
		in := s.Segment == "" && strings.HasPrefix(s.Item, prefix[p.what])
		if p.segment != "" {
			in = s.Segment == p.segment && s.From <= int64(p.at) && int64(p.at) < s.To
		}
		if !in {
			continue
		}
		asked += v.watch.asked[s.Post]
		if state == "" || s.State != delivery.Delivered {
			state = s.State
		}
	}
	return state, asked
}

// prefix is how items are named that hold a word.
var prefix = map[what]string{inTool: "g:", inApproval: "a:", inNotice: "n:"}

// check compares receipts with what is shown.
func (v *verdict) check(run *shownRun) {
	troubled, told := false, false
	for _, p := range run.Place {
		switch p.State {
		case delivery.Unknown, delivery.Refused:
			troubled = troubled || !strings.HasPrefix(p.Item, "g:") && v.watch.asked[p.Post] == 0
		case delivery.Delivered:
			if p.Segment != "" {
				v.truth(run, p)
			}
		default:
		}
		told = told || strings.HasPrefix(p.Item, "u:")
	}
	if troubled && !told && v.room.closures == 0 && run.Finished && !run.story.deleted[run.run] {
		v.wrong(&v.res.Silent, "a part of %s may be missing and nobody was told", run.run)
	}
}

// truth checks that a message shows the range that its receipt confirms.
func (v *verdict) truth(run *shownRun, p delivery.Placement) {
	if run.story.deleted[run.run] {
		return // Nobody looks whether the last edit of what was deleted is shown.
	}
	text := run.story.text[run.run][p.Segment]
	if p.To > int64(len(text)) || p.From > p.To {
		v.wrong(&v.res.Untrue, "%s is said to show [%d, %d) of %d bytes", p.Post, p.From, p.To, len(text))
		return
	}
	want, _ := words(text[p.From:p.To])
	m := v.room.byPost[p.Post]
	if m == nil {
		v.wrong(&v.res.Untrue, "%s is said to be delivered and was never there", p.Post)
		return
	}
	if m.deleted {
		return
	}
	got, _ := words(m.text)
	for i, w := range want {
		if i >= len(got) || got[i].name != w.name {
			v.wrong(&v.res.Untrue, "%s is said to show [%d, %d) and shows %q", p.Post, p.From, p.To, m.text)
			return
		}
	}
	for _, w := range got[len(want):] {
		if state, _ := v.stateOf(v.by[w.name]); state != delivery.Unknown {
			v.wrong(&v.res.Untrue, "%s shows %s, more than it is said to", p.Post, w.name)
		}
	}
}
