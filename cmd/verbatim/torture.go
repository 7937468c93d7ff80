package main

import (
	"context"
	"fmt"

	"verbatim/internal/delivery/sim"
)

type tortureCommand struct {
	Seed      *uint64 `placeholder:"N" help:"The first seed. Alone it plays that one schedule, and shows each step of it."`
	Schedules int     `placeholder:"N" help:"How many schedules of each kind of surface to play; 2000 without --seed."`
	Surface   string  `enum:"edit,readback,blind,idempotent,all" default:"all" help:"What the platform can do: edit, readback, blind, idempotent, or all of them in turn."`
	Chats     int     `default:"1" help:"How many chats share the account, 1 to 8."`
	Table     bool    `help:"Print the table of situations in docs/delivery.md instead."`
}

// Run plays schedules of faults against the delivery of chats, and fails when a
// reader would miss a word or see one twice.
func (c *tortureCommand) Run(ctx context.Context, std streams) error {
	if c.Table {
		_, err := fmt.Fprint(std.out, sim.Comparison())
		return err
	}
	if c.Schedules < 0 || c.Chats < 1 || c.Chats > 8 {
		return fmt.Errorf("--schedules must not be negative, and --chats from 1 to 8: %d and %d were given", c.Schedules, c.Chats)
	}
	failed := false
	for _, s := range sim.Surfaces() {
		if c.Surface != "all" && c.Surface != string(s) {
			continue
		}
		ok, err := c.play(ctx, std, s)
		if err != nil {
			return err
		}
		failed = failed || !ok
	}
	if failed {
		return errSilent
	}
	return nil
}

// mostFailures is how many schedules that failed are told of each kind of surface.
const mostFailures = 10

// play plays the schedules of one kind of surface.
func (c *tortureCommand) play(ctx context.Context, std streams, s sim.Surface) (ok bool, err error) {
	first, n, alone := uint64(0), c.Schedules, false
	if c.Seed != nil {
		first, alone = *c.Seed, n == 0
	}
	switch {
	case alone:
		n = 1
	case n == 0:
		n = 2000
	}
	sum := &sim.Sum{}
	for i := range uint64(n) {
		if err := ctx.Err(); err != nil {
			return false, fmt.Errorf("stopped after %d schedules: %w", i, err)
		}
		opt := sim.Options{Surface: s, Chats: c.Chats, Trace: alone}
		r := sim.Run(first+i, opt)
		sum.Add(first+i, r)
		if r.Failed() && !alone && len(sum.Failed) <= mostFailures {
			opt.Trace = true
			r = sim.Run(first+i, opt)
		}
		if err := tell(std, s, first+i, r); err != nil {
			return false, err
		}
	}
	return len(sum.Failed) == 0, sim.WriteSum(std.out, s, sum)
}

// tell prints what went wrong in a schedule, and its steps if they are there.
func tell(std streams, s sim.Surface, seed uint64, r sim.Result) error {
	for _, line := range r.Trace {
		if _, err := fmt.Fprintln(std.out, line); err != nil {
			return err
		}
	}
	if !r.Failed() {
		return nil
	}
	for _, problem := range r.Problems {
		std.say("seed %d, surface %s: %s", seed, s, problem)
	}
	return nil
}
