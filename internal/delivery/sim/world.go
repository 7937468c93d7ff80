package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/delivery/deliverytest"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/surface"
)

// mostSteps is how many steps a schedule has at most; one that has more is stuck.
const mostSteps = 60000

// todo is something that happens at a time by itself.
type todo struct {
	at time.Time
	do func()
}

// world is a schedule while it is played. now is the true time; a process sees it
// with jump added.
type world struct {
	opt    Options
	rand   *rand.Rand
	res    Result
	now    time.Time
	jump   time.Duration
	caps   surface.Caps
	policy delivery.Policy
	// nameless says that the platform gives messages no ids.
	nameless bool
	ids      int
	minted   int

	facts   deliverytest.Facts
	logs    map[id.Conversation][]event.Record
	logTime time.Time
	stories []*story
	rooms   []*room
	disk    *deliverytest.Memory
	process *process
	pilots  []*pilot
	todo    []todo
	watch   watch

	// fate is what becomes of the next call of a chat, and commit of the next
	// commit of the present process.
	fate   func(r *room, op delivery.Op) Fate
	commit func(method string) deliverytest.Fate
	last   deliverytest.Fate
	// down, if set, takes the place of a restart at a random time.
	down func() time.Duration
	said map[string]bool
	// twice says that what people write comes more than once.
	twice bool
	// calm is when faults stop.
	calm time.Time
}

func newBare(opt Options) *world {
	w := &world{
		opt: opt, now: epoch, logs: map[id.Conversation][]event.Record{}, policy: delivery.DefaultPolicy(),
		fate:   func(*room, delivery.Op) Fate { return Fate{After: 50 * time.Millisecond} },
		commit: func(string) deliverytest.Fate { return deliverytest.Stored },
		down:   func() time.Duration { return time.Second },
		watch:  newWatch(), said: map[string]bool{},
	}
	w.res.Faults = map[Fault]int{}
	w.disk = deliverytest.NewMemory(deliverytest.Options{
		Log: &w.facts, Now: func() time.Time { return w.clock() },
		Fate: func(method string) deliverytest.Fate {
			w.last = w.commit(method)
			return w.last
		},
	})
	return w
}

// clock is what a process takes for the time.
func (w *world) clock() time.Time { return w.now.Add(w.jump) }

// wrong counts something that is wrong and keeps the first of its kind in words.
func (w *world) wrong(n *int, format string, args ...any) {
	*n++
	w.note("WRONG "+format, args...)
	if !w.said[format] {
		w.said[format] = true
		w.res.Problems = append(w.res.Problems, fmt.Sprintf(format, args...))
	}
}

// note adds to the trace.
func (w *world) note(format string, args ...any) {
	if w.opt.Trace {
		w.res.Trace = append(w.res.Trace, fmt.Sprintf("%9.3f ", w.now.Sub(epoch).Seconds())+fmt.Sprintf(format, args...))
	}
}

// fault counts one.
func (w *world) fault(f Fault) {
	w.res.Faults[f]++
	w.note("FAULT %s", f)
}

// at has something happen after a time from the beginning.
func (w *world) at(after time.Duration, do func()) {
	t := todo{epoch.Add(after), do}
	i, _ := slices.BinarySearchFunc(w.todo, t, func(a, b todo) int {
		if a.at.After(b.at) {
			return 1
		}
		return -1
	})
	w.todo = slices.Insert(w.todo, i, t)
}

// room adds a chat.
func (w *world) room(name string) *room {
	r := &room{
		address: delivery.Address{Surface: "team", Chat: surface.Chat{ID: name}},
		byID:    map[string]*message{}, byPost: map[string]*message{}, lines: map[string]string{},
	}
	w.rooms = append(w.rooms, r)
	return r
}

// here is how a question from a chat names it.
func (r *room) here() event.Via {
	return event.Via{Surface: r.address.Surface, Device: r.address.Chat.ID, Sender: "u"}
}

// append has the log take a unit.
func (w *world) append(b beat) {
	if now := w.clock(); now.After(w.logTime) {
		w.logTime = now.Truncate(time.Millisecond)
	}
	w.facts.Append(b.conv, b.drafts...)
	for _, d := range b.drafts {
		rec, err := event.NewRecord(b.conv, d.Run, d.Message, d.Event)
		if err != nil {
			panic("sim: a record that can't be: " + err.Error())
		}
		rec.Seq, rec.At = int64(len(w.logs[b.conv]))+1, w.logTime
		w.logs[b.conv] = append(w.logs[b.conv], rec)
		if w.opt.Trace {
			w.note("log   %s %d %s %s", b.conv, rec.Seq, rec.Kind, rec.Body)
		}
		if m, ok := d.Event.(event.UserMessage); ok && w.twice {
			w.receive(m)
		}
		if rec.Kind == (event.MessageDeleted{}).Kind() {
			w.fault(TurnDeleted)
		}
	}
	w.wake()
}

// wake has lanes look at the log.
func (w *world) wake() {
	for _, p := range w.pilots {
		p.wake(w.now)
	}
}

// tell gives a story to the log, beat by beat.
func (w *world) tell(s *story) {
	w.stories = append(w.stories, s)
	for _, b := range s.beats {
		w.at(b.after, func() { w.append(b) })
	}
}

// product does something that the product itself does, as soon as a process lives
// and can store it.
func (w *world) product(do func() error) {
	err := errors.New("no process")
	if p := w.process; p != nil && p.ready() {
		err = do()
		if errors.Is(err, deliverytest.ErrCrashed) {
			w.crash(p)
		}
	}
	if err != nil {
		w.at(w.now.Sub(epoch)+200*time.Millisecond, func() { w.product(do) })
	}
}

// bind shows a conversation in a chat.
func (w *world) bind(r *room, c id.Conversation) {
	w.product(func() error {
		before, had, err := w.disk.Bound(context.Background(), r.address)
		if err != nil {
			return err
		}
		b, err := w.disk.Bind(context.Background(), r.address, c)
		if err != nil {
			return err
		}
		w.note("bind  %s shows %s from %d", r.address.Chat.ID, c, b.From)
		if had && before.ID == b.ID {
			return nil
		}
		saved, err := w.disk.Lane(context.Background(), r.address)
		if err != nil {
			return err
		}
		p := w.process.pilot(r)
		p.lane.Bind(saved.Bindings)
		p.wake(w.now)
		return nil
	})
}

// play lets everything happen until nothing is left to.
func (w *world) play() {
	w.start()
	for range mostSteps {
		p := w.first()
		switch {
		case len(w.todo) > 0 && (p == nil || !p.due.Before(w.todo[0].at)):
			t := w.todo[0]
			w.todo = w.todo[1:]
			w.pass(t.at)
			t.do()
		case p != nil:
			w.pass(p.due)
			p.step()
		default:
			return
		}
	}
	w.wrong(&w.res.Stuck, "nothing comes to an end in %d steps", mostSteps)
}

func (w *world) pass(t time.Time) {
	if t.After(w.now) {
		w.now = t
	}
}

// first returns the lane that is due first.
func (w *world) first() *pilot {
	var first *pilot
	for _, p := range w.pilots {
		if !p.idle && (first == nil || p.due.Before(first.due)) {
			first = p
		}
	}
	return first
}
