package sse

import (
	"context"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"verbatim/internal/event"
)

// The fan-out benchmarks count the server's CPU only: the clients are another
// process, which is this test binary again.
const benchClientEnv = "SSE_BENCH_CLIENT"

// benchText makes frames of a little more than benchFrameBytes, which is what a
// short token with ids of full length comes to.
const (
	benchText       = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	benchFrameBytes = 160
)

// BenchmarkFanout100 and BenchmarkFanout1000 publish b.N tokens of one run as
// fast as its followers take them. cpu-s/M is what a million deliveries cost
// the server; compare it with the floor's.
func BenchmarkFanout100(b *testing.B)  { benchFanout(b, 100, 48) }
func BenchmarkFanout1000(b *testing.B) { benchFanout(b, 1000, 16) }

func benchFanout(b *testing.B, n int, window int64) {
	b.Run("product", func(b *testing.B) {
		p := newProduct(b)
		// What the log in memory costs is not the subject.
		p.log.records = append(make([]event.Record, 0, b.N+10), p.log.records...)
		benchFlow(b, p, n, window)
	})
	b.Run("floor", func(b *testing.B) { benchFlow(b, newFloor(b), n, window) })
}

// subject is a server under the benchmark.
type subject interface {
	addr() string
	// followers and sent count connections and bytes written to them.
	followers() int64
	sent() int64
	publish()
	finish()
}

func benchFlow(b *testing.B, s subject, n int, window int64) {
	client := startClient(b, s.addr(), n)
	for s.followers() < int64(n) {
		runtime.Gosched()
	}
	base := s.sent()
	b.ResetTimer()
	cpu := cpuTime()
	for i := range int64(b.N) {
		for (i-window)*benchFrameBytes*int64(n) > s.sent()-base {
			<-time.After(20 * time.Microsecond)
		}
		s.publish()
	}
	s.finish()
	client.wait(b)
	used := cpuTime() - cpu
	b.StopTimer()
	deliveries := float64(b.N) * float64(n)
	b.ReportMetric(used.Seconds()/deliveries*1e6, "cpu-s/M")
	b.ReportMetric(deliveries/b.Elapsed().Seconds()/1e3, "k-deliveries/s")
	b.ReportMetric(float64(s.sent()-base)/deliveries, "B/delivery")
	b.ReportMetric(0, "ns/op")
}

func cpuTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// product is the server of this package over a log in memory.
type product struct {
	log    *memoryLog
	srv    *Server
	http   *http.Server
	l      net.Listener
	offset int64
}

func newProduct(tb testing.TB) *product { return newProductWith(tb, Options{}) }

func newProductWith(tb testing.TB, o Options) *product {
	tb.Helper()
	p := &product{log: newMemoryLog()}
	o.Log, o.Logger = p.log, quietLogger()
	p.srv = New(o)
	p.log.add(testRun, story(0)[:2]...)
	p.http = &http.Server{Handler: handler(p.srv, p.log)}
	p.l = listenLoopback(tb)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.http.Serve(p.l)
	}()
	tb.Cleanup(func() {
		_ = p.srv.Stop(context.Background())
		_ = p.http.Close()
		<-done
	})
	return p
}

func listenLoopback(tb testing.TB) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func (p *product) addr() string     { return p.l.Addr().String() }
func (p *product) followers() int64 { return p.srv.Stats().Followers }
func (p *product) sent() int64      { return p.srv.Stats().Bytes }

func (p *product) publish() {
	p.log.add(testRun, event.Delta{Segment: "s1", Offset: p.offset, Text: benchText})
	p.offset += int64(len(benchText))
}

func (p *product) finish() { p.log.add(testRun, event.Cancelled{By: "owner"}) }
