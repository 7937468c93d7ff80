package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"verbatim/bench/internal/load"
	"verbatim/bench/internal/machine"
	"verbatim/bench/internal/upstream"
)

func rowFanout(readers int) string { return fmt.Sprint("fanout-", readers) }

// fanoutTokens keeps a run within the few MiB of it that the product keeps in
// memory, so that the writer is measured and not reading from the disk.
func fanoutTokens(readers int) int {
	if readers >= 1000 {
		return 4_000
	}
	return 10_000
}

// fanout measures what it costs to show one run to many readers. The model
// server holds its first token until all of them are attached, then sends as
// fast as it can, and holds the end until all have all tokens: what ending a run
// costs comes once, and is read by itself.
func (l *lab) fanout(readers int) error {
	script := upstream.Script{Tokens: fanoutTokens(readers), Gate: l.unique("product", readers), End: l.unique("product", readers, "end")}
	p, err := l.freshProduct("fanout")
	if err != nil {
		return err
	}
	t := turn{name: "fanout", script: script}
	err = l.fanoutOf(ours, p.process, readers, script, func() error { return l.hold(p, t) }, func(int) load.Request { return p.request(t, "") })
	if err != nil {
		p.kill()
		return err
	}
	if err := p.stop(); err != nil {
		return err
	}
	script.Gate, script.End = l.unique("floor", readers), l.unique("floor", readers, "end")
	f, addr, err := l.startCursor()
	if err != nil {
		return err
	}
	defer f.kill()
	return l.fanoutOf(floor, f, readers, script, func() error { return l.publish(addr, "turn", script) }, func(int) load.Request { return load.Get(addr, "/sub?ch=turn") })
}

// hold starts a run and returns when its model waits at the gate. The reader
// that started it leaves again.
func (l *lab) hold(p *product, t turn) error {
	s, err := load.Open(p.request(t, ""))
	if err != nil {
		return err
	}
	s.Close()
	return l.awaitGate(t.script.Gate)
}

func (l *lab) startCursor() (*process, string, error) {
	return startFloor("floor", l.bin("floor"), "-upstream", "http://"+l.upstreamAddr)
}

// publish lets the floor follow a model's stream.
func (l *lab) publish(addr, channel string, script upstream.Script) error {
	resp, err := http.Post(fmt.Sprintf("http://%s/run?ch=%s&frame=%d", addr, channel, l.frameBytes), "text/plain", strings.NewReader(script.String()))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the floor answered %s", resp.Status)
	}
	return nil
}

func (l *lab) fanoutOf(target string, server *process, readers int, script upstream.Script, begin func() error, request func(int) load.Request) error {
	if err := begin(); err != nil {
		return fmt.Errorf("%s: %w", target, err)
	}
	loop, err := load.NewLoop(false, 0)
	if err != nil {
		return err
	}
	if err := loop.OpenAll(readers, request); err != nil {
		loop.Stop(0)
		return fmt.Errorf("%s: %w", target, err)
	}
	time.Sleep(300 * time.Millisecond) // what attaching left behind
	values, err := l.deliver(target, server, loop, readers, script)
	r := loop.Stop(int64(script.Tokens))
	if err != nil {
		return fmt.Errorf("%s: %w", target, err)
	}
	if target == ours {
		l.learnFrame(r.Tally)
		r.Lost += int64(readers - r.Ended)
	}
	values["bytes_per_event"] = float64(r.Bytes) / float64(max(r.Events, 1))
	return l.record.add(l.round, rowFanout(readers), target, r.Tally, values)
}

// deliver lets the model send all tokens, then the end, and returns what each
// took.
func (l *lab) deliver(target string, server *process, loop *load.Loop, readers int, script upstream.Script) (map[string]float64, error) {
	want := int64(readers) * int64(script.Tokens)
	began, before, client := time.Now(), machine.CPU(server.pid()), machine.SelfCPU()
	if err := l.openGate(script.Gate); err != nil {
		return nil, err
	}
	wait(60*time.Second, func() bool { return loop.Events() >= want })
	took, events := time.Since(began), float64(max(loop.Events(), 1))
	cpu := machine.CPU(server.pid()) - before
	client = machine.SelfCPU() - client
	if err := l.openGate(script.End); err != nil {
		return nil, err
	}
	values := map[string]float64{
		"cpu_s_per_million": cpu.Seconds() / events * 1e6,
		"delivered_per_s":   events / took.Seconds(),
		"client_cpu_s":      client.Seconds(),
		"peak_rss_kib":      float64(machine.Peak(server.pid())),
		"events":            events,
	}
	if target == ours {
		// The product ends each stream; the floor has no end.
		wait(5*time.Second, func() bool { return loop.Closed() >= int64(readers) })
		values["end_cpu_s"] = (machine.CPU(server.pid()) - before - cpu).Seconds()
	}
	return values, nil
}
