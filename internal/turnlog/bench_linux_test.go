package turnlog_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/store"
	"verbatim/internal/turnlog"
)

// The benchmarks compare the log with a plain file that makes the same promise
// (floor). Bodies are of 150 bytes. A real disk is wanted: set TMPDIR.

const bodyBytes = 150

// bodyText makes a delta's stored body bodyBytes long.
var bodyText = strings.Repeat("abcdefgh ", 20)[:bodyBytes-len(`{"segment":"s1","offset":123456,"text":""}`)]

// turns begins n conversations with a run in each and returns a function that
// makes the next piece of one.
func turns(tb testing.TB, l *turnlog.Log, n int) func(turn int) (id.Conversation, turnlog.Draft) {
	tb.Helper()
	type turn struct {
		c      id.Conversation
		r      id.Run
		m      id.Message
		offset atomic.Int64
	}
	all := make([]*turn, n)
	var wg sync.WaitGroup
	for i := range all {
		s := strconv.Itoa(i)
		all[i] = &turn{c: id.Conversation("c" + s), r: id.Run("r" + s), m: id.Message("a" + s)}
		wg.Add(1)
		l.Post(all[i].c, []turnlog.Draft{question(id.Message("q"+s), "hi"), start(all[i].r, all[i].m)}, func(_ []event.Record, err error) {
			if err != nil {
				tb.Error(err)
			}
			wg.Done()
		})
	}
	wg.Wait()
	return func(i int) (id.Conversation, turnlog.Draft) {
		t := all[i%n]
		offset := t.offset.Add(1)
		return t.c, turnlog.Draft{Run: t.r, Message: t.m, Event: event.Delta{Segment: "s1", Offset: offset, Text: bodyText}}
	}
}

// waiting runs producers that each wait for every answer.
func waiting(b *testing.B, producers int, append func(producer int) error) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ResetTimer()
	for p := range producers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := append(p); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
}

func benchmarkAppend(b *testing.B, producers int) {
	b.Run("log", func(b *testing.B) {
		l := openLog(b, b.TempDir(), turnlog.Options{})
		next := turns(b, l, producers)
		waiting(b, producers, func(p int) error {
			c, d := next(p)
			_, err := l.Append(context.Background(), c, d)
			return err
		})
	})
	b.Run("file", func(b *testing.B) {
		f := openFloor(b)
		body := make([]byte, bodyBytes)
		ends := make([]chan error, producers)
		for i := range ends {
			ends[i] = make(chan error, 1)
		}
		waiting(b, producers, func(p int) error {
			f.append(p, body, func(err error) { ends[p] <- err })
			return <-ends[p]
		})
	})
}

// BenchmarkAppend64 has 64 producers, each with a run of its own, that wait for
// every answer.
func BenchmarkAppend64(b *testing.B) { benchmarkAppend(b, 64) }

// BenchmarkAppendOne has one.
func BenchmarkAppendOne(b *testing.B) { benchmarkAppend(b, 1) }

// BenchmarkPost is one producer that does not wait, over 1,000 runs.
func BenchmarkPost(b *testing.B) {
	l := openLog(b, b.TempDir(), turnlog.Options{})
	next := turns(b, l, 1000)
	var wg sync.WaitGroup
	flight := make(chan struct{}, 4096)
	b.ResetTimer()
	for i := range b.N {
		flight <- struct{}{}
		wg.Add(1)
		c, d := next(i)
		l.Post(c, []turnlog.Draft{d}, func(_ []event.Record, err error) {
			if err != nil {
				b.Error(err)
			}
			<-flight
			wg.Done()
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
}

// BenchmarkLatency200 appends at 200 a second, in 8 runs, and reports the time
// from there until a follower in the process has it.
func BenchmarkLatency200(b *testing.B) {
	const runs = 8
	b.Run("log", func(b *testing.B) {
		l := openLog(b, b.TempDir(), turnlog.Options{})
		next := turns(b, l, runs)
		t := newTimes(b.N)
		ctx, stop := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for i := range runs {
			wg.Go(func() { t.follow(ctx, b, l, i, runs) })
		}
		paced(b, func(n int) {
			c, d := next(n)
			t.begin(n)
			l.Post(c, []turnlog.Draft{d}, nil)
		})
		t.all.Wait()
		stop()
		wg.Wait()
		report(b, t.took)
	})
	b.Run("file", func(b *testing.B) {
		f := openFloor(b)
		t := newTimes(b.N)
		paced(b, func(n int) {
			t.begin(n)
			f.append(n%runs, make([]byte, bodyBytes), func(error) { t.end(n) })
		})
		t.all.Wait()
		report(b, t.took)
	})
}

// times measures from the append of each item to its arrival.
type times struct {
	all   sync.WaitGroup // for the arrival of all
	mu    sync.Mutex
	begun []time.Time
	took  []time.Duration
}

func newTimes(n int) *times {
	t := &times{begun: make([]time.Time, n)}
	t.all.Add(n)
	return t
}

func (t *times) begin(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun[n] = time.Now()
}

func (t *times) end(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.took = append(t.took, time.Since(t.begun[n]))
	t.all.Done()
}

// follow reads one of the runs as it grows: its pieces are every runs-th item
// and come after its question and start.
func (t *times) follow(ctx context.Context, b *testing.B, l *turnlog.Log, run, runs int) {
	c := id.Conversation("c" + strconv.Itoa(run))
	w := l.Watch(c)
	defer w.Close()
	for cursor := int64(2); ; {
		select {
		case <-w.C:
		case <-ctx.Done():
			return
		}
		records, err := l.After(context.Background(), c, cursor, turnlog.Limit{})
		if err != nil {
			b.Error(err)
			return
		}
		for _, r := range records {
			cursor = r.Seq
			t.end(int(r.Seq-3)*runs + run)
		}
	}
}

// paced does something 200 times a second.
func paced(b *testing.B, do func(n int)) {
	tick := time.NewTicker(time.Second / 200)
	defer tick.Stop()
	b.ResetTimer()
	for n := range b.N {
		<-tick.C
		do(n)
	}
}

func report(b *testing.B, took []time.Duration) {
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
}

func benchmarkAfter(b *testing.B, cacheBytes int) {
	l := openLog(b, b.TempDir(), turnlog.Options{CacheBytes: cacheBytes})
	next := turns(b, l, 1)
	for range 1000 {
		c, d := next(0)
		mustAppend(b, l, c, d)
	}
	b.ResetTimer()
	for range b.N {
		records, err := l.After(context.Background(), "c0", 2, turnlog.Limit{})
		if err != nil || len(records) != 1000 {
			b.Fatal(len(records), err)
		}
	}
}

// BenchmarkAfterMemory1000 reads 1,000 records from the cache.
func BenchmarkAfterMemory1000(b *testing.B) { benchmarkAfter(b, 1<<30) }

// BenchmarkAfterDisk1000 reads them from the database.
func BenchmarkAfterDisk1000(b *testing.B) { benchmarkAfter(b, -1) }

// BenchmarkOpenMillion opens a database of 1,000,000 events in 10,000 turns,
// after an orderly end and after kill -9 with a full write-ahead log, and
// reports the memory of the process. BENCH_DATA names a directory in which the
// database is kept for the next time.
func BenchmarkOpenMillion(b *testing.B) {
	dir := os.Getenv("BENCH_DATA")
	if dir == "" {
		dir = b.TempDir()
	}
	dir = filepath.Join(dir, "million")
	if _, err := os.Stat(dir); err != nil {
		fillMillion(b, dir)
	}
	b.Run("closed", func(b *testing.B) {
		for range b.N {
			openOnce(b, dir)
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms/open")
		b.ReportMetric(residentMiB(b), "RSS-MiB")
	})
	b.Run("killed", func(b *testing.B) {
		db, err := store.Open(dir, store.Options{})
		if err != nil {
			b.Fatal(err)
		}
		l := turnlog.New(db, turnlog.Options{})
		next := turnsFrom(b, l, "k"+strconv.FormatInt(db.Start(), 10))
		// Just under the size at which it is moved.
		for pages := 0; pages < 900; pages += 3 {
			c, d := next()
			mustAppend(b, l, c, d)
		}
		left := b.TempDir()
		for _, name := range []string{"verbatim.db", "verbatim.db-wal"} {
			link(b, filepath.Join(dir, name), filepath.Join(left, name))
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
		b.ResetTimer()
		for range b.N {
			b.StopTimer()
			again := b.TempDir()
			for _, name := range []string{"verbatim.db", "verbatim.db-wal"} {
				link(b, filepath.Join(left, name), filepath.Join(again, name))
			}
			b.StartTimer()
			openOnce(b, again)
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms/open")
	})
}

func openOnce(b *testing.B, dir string) {
	db, err := store.Open(dir, store.Options{BallastBytes: -1})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := db.Unfinished(context.Background()); err != nil {
		b.Fatal(err)
	}
	if _, err := db.Conversations(context.Background(), turnlog.Query{Limit: 50}); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
}

func link(b *testing.B, from, to string) {
	b.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
}

func turnsFrom(b *testing.B, l *turnlog.Log, name string) func() (id.Conversation, turnlog.Draft) {
	c, r, m := id.Conversation(name), id.Run("r"+name), id.Message("a"+name)
	mustAppend(b, l, c, question("q"+m, "hi"), start(r, m))
	n := int64(0)
	return func() (id.Conversation, turnlog.Draft) {
		n++
		return c, turnlog.Draft{Run: r, Message: m, Event: event.Delta{Segment: "s1", Offset: n, Text: bodyText}}
	}
}

func fillMillion(b *testing.B, dir string) {
	l := openLog(b, dir, turnlog.Options{CacheBytes: -1})
	var wg sync.WaitGroup
	flight := make(chan struct{}, 64)
	for turn := range 10_000 {
		c := id.Conversation(fmt.Sprintf("c%d", turn/10))
		r, m := id.Run(fmt.Sprintf("r%d", turn)), id.Message(fmt.Sprintf("a%d", turn))
		drafts := []turnlog.Draft{question("q"+m, "What is on the disk?"), start(r, m)}
		for i := range 97 {
			drafts = append(drafts, turnlog.Draft{Run: r, Message: m, Event: event.Delta{Segment: "s1", Offset: int64(i), Text: bodyText}})
		}
		drafts = append(drafts, turnlog.Draft{Run: r, Message: m, Event: event.End{Finish: event.FinishStop}})
		flight <- struct{}{}
		wg.Add(1)
		l.Post(c, drafts, func(_ []event.Record, err error) {
			if err != nil {
				b.Error(err)
			}
			<-flight
			wg.Done()
		})
	}
	wg.Wait()
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
}

func residentMiB(b *testing.B) float64 {
	runtime.GC()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				b.Fatal(err)
			}
			return float64(kib) / 1024
		}
	}
	return 0
}
