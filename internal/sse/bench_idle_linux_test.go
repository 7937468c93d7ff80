package sse

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkIdle5000 is about 5,000 followers of a run on which nothing happens:
// the memory of the process for each, and its CPU in ten seconds with
// keep-alives on. It takes 30 seconds whatever b.N is.
func BenchmarkIdle5000(b *testing.B) {
	b.Run("product", func(b *testing.B) { benchIdle(b, newProduct(b)) })
	b.Run("floor", func(b *testing.B) { benchIdle(b, newFloor(b)) })
}

func benchIdle(b *testing.B, s subject) {
	const n, seconds = 5000, 30
	runtime.GC()
	before := rss(b)
	client := startClient(b, s.addr(), n)
	defer client.stop()
	for s.followers() < n {
		<-time.After(time.Millisecond)
	}
	<-time.After(time.Second)
	b.ReportMetric(float64(rss(b)-before)/1024/n, "KiB/follower")
	cpu := cpuTime()
	<-time.After(seconds * time.Second)
	b.ReportMetric((cpuTime()-cpu).Seconds()*10/seconds, "cpu-s/10s")
	b.ReportMetric(float64(rss(b)-before)/1024/n, "KiB/follower-later")
	b.ReportMetric(0, "ns/op")
}

// rss returns what the process has in memory, in bytes.
func rss(tb testing.TB) int64 {
	tb.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		tb.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// BenchmarkResume1000 is the time from connecting to the last byte of 1,000
// missed events.
func BenchmarkResume1000(b *testing.B) {
	b.Run("memory", func(b *testing.B) { benchResume(b, newProduct(b)) })
	b.Run("log", func(b *testing.B) { benchResume(b, newProductWith(b, Options{CacheBytes: -1})) })
	b.Run("finished", func(b *testing.B) {
		p := newProduct(b)
		fill(p)
		p.finish()
		benchResumeFilled(b, p)
	})
	b.Run("floor", func(b *testing.B) { benchResume(b, newFloor(b)) })
}

func fill(s subject) {
	for range 2000 {
		s.publish()
	}
}

func benchResume(b *testing.B, s subject) {
	fill(s)
	benchResumeFilled(b, s)
}

func benchResumeFilled(b *testing.B, s subject) {
	resumeOnce(b, s.addr())
	for b.Loop() {
		resumeOnce(b, s.addr())
	}
}

func resumeOnce(b *testing.B, addr string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nLast-Event-ID: e1-1000\r\n\r\n"); err != nil {
		b.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 64<<10), nil)
	if err != nil {
		b.Fatal(err)
	}
	body := bufio.NewReaderSize(resp.Body, 64<<10)
	for events := 0; events < 1000; {
		line, err := body.ReadSlice('\n')
		if err != nil {
			b.Fatal(err)
		}
		if strings.HasPrefix(string(line), "id: ") {
			events++
		}
	}
}
