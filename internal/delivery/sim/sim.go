// Package sim runs the real lanes of delivery through faults and judges by what a
// reader sees. Platform, clock, disk and people are played; the lane, its script,
// its splitter and its governor are the program's own. A schedule is made of a seed
// alone: the same seed always does the same.
package sim

import (
	"maps"
	"slices"
	"time"

	"verbatim/internal/delivery"
)

// Surface is a kind of platform.
type Surface string

// The kinds.
const (
	// Edit changes its messages and can't be read back, as Telegram.
	Edit Surface = "edit"
	// ReadBack changes its messages and can be read back, as Zulip.
	ReadBack Surface = "readback"
	// Blind takes messages, and that is all.
	Blind Surface = "blind"
	// Idempotent drops what it has seen under the same key, as a webhook.
	Idempotent Surface = "idempotent"
)

// Surfaces returns all kinds.
func Surfaces() []Surface { return []Surface{Edit, ReadBack, Blind, Idempotent} }

// Fault is a class of things that go wrong.
type Fault string

// The classes.
const (
	CrashBefore  Fault = "crash before a commit"
	CrashAfter   Fault = "crash after a commit"
	CrashLanded  Fault = "crash in a call that landed"
	CrashMissed  Fault = "crash in a call that did not land"
	CrashIdle    Fault = "crash between steps"
	RateLimit    Fault = "429 with a delay"
	ServerError  Fault = "not taken, no delay given"
	LostAck      Fault = "landed, acknowledgement lost"
	Timeout      Fault = "read timeout, not landed"
	MarkupFault  Fault = "markup refused"
	RefusedEver  Fault = "refused for ever"
	Slow         Fault = "slow call"
	NotShown     Fault = "edit acknowledged, not shown"
	Deleted      Fault = "message deleted by a person"
	Duplicate    Fault = "message received twice"
	Zombie       Fault = "a start that was replaced goes on"
	ClockJump    Fault = "clock set"
	DiskFull     Fault = "disk full for a while"
	ChatClosed   Fault = "chat closed to us for a while"
	TurnDeleted  Fault = "turn deleted while it is shown"
	SwitchedOver Fault = "chat switched to another conversation"
)

// Faults returns the classes that can happen on a surface.
func Faults(s Surface) []Fault {
	all := []Fault{
		CrashBefore, CrashAfter, CrashLanded, CrashMissed, CrashIdle, RateLimit, ServerError, LostAck, Timeout,
		MarkupFault, RefusedEver, Slow, Deleted, Duplicate, Zombie, ClockJump, DiskFull, ChatClosed, TurnDeleted, SwitchedOver,
	}
	if s == ReadBack {
		all = append(all, NotShown)
	}
	return all
}

// Options say what is simulated.
type Options struct {
	Surface Surface
	// Chats is how many chats share the account, 1 when 0.
	Chats int
	// Trace keeps every step in the result.
	Trace bool
	// Adjust, if set, changes the lanes before they are made.
	Adjust func(c *delivery.Config)
}

// Result is what a reader saw, and what went wrong on the way. All counts but
// Words, Calls and Unsure should be 0.
type Result struct {
	// Lost, Doubled and Reordered count words. A word that a receipt calls
	// unknown, refused or expired is not lost; one that was sent again because
	// a person asked for it is not doubled.
	Lost, Doubled, Reordered int
	// Blank counts posts without a visible character, Cut words that ended in
	// the middle, Glyphs cursor glyphs.
	Blank, Cut, Glyphs int
	// Stuck counts chats with something left to do that nothing was done
	// about.
	Stuck int
	// Early counts calls during a delay that the platform asked for, Same edits
	// that changed nothing, Long messages over the platform's limit.
	Early, Same, Long int
	// Untold counts calls that were not stored before they were made or whose
	// outcome was not stored before the next; Untrue receipts that say
	// something else than what is shown; Ranges placements of a text that are
	// not one after the other; Silent runs of which something may be missing
	// and nobody was told.
	Untold, Untrue, Ranges, Silent int

	// Words is how many there were to show, Unsure how many of them receipts
	// call unknown, refused or expired; Calls counts calls of the platform.
	Words, Unsure, Calls int
	// Faults counts what went wrong, by class.
	Faults map[Fault]int
	// Problems says in words what is counted above, the first of each kind.
	Problems []string
	// Trace is every step, if it was asked for.
	Trace []string
	// Posts are the messages that are on the platform at the end, by chat.
	Posts [][]string
}

// Other counts what is wrong and has no column of its own in a table.
func (r Result) Other() int {
	return r.Glyphs + r.Early + r.Same + r.Long + r.Untold + r.Untrue + r.Ranges + r.Silent
}

// Failed reports whether anything went wrong.
func (r Result) Failed() bool {
	return r.Lost+r.Doubled+r.Reordered+r.Blank+r.Cut+r.Stuck+r.Other() > 0
}

// Run plays the schedule of a seed.
func Run(seed uint64, opt Options) Result {
	w := newWorld(seed, opt)
	w.schedule()
	w.play()
	w.judge()
	return w.res
}

// Sum adds up results.
type Sum struct {
	Schedules int
	Total     Result
	// ByFault adds up the schedules in which a fault happened.
	ByFault map[Fault]*Sum
	// Failed are the seeds of the schedules that failed.
	Failed []uint64
}

// Add counts a result.
func (s *Sum) Add(seed uint64, r Result) {
	s.add(seed, r)
	if s.ByFault == nil {
		s.ByFault = map[Fault]*Sum{}
	}
	for _, f := range slices.Sorted(maps.Keys(r.Faults)) {
		if s.ByFault[f] == nil {
			s.ByFault[f] = &Sum{}
		}
		s.ByFault[f].add(seed, r)
	}
}

func (s *Sum) add(seed uint64, r Result) {
	s.Schedules++
	t := &s.Total
	for _, n := range []struct {
		to *int
		by int
	}{
		{&t.Lost, r.Lost}, {&t.Doubled, r.Doubled}, {&t.Reordered, r.Reordered}, {&t.Blank, r.Blank}, {&t.Cut, r.Cut},
		{&t.Glyphs, r.Glyphs}, {&t.Stuck, r.Stuck}, {&t.Early, r.Early}, {&t.Same, r.Same}, {&t.Long, r.Long},
		{&t.Untold, r.Untold}, {&t.Untrue, r.Untrue}, {&t.Ranges, r.Ranges}, {&t.Silent, r.Silent},
		{&t.Words, r.Words}, {&t.Unsure, r.Unsure}, {&t.Calls, r.Calls},
	} {
		*n.to += n.by
	}
	if r.Failed() {
		s.Failed = append(s.Failed, seed)
	}
}

// epoch is when every schedule begins.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
