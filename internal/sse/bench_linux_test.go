package sse

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"verbatim/internal/event"
)

// The fan-out benchmarks count the server's CPU only: the clients are another
// process, which is this test binary again.
const benchClientEnv = "SSE_BENCH_CLIENT"

// benchText makes frames of about 230 bytes, which is what short tokens of a
// real run come to.
var benchText = strings.Repeat("x", 24)

// BenchmarkFanout100 and BenchmarkFanout1000 publish b.N tokens of one run as
// fast as its followers take them. cpu-s/M is what a million deliveries cost
// the server; compare it with the floor's.
func BenchmarkFanout100(b *testing.B)  { benchFanout(b, 100, 48) }
func BenchmarkFanout1000(b *testing.B) { benchFanout(b, 1000, 16) }

func benchFanout(b *testing.B, n int, window int64) {
	b.Run("product", func(b *testing.B) { benchFlow(b, newProduct(b), n, window) })
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
	before := s.sent()
	s.publish()
	waitSent(s, before+1)
	waitQuiet(s)
	frame := (s.sent() - before) / int64(n)
	base := s.sent()
	b.ResetTimer()
	cpu := cpuTime()
	for i := range int64(b.N) {
		for (i-window)*frame*int64(n) > s.sent()-base {
			<-time.After(20 * time.Microsecond)
		}
		s.publish()
	}
	waitSent(s, base+int64(b.N)*frame*int64(n))
	used := cpuTime() - cpu
	b.StopTimer()
	deliveries := float64(b.N) * float64(n)
	b.ReportMetric(used.Seconds()/deliveries*1e6, "cpu-s/M")
	b.ReportMetric(deliveries/b.Elapsed().Seconds()/1e3, "k-deliveries/s")
	b.ReportMetric(float64(frame), "B/frame")
	b.ReportMetric(0, "ns/op")
	s.finish()
	client.wait(b)
}

func waitSent(s subject, bytes int64) {
	for s.sent() < bytes {
		<-time.After(50 * time.Microsecond)
	}
}

func waitQuiet(s subject) {
	for last := int64(-1); last != s.sent(); {
		last = s.sent()
		<-time.After(100 * time.Millisecond)
	}
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

// floor is the least that the same shape costs: a shared log of bytes without a
// protocol, a store or a policy for slow clients.
type floor struct {
	l      net.Listener
	http   *http.Server
	frame  []byte
	fans   atomic.Int64
	bytes  atomic.Int64
	wake   chan struct{}
	mu     chan struct{}
	buf    []byte
	base   int64
	starts []int64
	subs   []*floorSub
}

type floorSub struct {
	fd   int
	conn net.Conn
	cur  int64
}

func newFloor(tb testing.TB) *floor {
	tb.Helper()
	frame := NewEncoder(testEpoch, testRun, nil).piece(nil, event.Record{Message: testMessage, Seq: 1000}, nameDelta, "s1", 24000, benchText)
	f := &floor{l: listenLoopback(tb), frame: frame, wake: make(chan struct{}, 1), mu: make(chan struct{}, 1)}
	f.http = &http.Server{Handler: http.HandlerFunc(f.subscribe)}
	done := make(chan struct{}, 2)
	go func() { _ = f.http.Serve(f.l); done <- struct{}{} }()
	go func() { f.write(); done <- struct{}{} }()
	tb.Cleanup(func() {
		_ = f.http.Close()
		close(f.wake)
		<-done
		<-done
		for _, s := range f.subs {
			_ = s.conn.Close()
		}
	})
	return f
}

func (f *floor) addr() string     { return f.l.Addr().String() }
func (f *floor) followers() int64 { return f.fans.Load() }
func (f *floor) sent() int64      { return f.bytes.Load() }
func (f *floor) lock()            { f.mu <- struct{}{} }
func (f *floor) unlock()          { <-f.mu }

func (f *floor) publish() {
	chunk := appendChunk(nil, f.frame)
	f.lock()
	f.starts = append(f.starts, f.base+int64(len(f.buf)))
	if len(f.buf)+len(chunk) > cap(f.buf) && len(f.buf) > 4<<20 {
		cut := len(f.buf) - 2<<20
		f.buf = append(make([]byte, 0, 8<<20), f.buf[cut:]...)
		f.base += int64(cut)
	}
	f.buf = append(f.buf, chunk...)
	f.unlock()
	f.signal()
}

func (f *floor) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *floor) finish() {
	f.lock()
	f.buf = append(f.buf, lastChunk...)
	f.unlock()
	f.signal()
}

func (f *floor) subscribe(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.Atoi(strings.TrimPrefix(r.Header.Get("Last-Event-ID"), "e1-"))
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	s := &floorSub{conn: conn}
	raw, _ := conn.(*net.TCPConn).SyscallConn()
	_ = raw.Control(func(fd uintptr) { s.fd = int(fd) })
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
	f.lock()
	s.cur = f.base + int64(len(f.buf))
	if after > 0 {
		s.cur = f.starts[after-1]
	}
	f.subs = append(f.subs[:len(f.subs):len(f.subs)], s)
	f.unlock()
	f.fans.Add(1)
	f.signal()
}

func (f *floor) write() {
	for range f.wake {
		for busy := true; busy; {
			busy = false
			f.lock()
			subs, buf, base := f.subs, f.buf, f.base
			f.unlock()
			var sent int64
			for _, s := range subs {
				if s.cur >= base+int64(len(buf)) {
					continue
				}
				n, err := unix.Write(s.fd, buf[s.cur-base:])
				if err != nil {
					busy = busy || err == unix.EAGAIN
					continue
				}
				sent += int64(n)
				s.cur += int64(n)
				busy = busy || s.cur < base+int64(len(buf))
			}
			f.bytes.Add(sent)
		}
	}
}

// benchClient is the other process.
type benchClient struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startClient(tb testing.TB, addr string, n int) *benchClient {
	tb.Helper()
	c := &benchClient{cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", benchClientEnv, addr, n))
	c.cmd.Stderr = os.Stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	c.in, c.out = in, bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	if line, err := c.out.ReadString('\n'); err != nil {
		tb.Fatal("client: ", line, err)
	}
	return c
}

// wait lets the client go once all its streams have ended and checks what it
// counted.
func (c *benchClient) wait(tb testing.TB) {
	tb.Helper()
	var r clientResult
	if err := json.NewDecoder(c.out).Decode(&r); err != nil {
		tb.Fatal(err)
	}
	_ = c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		tb.Fatal(err)
	}
	if r.Uneven {
		tb.Errorf("the clients did not all get the same number of bytes")
	}
}

// stop ends the client at once.
func (c *benchClient) stop() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

type clientResult struct {
	Bytes  int64
	Uneven bool
}

// runBenchClient opens n streams and reads them with one epoll loop.
func runBenchClient(spec string) error {
	addr, digits, _ := strings.Cut(spec, " ")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return err
	}
	ep, err := unix.EpollCreate1(0)
	if err != nil {
		return err
	}
	conns := make(map[int32]net.Conn, n)
	got := make(map[int32]int64, n)
	for range n {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			return err
		}
		raw, _ := c.(*net.TCPConn).SyscallConn()
		var fd int
		_ = raw.Control(func(f uintptr) { fd = int(f) })
		conns[int32(fd)] = c
		if err := unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	events := make([]unix.EpollEvent, 256)
	buf := make([]byte, 256<<10)
	for open := n; open > 0; {
		k, err := unix.EpollWait(ep, events, -1)
		if err != nil && err != unix.EINTR {
			return err
		}
		for i := range max(k, 0) {
			fd := events[i].Fd
			m, _ := unix.Read(int(fd), buf)
			got[fd] += int64(max(m, 0))
			if m <= 0 && m != -1 || bytes.HasSuffix(buf[:max(m, 0)], []byte("\r\n"+lastChunk)) {
				open--
				_ = unix.EpollCtl(ep, unix.EPOLL_CTL_DEL, int(fd), nil)
				_ = conns[fd].Close()
			}
		}
	}
	var r clientResult
	first := int64(-1)
	for _, n := range got {
		if first < 0 {
			first = n
		}
		r.Bytes += n
		r.Uneven = r.Uneven || n != first
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}
