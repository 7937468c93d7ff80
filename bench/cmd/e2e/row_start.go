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
	killedTokens  = 50_000
	killedAfter   = 5_000
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
	time.Sleep(memorySettled)
	values := map[string]float64{
		"ms":           ms(took),
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

// killMidRun kills the product while a run is being written.
func (l *lab) killMidRun(p *product) error {
	defer p.kill()
	s, err := load.Open(p.request(turn{name: l.unique("killed"), script: upstream.Script{Tokens: killedTokens}}, ""))
	if err != nil {
		return err
	}
	defer s.Close()
	return s.ReadUntil(func(s *load.Stream) bool { return s.Events >= killedAfter })
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
