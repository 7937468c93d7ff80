package sse

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
)

// bench is a server over a log, asked in one way.
type bench struct {
	log *memoryLog
	srv *Server
	get getter
}

func newBench(t testing.TB, w way, o Options) *bench {
	t.Helper()
	l := newMemoryLog()
	o.Log = l
	if o.Logger == nil {
		o.Logger = quietLogger()
	}
	srv := New(o)
	b := &bench{log: l, srv: srv}
	t.Cleanup(func() {
		if err := srv.Stop(context.Background()); err != nil {
			t.Error("stop:", err)
		}
		if n := srv.Stats(); n.Followers != 0 || n.Streams != 0 {
			t.Errorf("after Stop there are %d followers and %d streams", n.Followers, n.Streams)
		}
	})
	b.get = w.listen(t, handler(srv, l))
	return b
}

func (b *bench) open(t testing.TB, ctx context.Context, cursor string) (*frames, func()) {
	t.Helper()
	resp, err := b.get(ctx, cursor)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d", resp.StatusCode)
	}
	return framesOf(resp.Body), func() { _ = resp.Body.Close() }
}

func (b *bench) read(t testing.TB, cursor string) []string {
	t.Helper()
	f, done := b.open(t, t.Context(), cursor)
	defer done()
	got, err := f.rest()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func sameFrames(t testing.TB, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("frames (-want +got):\n%s", cmp.Diff(want, got))
	}
	last := int64(0)
	terminals := 0
	for i, f := range got {
		if seqOf(f) <= last {
			t.Fatalf("frame %d: id %d after %d", i, seqOf(f), last)
		}
		last = seqOf(f)
		if strings.HasPrefix(f, "event: end\n") {
			terminals++
		}
	}
	if terminals != 1 || !strings.HasPrefix(got[len(got)-1], "event: end\n") {
		t.Fatalf("%d terminals, last frame %q", terminals, got[len(got)-1])
	}
}

// caches are sizes of the memory: nothing, about one frame, everything.
func caches() map[string]int { return map[string]int{"nothing": -1, "one frame": 200, "everything": 0} }

func TestConformance(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Run("headers", func(t *testing.T) { testHeaders(t, w) })
			t.Run("cursors", func(t *testing.T) { testCursors(t, w) })
			t.Run("stop", func(t *testing.T) { testStop(t, w) })
			t.Run("broken log", func(t *testing.T) { testBrokenLog(t, w) })
			t.Run("100 at once", func(t *testing.T) { testAtOnce(t, w, 100) })
			for name, size := range caches() {
				t.Run("cache of "+name, func(t *testing.T) {
					t.Run("finished", func(t *testing.T) { testFinished(t, w, size) })
					t.Run("live", func(t *testing.T) { testLive(t, w, size) })
					t.Run("every cut and resume J1", func(t *testing.T) { testEveryCut(t, w, size) })
				})
			}
		})
	}
}

func testHeaders(t *testing.T, w way) {
	b := newBench(t, w, Options{})
	b.log.add(testRun, story(3)...)
	resp, err := b.get(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Proto != w.proto {
		t.Errorf("protocol %s, want %s", resp.Proto, w.proto)
	}
	want := map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no",
		"X-Content-Type-Options": "nosniff", "Content-Length": "", "Content-Encoding": "",
	}
	for name, value := range want {
		if got := resp.Header.Get(name); got != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
	if resp.Header.Get("Date") == "" {
		t.Error("no date")
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
}

func testFinished(t *testing.T, w way, cache int) {
	b := newBench(t, w, Options{CacheBytes: cache})
	b.log.add(testRun, story(500)...)
	sameFrames(t, b.read(t, ""), b.log.whole(t, testRun))
}

// testLive reads while the run is written, one follower from before the first
// word.
func testLive(t *testing.T, w way, cache int) {
	b := newBench(t, w, Options{CacheBytes: cache})
	events := story(300)
	b.log.add(testRun, events[:2]...)
	f, done := b.open(t, t.Context(), "")
	defer done()
	var want, got []string
	enc := NewEncoder(testEpoch, testRun, nil)
	for i, e := range events {
		if i >= 2 {
			b.log.add(testRun, e)
		}
		frame, terminal, err := enc.Encode(nil, b.log.record(i))
		if err != nil {
			t.Fatal(err)
		}
		if len(frame) > 0 {
			want = append(want, string(frame))
		}
		for len(got) < len(want) && !terminal {
			frame, err := f.next()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, frame)
		}
	}
	rest, err := f.rest()
	if err != nil {
		t.Fatal(err)
	}
	sameFrames(t, append(got, rest...), want)
}

// testEveryCut reads k frames, is cut off there, and resumes from any frame up
// to that one, while the run is going on and when it has ended.
func testEveryCut(t *testing.T, w way, cache int) {
	b := newBench(t, w, Options{CacheBytes: cache})
	events := story(9)
	live := len(events) - 4
	b.log.add(testRun, events[:live]...)
	for _, ended := range []bool{false, true} {
		if ended {
			b.log.add(testRun, events[live:]...)
		}
		want := b.log.whole(t, testRun)
		for k := 1; k < len(want); k++ {
			b.readAndCut(t, "", want[:k])
			for _, from := range []int{k, max(k-5, 1)} {
				if !ended {
					b.readAndCut(t, cursorOf(want[from-1]), want[from:])
					continue
				}
				if diff := cmp.Diff(want[from:], b.read(t, cursorOf(want[from-1]))); diff != "" {
					t.Fatalf("resumed after frame %d (-want +got):\n%s", from, diff)
				}
			}
		}
	}
}

func (b *bench) readAndCut(t *testing.T, cursor string, want []string) {
	t.Helper()
	ctx, cut := context.WithCancel(t.Context())
	defer cut()
	f, done := b.open(t, ctx, cursor)
	defer done()
	for i := range want {
		got, err := f.next()
		if err != nil || got != want[i] {
			t.Fatalf("cursor %q, frame %d: %q, %v, want %q", cursor, i, got, err, want[i])
		}
	}
}

func testCursors(t *testing.T, w way) {
	b := newBench(t, w, Options{})
	b.log.add(testRun, story(5)...)
	b.log.add("r_2", event.UserMessage{Message: "m_3", Text: "And now?"}, event.Start{Model: "script/demo", Version: 1})
	whole := b.log.whole(t, testRun)
	reset := append([]string{strings.Replace(whole[0], `,"seq":`, `,"reset":true,"seq":`, 1)}, whole[1:]...)
	last := seqOf(whole[len(whole)-1])
	tests := []struct {
		name, cursor string
		status       int
		want         []string
	}{
		{"none", "", 200, whole},
		{"before the run", "e1-1", 200, whole},
		{"at zero", "e1-0", 200, whole},
		{"at the start", cursorOf(whole[0]), 200, whole[1:]},
		{"at a record without a frame", "e1-4", 200, whole[1:]},
		{"before the terminal", fmt.Sprintf("e1-%d", last-1), 200, whole[len(whole)-1:]},
		{"at the terminal", fmt.Sprintf("e1-%d", last), 204, nil},
		{"past the terminal", fmt.Sprintf("e1-%d", last+1), 204, nil},
		{"at the head", fmt.Sprintf("e1-%d", last+2), 204, nil},
		{"beyond the head", fmt.Sprintf("e1-%d", last+3), 200, reset},
		{"of another epoch", "e2-5", 200, reset},
		{"of another epoch at the terminal", fmt.Sprintf("e2-%d", last), 200, reset},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, err := b.get(t.Context(), tt.cursor)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != tt.status {
				t.Fatalf("status %d, want %d", resp.StatusCode, tt.status)
			}
			if tt.status == 204 {
				if body, err := io.ReadAll(resp.Body); len(body) > 0 || err != nil {
					t.Fatalf("body %q, %v", body, err)
				}
				return
			}
			got, err := framesOf(resp.Body).rest()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("frames (-want +got):\n%s", diff)
			}
		})
	}
}

// testStop stops the server under a follower of a run that goes on: the body
// ends properly with all that was logged, and nobody else gets in.
func testStop(t *testing.T, w way) {
	b := newBench(t, w, Options{})
	events := story(50)
	b.log.add(testRun, events[:40]...)
	f, done := b.open(t, t.Context(), "")
	defer done()
	if _, err := f.next(); err != nil {
		t.Fatal(err)
	}
	b.log.add(testRun, events[40:45]...)
	stopped := make(chan error)
	go func() { stopped <- b.srv.Stop(context.Background()) }()
	got, err := f.rest()
	if err != nil {
		t.Fatal(err)
	}
	done()
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.log.whole(t, testRun)[1:], got); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
	resp, err := b.get(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("status %d after Stop", resp.StatusCode)
	}
}

// testBrokenLog ends streams properly when the log can't be read; a client that
// comes back with its cursor goes on.
func testBrokenLog(t *testing.T, w way) {
	b := newBench(t, w, Options{})
	events := story(50)
	b.log.add(testRun, events[:30]...)
	f, done := b.open(t, t.Context(), "")
	defer done()
	first, err := f.next()
	if err != nil {
		t.Fatal(err)
	}
	b.log.breakReads(io.ErrUnexpectedEOF)
	b.log.add(testRun, events[30:40]...)
	rest, err := f.rest()
	if err != nil {
		t.Fatal(err)
	}
	b.log.breakReads(nil)
	b.log.add(testRun, events[40:]...)
	got := append([]string{first}, rest...)
	got = append(got, b.read(t, cursorOf(got[len(got)-1]))...)
	sameFrames(t, got, b.log.whole(t, testRun))
}

// testAtOnce opens many streams at once while the run is written.
func testAtOnce(t *testing.T, w way, n int) {
	b := newBench(t, w, Options{})
	events := story(100)
	b.log.add(testRun, events[:2]...)
	var wg sync.WaitGroup
	all := make([][]string, n)
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() {
			resp, err := b.get(t.Context(), "")
			if err != nil {
				errs[i] = err
				return
			}
			defer resp.Body.Close()
			all[i], errs[i] = framesOf(resp.Body).rest()
		})
	}
	for _, e := range events[2:] {
		b.log.add(testRun, e)
	}
	wg.Wait()
	want := b.log.whole(t, testRun)
	for i := range n {
		if errs[i] != nil {
			t.Fatalf("follower %d: %v", i, errs[i])
		}
		sameFrames(t, all[i], want)
	}
}
