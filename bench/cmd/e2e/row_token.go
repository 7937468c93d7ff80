package main

import (
	"fmt"
	"path/filepath"
	"time"

	"verbatim/bench/internal/load"
	"verbatim/bench/internal/machine"
	"verbatim/bench/internal/upstream"
)

const rowToken = "token"

const (
	tokenStreams = 100
	tokenRate    = 50.0
	tokenSeconds = 5
)

// token measures the age of each token when the client has it: straight from
// the model server, through the floor, and through the product. What a server
// adds is its median less that of the straight way.
func (l *lab) token() error {
	script := upstream.Script{Tokens: tokenRate * tokenSeconds, Rate: tokenRate}
	model := func(addr string) func(int) load.Request {
		return func(int) load.Request {
			return load.Post(addr, "/v1/chat/completions", upstream.Request(script))
		}
	}
	if err := l.tokenOf("direct", l.upstream, model(l.upstreamAddr), script); err != nil {
		return err
	}
	relay, addr, err := startFloor("relay", l.bin("relay"), "-upstream", "http://"+l.upstreamAddr, "-file", filepath.Join(l.work, l.unique("relay.log")))
	if err != nil {
		return err
	}
	err = l.tokenOf(floor, relay, model(addr), script)
	relay.kill()
	if err != nil {
		return err
	}
	p, err := l.freshProduct("token")
	if err != nil {
		return err
	}
	err = l.tokenOf(ours, p.process, func(i int) load.Request {
		return p.request(turn{name: fmt.Sprint("t", i), script: script}, "")
	}, script)
	if err != nil {
		p.kill()
		return err
	}
	return p.stop()
}

func (l *lab) tokenOf(target string, server *process, request func(int) load.Request, script upstream.Script) error {
	want := int64(tokenStreams * script.Tokens)
	loop, err := load.NewLoop(true, int(want))
	if err != nil {
		return err
	}
	began, cpu := time.Now(), machine.CPU(server.pid())
	for i := range tokenStreams {
		// The streams' tokens are spread over the time between two of one.
		due := time.Duration(float64(i) / tokenRate / tokenStreams * float64(time.Second))
		time.Sleep(time.Until(began.Add(due)))
		if err := loop.OpenAll(1, func(int) load.Request { return request(i) }); err != nil {
			loop.Stop(0)
			return fmt.Errorf("%s: %w", target, err)
		}
	}
	wait(2*tokenSeconds*time.Second, func() bool { return loop.Events() >= want })
	cpu = machine.CPU(server.pid()) - cpu
	r := loop.Stop(int64(script.Tokens))
	return l.record.add(l.round, rowToken, target, r.Tally, map[string]float64{
		"p50_ms":            ms(load.Quantile(r.Ages, 0.5)),
		"p99_ms":            ms(load.Quantile(r.Ages, 0.99)),
		"cpu_s_per_million": cpu.Seconds() / float64(max(r.Events, 1)) * 1e6,
		"rss_kib":           float64(machine.RSS(server.pid())),
		"events":            float64(r.Events),
	})
}
