package store_test

import (
	"flag"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/search"
	"verbatim/internal/store"
	"verbatim/internal/turnlog"
)

// messages is how many questions and answers BenchmarkSearch looks through.
var messages = flag.Int("messages", 20_000, "messages that BenchmarkSearch searches")

// writers and turnsEach make the benchmark's conversations: as many as write
// beside each other, and how long one gets.
const (
	writers   = 64
	turnsEach = 50
)

// BenchmarkSearch searches messages that were written through the log, as a
// conversation writes them: two commits a turn, the index in the same. Each
// operation is 1,000 different queries; figures are per query.
func BenchmarkSearch(b *testing.B) {
	db, err := store.Open(b.TempDir(), store.Options{BallastBytes: -1})
	if err != nil {
		b.Fatal(err)
	}
	log := turnlog.New(db, turnlog.Options{CacheTotalBytes: 1 << 20})
	defer log.Close()
	world := newVocabulary(1)
	began := time.Now()
	slowest := write(b, log, world, *messages/2)
	took := time.Since(began)
	b.Run("Insert", func(b *testing.B) {
		b.ReportMetric(float64(*messages)/took.Seconds(), "messages/s")
		b.ReportMetric(float64(slowest.Milliseconds()), "slowest-ms")
		b.ReportMetric(0, "ns/op")
	})
	for _, class := range classes {
		b.Run(class.name, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(2, 2))
			requests := make([]search.Request, 1000)
			for i := range requests {
				requests[i] = search.Request{Text: class.query(world, rng), Ranked: class.ranked}
			}
			// The CPU that a query takes is what a machine with other work
			// still tells.
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var waited, cpu []time.Duration
			hits := 0
			for b.Loop() {
				for _, r := range requests {
					began, used := time.Now(), threadTime(b)
					page, err := db.Search(b.Context(), r)
					if err != nil {
						b.Fatal(err)
					}
					waited, cpu = append(waited, time.Since(began)), append(cpu, threadTime(b)-used)
					hits += len(page.Hits)
				}
			}
			b.ReportMetric(percentile(waited, 50), "p50-ms")
			b.ReportMetric(percentile(waited, 99), "p99-ms")
			b.ReportMetric(percentile(cpu, 50), "cpu-p50-ms")
			b.ReportMetric(percentile(cpu, 99), "cpu-p99-ms")
			b.ReportMetric(float64(hits)/float64(len(waited)), "hits")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// percentile is in milliseconds.
func percentile(all []time.Duration, p int) float64 {
	slices.Sort(all)
	return float64(all[(len(all)-1)*p/100].Microseconds()) / 1000
}

// threadTime is the CPU time of the calling thread.
func threadTime(tb testing.TB) time.Duration {
	tb.Helper()
	var used unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(used.Nano())
}

// classes are the kinds of queries. Words are drawn as often as they are
// written, or each as often as any other; two words are from one text.
var classes = []struct {
	name   string
	ranked bool
	query  func(*vocabulary, *rand.Rand) string
}{
	{"CommonWord", false, func(w *vocabulary, r *rand.Rand) string { return w.word(r) }},
	{"RareWord", false, func(w *vocabulary, r *rand.Rand) string { return w.latin[r.IntN(len(w.latin))] }},
	{"TwoWords", false, func(w *vocabulary, r *rand.Rand) string { return w.word(r) + " " + w.latin[r.IntN(2000)] }},
	{"Prefix", false, func(w *vocabulary, r *rand.Rand) string { return firstOf(w.latin[r.IntN(len(w.latin))], 1+r.IntN(4)) }},
	{"TwoHan", false, func(w *vocabulary, r *rand.Rand) string { return w.character(r) + w.character(r) }},
	{"Ranked", true, func(w *vocabulary, r *rand.Rand) string { return w.word(r) }},
	{"RankedTwo", true, func(w *vocabulary, r *rand.Rand) string { return w.word(r) + " " + w.word(r) }},
}

func firstOf(s string, n int) string { return s[:min(n, len(s))] }

// vocabulary is a made-up vocabulary. Words are used as Zipf found that people do.
type vocabulary struct{ latin, han []string }

func newVocabulary(seed uint64) *vocabulary {
	rng := rand.New(rand.NewPCG(seed, seed))
	w := &vocabulary{}
	seen := map[string]bool{}
	for len(w.latin) < 50_000 {
		var b strings.Builder
		// The most common words are the short ones.
		for range 1 + rng.IntN(2+min(3, len(w.latin)/100)) {
			b.WriteByte("bcdfghjklmnprstvwz"[int(rng.ExpFloat64()*5)%18])
			b.WriteByte("eaoiu"[int(rng.ExpFloat64()*1.5)%5])
			if rng.IntN(3) == 0 {
				b.WriteByte("nrstl"[rng.IntN(5)])
			}
		}
		if s := b.String(); !seen[s] {
			seen[s] = true
			w.latin = append(w.latin, s)
		}
	}
	for c := range rune(3000) {
		w.han = append(w.han, string(0x4E00+c*3))
	}
	return w
}

// zipf returns a rank below n; that of rank r is about as likely as 1/(r+3).
func zipf(r *rand.Rand, n int) int {
	return int(rand.NewZipf(r, 1.07, 3, uint64(n-1)).Uint64())
}

func (w *vocabulary) word(r *rand.Rand) string      { return w.latin[zipf(r, len(w.latin))] }
func (w *vocabulary) character(r *rand.Rand) string { return w.han[zipf(r, len(w.han))] }

// text makes a message of 60 to 600 bytes; each tenth is Chinese.
func (w *vocabulary) text(r *rand.Rand) string {
	size := 60 + r.IntN(541)
	var b strings.Builder
	chinese := r.IntN(10) == 0
	for b.Len() < size {
		switch {
		case !chinese:
			b.WriteString(w.word(r) + " ")
		case r.IntN(12) == 0:
			b.WriteString("，")
		default:
			b.WriteString(w.character(r))
		}
	}
	return b.String()
}

// write writes turns and returns how long the slowest commit took.
func write(tb testing.TB, log *turnlog.Log, w *vocabulary, turns int) (slowest time.Duration) {
	tb.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for p := range writers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(p), 3))
			mine := turns / writers
			if p < turns%writers {
				mine++
			}
			for i := range mine {
				name := strconv.Itoa(p) + "-" + strconv.Itoa(i)
				c := id.Conversation("c" + strconv.Itoa(p) + "-" + strconv.Itoa(i/turnsEach))
				for _, drafts := range turnOf(name, w.text(rng), w.text(rng)) {
					began := time.Now()
					if _, err := log.Append(tb.Context(), c, drafts...); err != nil {
						tb.Error(err)
						return
					}
					took := time.Since(began)
					mu.Lock()
					slowest = max(slowest, took)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return slowest
}

// turnOf is a question and its answer as two units.
func turnOf(name, question, answer string) [2][]turnlog.Draft {
	r, m := id.Run("r"+name), id.Message("a"+name)
	of := func(e event.Event) turnlog.Draft { return turnlog.Draft{Run: r, Message: m, Event: e} }
	half := len(answer) / 2
	for !utf8.RuneStart(answer[half]) {
		half++
	}
	return [2][]turnlog.Draft{
		{
			{Event: event.UserMessage{Message: id.Message("q" + name), Text: question, Via: event.Via{Surface: "web"}}},
			of(event.Start{Model: "demo/demo", Version: 1, Request: "hash"}),
		},
		{
			of(event.Delta{Segment: "s1", Text: answer[:half]}),
			of(event.Delta{Segment: "s1", Offset: int64(half), Text: answer[half:]}),
			of(event.SegmentEnd{Segment: "s1", Phase: event.PhaseAnswer, Bytes: int64(len(answer)), Visible: true}),
			of(event.End{Finish: event.FinishStop, Chars: int64(utf8.RuneCountInString(answer))}),
		},
	}
}
