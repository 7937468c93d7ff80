package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/delivery/deliverytest"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/surface"
)

// faults are what may go wrong in a schedule.
type faults struct {
	armed  map[Fault]bool
	full   bool
	poison []string
	// busy is how likely a thing goes wrong, in 100.
	busy int
}

// newWorld prepares a schedule.
func newWorld(seed uint64, opt Options) *world {
	w := newBare(opt)
	w.rand = rand.New(rand.NewPCG(seed, 1))
	w.caps = capsOf(opt.Surface, 700+w.rand.IntN(500))
	if !w.caps.Edit {
		w.nameless = w.rand.IntN(2) == 0
	}
	if opt.Surface == Blind {
		w.caps.Markup = w.rand.IntN(3) == 0
	}
	if w.rand.IntN(3) == 0 {
		w.caps.PerChat = time.Duration(w.rand.IntN(1000)) * time.Millisecond
	}
	if opt.Chats > 1 {
		w.caps.PerToken = 40 * time.Millisecond
	}
	w.policies()
	return w
}

func (w *world) policies() {
	one := func(n int) bool { return w.rand.IntN(n) == 0 }
	w.policy.Streaming = !one(7)
	w.policy.Commentary = !one(7)
	w.policy.Tools = []delivery.Level{delivery.ShowTruncated, delivery.ShowTruncated, delivery.ShowEverything, delivery.ShowNothing}[w.rand.IntN(4)]
	if one(4) {
		w.policy.Reasoning = []delivery.Reasoning{delivery.ReasoningCode, delivery.ReasoningBlockquote, delivery.ReasoningSubtext}[w.rand.IntN(3)]
	}
}

// schedule decides what is said and what goes wrong.
func (w *world) schedule() {
	f := &faults{armed: map[Fault]bool{}, busy: 4 + w.rand.IntN(20)}
	rare := rarity(w.opt.Surface)
	for _, name := range Faults(w.opt.Surface) {
		f.armed[name] = w.rand.IntN(rare[name]) == 0
	}
	m := &mint{}
	var end time.Duration
	for i := range max(w.opt.Chats, 1) {
		r := w.room(fmt.Sprintf("chat%d", i+1))
		c := id.Conversation(fmt.Sprintf("c%d", i+1))
		w.at(0, func() { w.bind(r, c) })
		s := newStory(&writer{w.rand, m}, c, r.here(), w.caps.Size.Max)
		s.at = 500 * time.Millisecond
		for range 1 + w.rand.IntN(3) {
			s.random(f.armed[TurnDeleted])
			s.pass(12 * time.Second)
		}
		w.tell(s)
		end = max(end, s.at)
		if f.armed[SwitchedOver] {
			end = max(end, w.switchOver(r, s, m))
		}
		w.people(r, f, end, m)
	}
	end += 5 * time.Second
	w.calm = epoch.Add(end)
	w.arm(f, end)
}

// rarity says in one of how many schedules a fault may happen. Those of calls often
// find no call to happen in.
func rarity(s Surface) map[Fault]int {
	in := map[Fault]int{}
	for _, f := range Faults(s) {
		in[f] = 5
	}
	for _, f := range []Fault{CrashLanded, CrashMissed, RateLimit, ServerError, LostAck, Timeout, MarkupFault, Slow} {
		in[f] = 4
	}
	in[NotShown] = 2
	return in
}

// switchOver binds the chat to another conversation while it shows one.
func (w *world) switchOver(r *room, s *story, m *mint) time.Duration {
	c := s.conv + "b"
	at := time.Duration(w.rand.Int64N(int64(s.at)))
	other := newStory(s.writer, c, r.here(), w.caps.Size.Max)
	other.at = max(at-3*time.Second, 0)
	for range 1 + w.rand.IntN(2) {
		other.random(false)
		other.pass(5 * time.Second)
	}
	w.tell(other)
	w.at(at, func() { w.fault(SwitchedOver); w.bind(r, c) })
	return other.at
}

// people are what people do in a chat, and the product's own lines.
func (w *world) people(r *room, f *faults, end time.Duration, m *mint) {
	some := func(n int, do func()) {
		for range w.rand.IntN(n + 1) {
			w.at(time.Duration(w.rand.Int64N(int64(end)+1)), do)
		}
	}
	if w.rand.IntN(3) == 0 {
		key, name := fmt.Sprintf("k%s", r.address.Chat.ID), m.word()
		r.lines[name] = "s_" + key
		some(1, func() { w.sayLine(r, key, name) })
	}
	if w.rand.IntN(3) == 0 {
		some(2, func() { w.again(r) })
	}
	if f.armed[Deleted] {
		some(4, func() { w.deleteOne(r) })
	}
	if f.armed[ChatClosed] {
		at := time.Duration(w.rand.Int64N(int64(end)))
		w.at(at, func() { r.closed, r.closures = true, r.closures+1; w.fault(ChatClosed) })
		w.at(at+time.Duration(w.rand.Int64N(int64(4*time.Second))), func() {
			r.closed = false
			w.product(func() error {
				w.process.pilot(r).lane.Revive()
				w.wake()
				return nil
			})
		})
	}
}

// sayLine posts a line of the product itself, as the hub does.
func (w *world) sayLine(r *room, key, name string) {
	w.product(func() error {
		ctx := context.Background()
		b, _, err := w.disk.Bound(ctx, r.address)
		if err != nil {
			return err
		}
		p := delivery.Placement{Post: "s_" + key, Binding: b.ID, Item: "s:" + key, Part: 1, State: delivery.Planned, First: w.clock()}
		p.Body = &surface.Post{ID: p.Post, Conversation: string(b.Conversation), Kind: surface.KindNotice, Part: 1, Text: "Note " + name}
		w.note("line  %s", p.Post)
		fresh, err := w.disk.Add(ctx, delivery.Change{Address: r.address, Binding: b.ID, Place: []delivery.Placement{p}})
		if err != nil || len(fresh) == 0 {
			return err
		}
		w.watch.stored(w, delivery.Change{Place: fresh})
		w.process.pilot(r).lane.Say(p)
		w.wake()
		return nil
	})
}

// again is a person who asks for what may be missing.
func (w *world) again(r *room) {
	w.product(func() error {
		ctx := context.Background()
		unsure, err := w.disk.Unsure(ctx, r.address)
		if err != nil {
			return err
		}
		change := delivery.Change{Address: r.address, Place: delivery.Repeats(unsure, w.caps, w.policy, w.clock())}
		if len(change.Place) == 0 {
			return nil
		}
		for _, p := range change.Place {
			w.watch.asked[p.Post]++
		}
		if err := w.disk.Save(ctx, change); err != nil {
			return err
		}
		w.note("again %d posts", len(change.Place))
		w.watch.stored(w, change)
		l := w.process.pilot(r).lane
		l.Revive()
		for _, p := range change.Place {
			l.Say(p)
		}
		w.wake()
		return nil
	})
}

// deleteOne deletes one of the last messages.
func (w *world) deleteOne(r *room) {
	for i := len(r.messages) - 1; i >= 0; i-- {
		if m := r.messages[i]; !m.deleted && w.rand.IntN(2) == 0 {
			w.fault(Deleted)
			w.note("delete %s", m.id)
			m.deleted = true
			if m.told != "" {
				m.text = m.told
			}
			return
		}
	}
}

// arm makes the faults happen.
func (w *world) arm(f *faults, end time.Duration) {
	some := func(name Fault, n int, do func()) {
		if !f.armed[name] {
			return
		}
		for range 1 + w.rand.IntN(n) {
			w.at(time.Duration(w.rand.Int64N(int64(end))), do)
		}
	}
	some(CrashIdle, 4, func() {
		if !w.process.dead {
			w.fault(CrashIdle)
			w.crash(w.process)
		}
	})
	some(Zombie, 2, func() {
		if w.process.ready() {
			w.fault(Zombie)
			w.start()
		}
	})
	some(ClockJump, 1, func() {
		for len(w.pilots) > 0 {
			w.crash(w.pilots[0].process)
		}
		w.setClock()
	})
	some(DiskFull, 2, func() {
		f.full = true
		w.at(w.now.Sub(epoch)+time.Duration(w.rand.Int64N(int64(30*time.Second))), func() { f.full = false })
	})
	if f.armed[RefusedEver] {
		for range 1 + w.rand.IntN(2) {
			s := w.stories[w.rand.IntN(len(w.stories))]
			f.poison = append(f.poison, s.told[w.rand.IntN(len(s.told))].name)
		}
	}
	w.twice = f.armed[Duplicate]
	w.down = func() time.Duration { return time.Duration(w.rand.Int64N(int64(10 * time.Second))) }
	w.commit = func(method string) deliverytest.Fate { return w.randomCommit(f, method) }
	w.fate = func(r *room, op delivery.Op) Fate { return w.randomFate(f, r, op) }
}

// setClock sets the clock of the machine, while no process runs.
func (w *world) setClock() {
	w.fault(ClockJump)
	jumps := []time.Duration{
		-time.Hour, -20 * time.Minute, -3 * time.Second, -time.Second, time.Second, 7 * time.Second, time.Hour, 5 * time.Hour,
		30 * time.Hour, -30 * time.Hour,
	}
	w.jump += jumps[w.rand.IntN(len(jumps))]
	for _, r := range w.rooms {
		r.quiet = time.Time{}
	}
}

// hit says whether a fault happens now.
func (w *world) hit(f *faults, name Fault) bool {
	if !f.armed[name] || w.now.After(w.calm) || w.rand.IntN(100) >= f.busy {
		return false
	}
	w.fault(name)
	return true
}

func (w *world) randomCommit(f *faults, method string) deliverytest.Fate {
	switch {
	case method != "Save" && method != "Add" && method != "Bind":
		return deliverytest.Stored
	case f.full:
		w.fault(DiskFull)
		return deliverytest.Failed
	case w.hit(f, CrashBefore):
		return deliverytest.CrashBefore
	case w.hit(f, CrashAfter):
		return deliverytest.CrashAfter
	}
	return deliverytest.Stored
}

func (w *world) randomFate(f *faults, r *room, op delivery.Op) Fate {
	out := Fate{After: time.Duration(20+w.rand.IntN(300)) * time.Millisecond}
	switch op.Kind {
	case delivery.OpSend, delivery.OpEdit:
		r.checks = 0
	case delivery.OpCheck:
		if r.checks++; r.checks > 2 {
			return out // A platform that lies and never answers can't be seen through.
		}
	default:
	}
	if w.hit(f, Slow) {
		out.After = time.Duration(1000+w.rand.IntN(19000)) * time.Millisecond
		out.Landed = w.rand.IntN(2) == 0
	}
	if op.Kind == delivery.OpSend || op.Kind == delivery.OpEdit {
		for _, name := range f.poison {
			if strings.Contains(op.Post.Text, name) {
				w.fault(RefusedEver)
				return Fate{After: out.After, Class: surface.Refused}
			}
		}
	}
	switch {
	case w.hit(f, RateLimit):
		return Fate{Class: surface.NotTaken, After: out.After, RetryAfter: time.Duration(1+w.rand.IntN(40)) * time.Second, Wide: w.rand.IntN(3) == 0}
	case w.hit(f, ServerError):
		return Fate{Class: surface.NotTaken, After: out.After}
	case w.hit(f, LostAck):
		return Fate{Class: surface.Unknown, After: out.After, Landed: true, Late: time.Duration(w.rand.IntN(25)) * time.Second}
	case w.hit(f, Timeout):
		return Fate{Class: surface.Unknown, After: out.After}
	case w.hit(f, CrashLanded):
		return Fate{Crash: true, After: out.After, Late: time.Duration(w.rand.IntN(20)) * time.Second}
	case w.hit(f, CrashMissed):
		return Fate{Crash: true, After: out.After, Class: surface.Unknown}
	case !op.Post.Plain && op.Kind == delivery.OpSend && w.hit(f, MarkupFault), !op.Post.Plain && op.Kind == delivery.OpEdit && w.hit(f, MarkupFault):
		return Fate{Class: surface.Refused, Markup: true, After: out.After}
	case op.Kind == delivery.OpEdit && w.hit(f, NotShown):
		return Fate{After: out.After, Hidden: true}
	}
	return out
}

// receive is a message that comes more than once: it is taken once.
func (w *world) receive(m event.UserMessage) {
	in := delivery.Inbound{
		Delivery: "d_" + string(m.Message), Address: delivery.Address{Surface: m.Via.Surface, Chat: surface.Chat{ID: m.Via.Device}},
		ID: string(m.Message), State: delivery.InboundWaiting, At: w.clock(), Text: m.Text,
	}
	if err := w.disk.AddInbound(context.Background(), in); err != nil {
		return
	}
	w.fault(Duplicate)
	if err := w.disk.AddInbound(context.Background(), in); !errors.Is(err, delivery.ErrReceived) {
		w.wrong(&w.res.Doubled, "message %s was taken twice: %v", m.Message, err)
	}
}
