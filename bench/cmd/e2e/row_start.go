package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"verbatim/bench/internal/load"
	"verbatim/bench/internal/machine"
	"verbatim/bench/internal/upstream"
)

const (
	rowStart  = "start"
	rowKilled = "start-after-kill"
)

const (
	fillRuns      = 100
	fillTokens    = 10_000
	fillAtOnce    = 10
	killedRuns    = 20
	killedRate    = 200.0
	killedAfter   = 4_000
	memorySettled = time.Second
)

// startUp measures the time from exec to the first answer with a million events
// stored: after an orderly stop, and after kill -9 in the middle of a run.
func (l *lab) startUp() error {
	if err := l.fill(); err != nil {
		return err
	}
	p, err := l.startOf(rowStart)
	if err != nil {
		return err
	}
	if err := l.killMidRun(p); err != nil {
		return err
	}
	if p, err = l.startOf(rowKilled); err != nil {
		return err
	}
	return p.stop()
}

func (l *lab) startOf(row string) (*product, error) {
	p, err := l.startProduct(l.filled)
	if err != nil {
		return nil, err
	}
	took, err := p.awaitHealth()
	if err != nil {
		p.kill()
		return nil, err
	}
	cpu := machine.CPU(p.pid())
	time.Sleep(memorySettled)
	values := map[string]float64{
		"ms":           ms(took),
		"cpu_ms":       ms(cpu),
		"rss_mib":      float64(machine.RSS(p.pid())) / 1024,
		"peak_rss_mib": float64(machine.Peak(p.pid())) / 1024,
		"disk_mib":     mib(filepath.Join(l.filled, "verbatim.db")),
		"binary_mib":   mib(l.bin("verbatim")),
	}
	return p, l.record.add(l.round, row, ours, load.Tally{}, values)
}

func mib(path string) float64 {
	fi, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return float64(fi.Size()) / (1 << 20)
}

// killMidRun kills the product while runs are being written.
func (l *lab) killMidRun(p *product) error {
	defer p.kill()
	loop, err := load.NewLoop(false, 0)
	if err != nil {
		return err
	}
	defer loop.Stop(0)
	err = loop.OpenAll(killedRuns, func(i int) load.Request {
		script := upstream.Script{Tokens: killedAfter, Rate: killedRate}
		return p.request(turn{name: l.unique("killed", i), script: script}, "")
	})
	if err != nil {
		return err
	}
	if !wait(20*time.Second, func() bool { return loop.Events() >= killedAfter }) {
		return fmt.Errorf("%d of %d tokens came in 20 s", loop.Events(), killedAfter)
	}
	return nil
}

// fill writes a million events through the product, once: runs of an unpaced
// model, some at a time, each followed to its end.
func (l *lab) fill() error {
	if l.filled != "" {
		return nil
	}
	dir, err := os.MkdirTemp(l.work, "million-")
	if err != nil {
		return err
	}
	p, err := l.startProduct(dir)
	if err != nil {
		return err
	}
	began, cpu := time.Now(), machine.CPU(p.pid())
	var all load.Tally
	for batch := range fillRuns / fillAtOnce {
		t, err := fillBatch(p, batch)
		if err != nil {
			p.kill()
			return fmt.Errorf("fill: %w", err)
		}
		all.Add(t)
	}
	took := time.Since(began)
	cpu = machine.CPU(p.pid()) - cpu
	l.filled = dir
	err = l.record.add(l.round, "fill", ours, all, map[string]float64{
		"events": float64(all.Events), "events_per_s": float64(all.Events) / took.Seconds(),
		"cpu_s_per_million": cpu.Seconds() / float64(max(all.Events, 1)) * 1e6,
		"peak_rss_mib":      float64(machine.Peak(p.pid())) / 1024,
	})
	if err != nil {
		return err
	}
	return p.stop()
}

func fillBatch(p *product, batch int) (load.Tally, error) {
	loop, err := load.NewLoop(false, 0)
	if err != nil {
		return load.Tally{}, err
	}
	err = loop.OpenAll(fillAtOnce, func(i int) load.Request {
		return p.request(turn{name: fmt.Sprintf("fill-%d-%d", batch, i), script: upstream.Script{Tokens: fillTokens}}, "")
	})
	if err == nil && !wait(2*time.Minute, func() bool { return loop.Closed() == fillAtOnce }) {
		err = fmt.Errorf("%d of %d runs ended in two minutes", loop.Closed(), fillAtOnce)
	}
	r := loop.Stop(fillTokens)
	return r.Tally, err
}
