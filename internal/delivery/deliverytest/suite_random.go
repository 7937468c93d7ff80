package deliverytest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/surface"
	"verbatim/internal/turnlog"
)

// testRandom makes the same random changes to the stores and to a Memory, and
// compares what they return.
func testRandom(w *world) {
	for seed := range uint64(3) {
		r := newRandom(newWorld(w.T, w.subject), seed)
		for step := range 120 {
			r.step()
			if step%12 == 11 {
				r.compare()
			}
			if w.Failed() {
				w.Fatalf("seed %d, step %d", seed, step)
			}
		}
	}
}

type random struct {
	*world
	rnd   *rand.Rand
	facts *Facts
	model *Memory
	turns []turn
	// posts and mail are what was stored last, chats what was bound.
	posts []delivery.Placement
	mail  []delivery.Inbound
	chats []delivery.Binding
	n     int
}

// turn is a run, with the seqs of its question and of its end, 0 while it has
// none.
type turn struct {
	c              id.Conversation
	run            id.Run
	question, last int64
	erased         bool
}

func newRandom(w *world, seed uint64) *random {
	facts := &Facts{}
	now := func() time.Time { return w.now }
	return &random{
		world: w, rnd: rand.New(rand.NewPCG(seed, 7)), facts: facts, model: NewMemory(Options{Log: facts, Now: now}),
	}
}

func pick[T any](r *random, of ...T) T { return of[r.rnd.IntN(len(of))] }

func (r *random) name(prefix string) string {
	r.n++
	return fmt.Sprint(prefix, r.n)
}

func (r *random) step() {
	r.now = r.now.Add(time.Duration(r.rnd.IntN(1000)) * time.Millisecond)
	steps := []func(){r.ask, r.ask, r.finish, r.bindOne, r.saveOne, r.saveOne, r.saveOne, r.saveOne, r.addOne, r.receive, r.receive, r.eraseTurn}
	if r.rnd.IntN(25) == 0 {
		r.reopen()
		r.model = r.model.Reopen()
		return
	}
	steps[r.rnd.IntN(len(steps))]()
}

func (r *random) append(c id.Conversation, drafts ...turnlog.Draft) int64 {
	r.place.Append(r.T, c, drafts...)
	r.facts.Append(c, drafts...)
	head, err := r.facts.Head(r.Context(), c)
	r.must(err)
	return head
}

// ask begins a turn in a conversation that has none under way.
func (r *random) ask() {
	c := pick[id.Conversation](r, "c1", "c2", "c3")
	if slices.ContainsFunc(r.turns, func(t turn) bool { return t.c == c && t.last == 0 }) {
		return
	}
	run := id.Run(r.name("r"))
	head := r.append(c,
		turnlog.Draft{Event: event.UserMessage{Message: id.Message("q" + run), Text: "hi"}},
		turnlog.Draft{Run: run, Message: id.Message("a" + run), Event: event.Start{Model: "x", Version: 1}})
	r.turns = append(r.turns, turn{c: c, run: run, question: head - 1})
}

func (r *random) finish() {
	for i := range r.turns {
		if t := &r.turns[i]; t.last == 0 && r.rnd.IntN(2) == 0 {
			t.last = r.append(t.c, turnlog.Draft{Run: t.run, Message: id.Message("a" + t.run), Event: event.End{Finish: event.FinishStop}})
		}
	}
}

func (r *random) eraseTurn() {
	for i := range r.turns {
		if t := &r.turns[i]; t.last != 0 && !t.erased && r.rnd.IntN(6) == 0 {
			t.erased = true
			what := turnlog.Erasure{Seqs: []int64{t.question}, Runs: []id.Run{t.run}}
			if r.rnd.IntN(4) == 0 {
				what = turnlog.Erasure{Through: t.last}
			}
			r.place.Erase(r.T, t.c, what)
			r.must(r.model.Erase(r.Context(), t.c, what))
		}
	}
}

func (r *random) bindOne() {
	a, c := pick(r, a1, a2, b1), pick[id.Conversation](r, "c1", "c2", "c3", "c4")
	got := r.bind(a, c)
	want, err := r.model.Bind(r.Context(), a, c)
	r.must(err)
	r.same("bound", got, want)
	r.chats = append(r.chats, want)
}

// placement makes a new one, or changes one of the chat.
func (r *random) placement(b delivery.Binding) delivery.Placement {
	var mine []delivery.Placement
	for _, p := range r.posts {
		if p.Binding == b.ID {
			mine = append(mine, p)
		}
	}
	p := post(b, r.name("p"), 0)
	p.Run = ""
	for _, t := range r.turns {
		switch {
		case t.c != b.Conversation:
		case r.rnd.IntN(2) == 0:
			p.Run, p.Seq = t.run, t.question+1
		case r.rnd.IntN(2) == 0:
			p.Run, p.Seq = "", t.question
		}
	}
	if len(mine) > 0 && r.rnd.IntN(2) == 0 {
		p = pick(r, mine...)
	}
	p.State = pick(r, delivery.Planned, delivery.InFlight, delivery.Delivered, delivery.Delivered, delivery.Blank, delivery.Unknown, delivery.Refused, delivery.Expired)
	p.EditTo, p.Again, p.PlatformID = pick[int64](r, 0, 0, 0, 9), r.rnd.IntN(8) == 0, pick(r, "", r.name("id"))
	p.At, p.To, p.Attempts, p.Shown, p.Error = r.now, p.To+1, p.Attempts+1, pick(r, "", "aa"), pick(r, "", "why")
	p.Body = nil
	if r.rnd.IntN(3) > 0 {
		p.Body = &surface.Post{ID: p.Post, Seq: p.Seq, Text: "text of " + p.Post}
	}
	return p
}

func (r *random) change() (delivery.Change, bool) {
	if len(r.chats) == 0 {
		return delivery.Change{}, false
	}
	b := pick(r, r.chats...)
	c := delivery.Change{Address: b.Address, Binding: b.ID}
	for range r.rnd.IntN(4) {
		p := r.placement(b)
		if slices.ContainsFunc(c.Place, func(o delivery.Placement) bool { return o.Post == p.Post }) {
			continue
		}
		c.Place = append(c.Place, p)
	}
	if r.rnd.IntN(3) == 0 {
		c.Done = int64(r.rnd.IntN(20))
	}
	for _, t := range r.turns {
		if t.c == b.Conversation && r.rnd.IntN(6) == 0 {
			c.Runs = append(c.Runs, delivery.RunShown{Run: t.run, Withheld: delivery.Withheld{Tools: r.rnd.IntN(3)}})
		}
	}
	if r.rnd.IntN(4) == 0 {
		c.Pace = &delivery.Pace{NotBefore: r.now, Interval: time.Duration(r.rnd.IntN(9)) * time.Second}
	}
	return c, true
}

func (r *random) keep(all []delivery.Placement) {
	for _, p := range all {
		r.posts = slices.DeleteFunc(r.posts, func(o delivery.Placement) bool { return o.Post == p.Post })
		r.posts = append(r.posts, p)
	}
}

func (r *random) saveOne() {
	if c, ok := r.change(); ok {
		r.save(c)
		r.must(r.model.Save(r.Context(), c))
		r.keep(c.Place)
	}
}

func (r *random) addOne() {
	c, ok := r.change()
	if !ok {
		return
	}
	got, err := r.s.Add(r.Context(), c)
	r.must(err)
	want, err := r.model.Add(r.Context(), c)
	r.must(err)
	var posts [2][]string
	for i, all := range [][]delivery.Placement{got, want} {
		for _, p := range all {
			posts[i] = append(posts[i], p.Post)
		}
	}
	r.same("added", posts[0], posts[1])
	r.keep(want)
}

func (r *random) receive() {
	m := r.message(r.name("m"))
	m.Run, m.Conversation = "", "c1"
	if len(r.mail) > 0 && r.rnd.IntN(2) == 0 {
		m = pick(r, r.mail...)
		m.State = pick(r, delivery.InboundWaiting, delivery.InboundTaken, delivery.InboundDone)
		if len(r.turns) > 0 {
			t := pick(r, r.turns...)
			m.Run, m.Conversation = t.run, t.c
		}
		r.must(r.s.SetInbound(r.Context(), m))
		r.must(r.model.SetInbound(r.Context(), m))
		return
	}
	r.must(r.s.AddInbound(r.Context(), m))
	r.must(r.model.AddInbound(r.Context(), m))
	r.mail = append(r.mail, m)
}

func (r *random) compare() {
	r.Helper()
	type view struct {
		Lanes     map[string]delivery.Saved
		Unsure    map[string][]delivery.Placement
		Receipts  map[id.Run][]delivery.Receipt
		Addresses []delivery.Address
		Open      []delivery.Inbound
	}
	look := func(s Stores) view {
		v := view{map[string]delivery.Saved{}, map[string][]delivery.Placement{}, map[id.Run][]delivery.Receipt{}, nil, nil}
		var err error
		for _, a := range []delivery.Address{a1, a2, b1} {
			v.Lanes[a.Chat.ID], err = s.Lane(r.Context(), a)
			r.must(err)
			v.Unsure[a.Chat.ID], err = s.Unsure(r.Context(), a)
			r.must(err)
		}
		for _, t := range r.turns {
			v.Receipts[t.run], err = s.Receipts(r.Context(), t.run)
			r.must(err)
		}
		v.Addresses, err = s.Addresses(r.Context())
		r.must(err)
		slices.SortFunc(v.Addresses, func(a, b delivery.Address) int { return cmp.Compare(a.Chat.ID, b.Chat.ID) })
		v.Open, err = s.OpenInbound(r.Context())
		r.must(err)
		return v
	}
	r.same("stored", look(r.s), look(r.model))
}
