package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/delivery/deliverytest"
	"verbatim/internal/surface"
)

// process is one start of the program.
type process struct {
	w        *world
	disk     *deliverytest.Memory
	governor *delivery.Governor
	pilots   []*pilot
	dead     bool
}

// pilot drives one lane as the program does: read the log, ask what is next, store
// it, make the call, store what it came to.
type pilot struct {
	*process
	room *room
	lane *delivery.Lane
	// due is when it does something next, unless it is idle.
	due  time.Time
	idle bool
	// busy says that it is in a call, or waits to store something; then is what
	// it does next.
	busy bool
	then func()
	wait time.Duration
	// took is when it was allowed the call that it makes.
	took time.Time
}

// start starts the program.
func (w *world) start() {
	if w.process != nil {
		w.disk = w.disk.Reopen()
	}
	p := &process{w: w, disk: w.disk, governor: delivery.NewGovernor(w.caps.PerToken)}
	w.process = p
	w.note("start %d", p.disk.Start())
	for _, r := range w.rooms {
		l := &pilot{process: p, room: r, due: w.now}
		l.then, l.busy = l.load, true
		p.pilots = append(p.pilots, l)
		w.pilots = append(w.pilots, l)
	}
}

// ready reports whether all lanes are loaded.
func (p *process) ready() bool {
	return !p.dead && !slices.ContainsFunc(p.pilots, func(l *pilot) bool { return l.lane == nil })
}

func (p *process) pilot(r *room) *pilot {
	for _, l := range p.pilots {
		if l.room == r {
			return l
		}
	}
	return nil
}

// end takes a process away.
func (w *world) end(p *process) {
	p.dead = true
	w.pilots = slices.DeleteFunc(w.pilots, func(l *pilot) bool { return l.process == p })
}

// crash ends a process, and starts the next one later if it was the newest.
func (w *world) crash(p *process) {
	if p.dead {
		return
	}
	w.note("crash of %d", p.disk.Start())
	p.disk.Crash()
	w.end(p)
	if w.process == p {
		w.at(w.now.Sub(epoch)+w.down(), w.start)
	}
}

// load takes up what is stored.
func (l *pilot) load() {
	w := l.w
	saved, err := l.disk.Lane(context.Background(), l.room.address)
	if err != nil {
		l.failed(err, l.load)
		return
	}
	w.watch.stored(w, delivery.Change{Place: saved.Place})
	w.note("loaded %d bindings %d posts", len(saved.Bindings), len(saved.Place))
	cfg := delivery.Config{
		Address: l.room.address, Caps: w.caps, Policy: w.policy, Render: render(w.caps.Size.Unit), Start: l.disk.Start(),
		Mint: func() string { w.minted++; return fmt.Sprintf("p%d", w.minted) },
	}
	if w.caps.ReadBack {
		cfg.Same = same
	}
	if w.opt.Adjust != nil {
		w.opt.Adjust(&cfg)
	}
	lane, change := delivery.NewLane(cfg, saved)
	l.save(change, func() {
		l.lane = lane
		l.after(0, l.look)
	})
}

// after has the pilot do something after a time.
func (l *pilot) after(d time.Duration, do func()) {
	l.busy, l.idle, l.due, l.then = true, false, l.w.now.Add(d), do
}

// wake has it look again, if it only waits.
func (l *pilot) wake(now time.Time) {
	if !l.busy {
		l.idle, l.due = false, now
	}
}

func (l *pilot) step() { l.then() }

// rest waits for a time, or for whatever comes.
func (l *pilot) rest(until time.Time) {
	l.busy, l.idle, l.then = false, until.IsZero(), l.look
	if l.due = until.Add(-l.w.jump); l.due.Before(l.w.now) {
		l.due = l.w.now
	}
}

// look finds out what is next.
func (l *pilot) look() {
	w := l.w
	for _, at := range l.lane.Readings() {
		if log := w.logs[at.Conversation]; int64(len(log)) > at.After {
			l.lane.Feed(at.Binding, log[at.After:])
		}
	}
	now := w.clock()
	op := l.lane.Next(now)
	if op.Kind == delivery.OpWait {
		l.governor.Leave(l)
		l.rest(op.Until)
		return
	}
	if op.Kind != delivery.OpStore {
		if until, ok := l.governor.Take(l, op.Priority, now); !ok {
			l.rest(until)
			return
		}
		l.took = w.now
	}
	l.save(l.lane.Begin(op, now), func() {
		if op.Kind == delivery.OpStore {
			l.lane.Stored()
			l.after(0, l.look)
			return
		}
		l.call(op)
	})
}

func empty(c delivery.Change) bool {
	return len(c.Place) == 0 && c.Pace == nil && c.Done == 0 && len(c.Runs) == 0
}

// save stores a change, however long that takes, and then does something.
func (l *pilot) save(c delivery.Change, then func()) {
	if empty(c) {
		then()
		return
	}
	err := l.disk.Save(context.Background(), c)
	if err == nil {
		l.wait = 0
		l.w.watch.stored(l.w, c)
		l.w.noteChange(c)
		then()
		return
	}
	if errors.Is(err, deliverytest.ErrCrashed) && l.w.last == deliverytest.CrashAfter {
		l.w.watch.stored(l.w, c) // It is stored, though nobody was told.
		l.w.noteChange(c)
	}
	l.failed(err, func() { l.save(c, then) })
}

// failed tries again what could not be stored.
func (l *pilot) failed(err error, again func()) {
	switch {
	case errors.Is(err, deliverytest.ErrCrashed):
		l.w.crash(l.process)
	case errors.Is(err, delivery.ErrFenced):
		l.w.note("start %d writes nothing any more", l.disk.Start())
		l.w.end(l.process)
	default:
		l.w.note("not stored: %v", err)
		l.wait = min(max(2*l.wait, 100*time.Millisecond), 5*time.Second)
		l.after(l.wait, again)
	}
}

// call makes a call of the platform.
func (l *pilot) call(op delivery.Op) {
	w := l.w
	f := w.fate(l.room, op)
	w.watch.called(w, l, op)
	var out surface.Outcome
	switch op.Kind {
	case delivery.OpLook, delivery.OpCheck:
		w.res.Calls++
	default:
		out = w.call(l.room, op, f)
	}
	if f.After >= delivery.CallTime {
		f.After = delivery.CallTime
		out = surface.Outcome{Class: surface.Unknown, Detail: "no answer in time"}
	}
	w.note("call  %s %s %s%s landed=%v after=%v %s %q", l.room.address.Chat.ID, opName(op), op.Post.ID, op.PlatformID, f.Landed, f.After, out.Class, op.Post.Text)
	if f.Crash {
		l.after(f.After/2, func() { w.crash(l.process) })
		return
	}
	l.after(f.After, func() { l.settle(op, f, out) })
}

func opName(op delivery.Op) string {
	return map[delivery.OpKind]string{
		delivery.OpSend: "send", delivery.OpEdit: "edit", delivery.OpLook: "look", delivery.OpCheck: "check", delivery.OpTyping: "typing",
	}[op.Kind]
}

var errUnread = errors.New("the platform did not answer")

// settle says what a call came to.
func (l *pilot) settle(op delivery.Op, f Fate, out surface.Outcome) {
	w, now := l.w, l.w.clock()
	var err error
	if out.Class == surface.Unknown || f.Class != "" && f.Class != surface.Delivered {
		err = errUnread
	}
	var change delivery.Change
	switch op.Kind {
	case delivery.OpLook:
		change = l.lane.SettleLook(op, w.seen(l.room, op, err), err, now)
	case delivery.OpCheck:
		seen, readErr := w.read(l.room, op.PlatformID)
		if err != nil {
			readErr = err
		}
		change = l.lane.SettleCheck(op, seen, readErr, now)
		if readErr == nil && !same(seen, w.watch.shown[op.PlatformID].text) {
			delete(w.watch.shown, op.PlatformID)
		}
	default:
		if out.Wide && out.RetryAfter > 0 {
			l.governor.Pause(now.Add(out.RetryAfter))
		}
		change = l.lane.Settle(op, out, now)
	}
	called := w.now
	w.note("came to %s %s", out.Class, out.Detail)
	l.save(change, func() {
		w.watch.settled(w, l, op, out, called)
		l.after(0, l.look)
	})
}

func (w *world) seen(r *room, op delivery.Op, err error) []surface.Seen {
	if err != nil {
		return nil
	}
	return w.own(r, op.After)
}

// noteChange adds what was stored to the trace.
func (w *world) noteChange(c delivery.Change) {
	if !w.opt.Trace {
		return
	}
	for _, p := range c.Place {
		w.note("saved %s %s part %d [%d, %d) edit to %d %s %s sealed=%v attempts=%d %s", p.Post, p.Item, p.Part, p.From, p.To, p.EditTo, p.State, p.PlatformID, p.Sealed, p.Attempts, p.Error)
	}
	if c.Pace != nil || c.Done != 0 {
		w.note("saved pace %v done %d runs %v", c.Pace, c.Done, c.Runs)
	}
}
