package main

import (
	"fmt"
	"time"

	"verbatim/bench/internal/load"
	"verbatim/bench/internal/machine"
	"verbatim/bench/internal/upstream"
)

const rowIdle = "idle-5000"

const (
	idleReaders = 5000
	idleTokens  = 10
	// idleWindow holds one keep-alive for every follower.
	idleWindow = 15 * time.Second
	settle     = 4 * time.Second
)

// idle measures what a follower costs while its run is silent.
func (l *lab) idle() error {
	script := upstream.Script{Tokens: idleTokens, Gate: l.unique("idle-product")}
	p, err := l.freshProduct("idle")
	if err != nil {
		return err
	}
	t := turn{name: "idle", script: script}
	if err := l.idleOf(ours, p.process, script, func() error { return l.hold(p, t) }, func(int) load.Request { return p.request(t, "") }); err != nil {
		p.kill()
		return err
	}
	if err := p.stop(); err != nil {
		return err
	}
	script.Gate = l.unique("idle-floor")
	f, addr, err := l.startCursor()
	if err != nil {
		return err
	}
	defer f.kill()
	return l.idleOf(floor, f, script, func() error { return l.publish(addr, "turn", script) }, func(int) load.Request { return load.Get(addr, "/sub?ch=turn") })
}

func (l *lab) idleOf(target string, server *process, script upstream.Script, begin func() error, request func(int) load.Request) error {
	if err := begin(); err != nil {
		return fmt.Errorf("%s: %w", target, err)
	}
	loop, err := load.NewLoop(false, 0)
	if err != nil {
		return err
	}
	before := machine.RSS(server.pid())
	if err := loop.OpenAll(idleReaders, request); err != nil {
		loop.Stop(0)
		return fmt.Errorf("%s: %w", target, err)
	}
	time.Sleep(settle)
	after := machine.RSS(server.pid())
	cpu := machine.CPU(server.pid())
	time.Sleep(idleWindow)
	cpu = machine.CPU(server.pid()) - cpu
	waited := machine.RSS(server.pid())
	if err := l.openGate(script.Gate); err != nil {
		loop.Stop(0)
		return err
	}
	wait(20*time.Second, func() bool { return loop.Events() >= idleReaders*idleTokens })
	used := machine.RSS(server.pid())
	r := loop.Stop(idleTokens)
	each := func(kib int64) float64 { return float64(kib-before) / idleReaders }
	return l.record.add(l.round, rowIdle, target, r.Tally, map[string]float64{
		"kib_each":             each(after),
		"kib_each_after_wait":  each(waited),
		"kib_each_after_words": each(used),
		"cpu_s_per_10s":        cpu.Seconds() * 10 / idleWindow.Seconds(),
		"keep_alives":          float64(r.KeepAlives),
		"rss_before_kib":       float64(before),
		"events":               float64(r.Events),
	})
}
