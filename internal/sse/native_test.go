package sse

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

func newNativeBench(t testing.TB, w way) *bench {
	t.Helper()
	l := newMemoryLog()
	b := &bench{log: l, srv: New(Options{Log: l, Logger: quietLogger()})}
	t.Cleanup(func() {
		if err := b.srv.Stop(context.Background()); err != nil {
			t.Error("stop:", err)
		}
		if n := b.srv.Stats(); n.Followers != 0 || n.Streams != 0 {
			t.Errorf("after Stop there are %d followers and %d streams", n.Followers, n.Streams)
		}
	})
	b.get = w.listen(t, nativeHandler(b.srv, l))
	return b
}

func nativeHandler(s *Server, l *memoryLog) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var cursor *id.Cursor
		if v := r.Header.Get("Last-Event-ID"); v != "" {
			c, err := id.ParseCursor(v)
			if err != nil {
				http.Error(w, "bad cursor", http.StatusBadRequest)
				return
			}
			cursor = &c
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if err := s.ServeNative(w, r, l.info(testRun), cursor); err != nil {
			http.Error(w, "not now", http.StatusServiceUnavailable)
		}
	})
}

// wholeNative returns the frames of the test's run with its question: what of
// the conversation is somebody else's is left out by hand.
func (l *memoryLog) wholeNative() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.runs[testRun].First
	var frames []string
	for _, r := range l.records {
		if r.Run != testRun && (r.Seq != first-1 || r.Kind != "user_message") {
			continue
		}
		frames = append(frames, fmt.Sprintf("event: %s\ndata: %s\nid: e1-%d\n\n", r.Kind, r.AppendJSON(nil), r.Seq))
	}
	return frames
}

func sameNative(t testing.TB, got, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("frames (-want +got):\n%s", diff)
	}
	for i, f := range got {
		r, err := event.ParseRecord([]byte(dataOf(f)))
		if err != nil || r.Seq != seqOf(f) {
			t.Fatalf("frame %d: %q: %v", i, f, err)
		}
		if spec, _ := event.Lookup(r.Kind); spec.Terminal != (i == len(got)-1) {
			t.Fatalf("frame %d of %d is %s", i, len(got), r.Kind)
		}
	}
}

// twoRuns puts a run of another turn before and behind the test's.
func twoRuns(l *memoryLog, events ...event.Event) {
	l.add("r_0", event.UserMessage{Message: "m_0", Text: "Before?"}, event.Start{Model: "script/demo", Version: 1}, event.End{Finish: event.FinishStop})
	l.add(testRun, events...)
}

func TestNative(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Run("headers", func(t *testing.T) { testNativeHeaders(t, w) })
			t.Run("cursors", func(t *testing.T) { testNativeCursors(t, w) })
			t.Run("live", func(t *testing.T) { testNativeLive(t, w) })
			t.Run("every cut and resume J1", func(t *testing.T) { testNativeEveryCut(t, w) })
			t.Run("stop", func(t *testing.T) { testNativeStop(t, w) })
			t.Run("broken log", func(t *testing.T) { testNativeBrokenLog(t, w) })
		})
	}
}

func testNativeHeaders(t *testing.T, w way) {
	b := newNativeBench(t, w)
	twoRuns(b.log, story(3)...)
	resp, err := b.get(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	want := map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no",
		"X-Content-Type-Options": "nosniff", "Content-Length": "", "Content-Encoding": "", ResetHeader: "",
	}
	for name, value := range want {
		if got := resp.Header.Get(name); got != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
	if resp.Proto != w.proto {
		t.Errorf("protocol %s, want %s", resp.Proto, w.proto)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
}

func testNativeCursors(t *testing.T, w way) {
	b := newNativeBench(t, w)
	twoRuns(b.log, story(5)...)
	b.log.add("r_2", event.UserMessage{Message: "m_3", Text: "And now?"}, event.Start{Model: "script/demo", Version: 1})
	whole := b.log.wholeNative()
	question, last := seqOf(whole[0]), seqOf(whole[len(whole)-1])
	tests := []struct {
		name, cursor string
		status       int
		want         []string
		reset        bool
	}{
		{"none", "", 200, whole, false},
		{"at zero", "e1-0", 200, whole, false},
		{"in the run before", "e1-1", 200, whole, false},
		{"before the question", fmt.Sprintf("e1-%d", question-1), 200, whole, false},
		{"at the question", cursorOf(whole[0]), 200, whole[1:], false},
		{"at the start", cursorOf(whole[1]), 200, whole[2:], false},
		{"at another's record", fmt.Sprintf("e1-%d", question+6), 200, whole[6:], false},
		{"before the terminal", fmt.Sprintf("e1-%d", last-1), 200, whole[len(whole)-1:], false},
		{"at the terminal", fmt.Sprintf("e1-%d", last), 204, nil, false},
		{"past the terminal", fmt.Sprintf("e1-%d", last+1), 204, nil, false},
		{"at the head", fmt.Sprintf("e1-%d", last+2), 204, nil, false},
		{"beyond the head", fmt.Sprintf("e1-%d", last+3), 200, whole, true},
		{"of another epoch", "e2-5", 200, whole, true},
		{"of another epoch at the terminal", fmt.Sprintf("e2-%d", last), 200, whole, true},
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
			if got := resp.Header.Get(ResetHeader) == "true"; got != tt.reset {
				t.Errorf("reset: %v, want %v", got, tt.reset)
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
			sameNative(t, got, tt.want)
		})
	}
}

// testNativeLive reads each record before the next is written.
func testNativeLive(t *testing.T, w way) {
	b := newNativeBench(t, w)
	events := story(100)
	twoRuns(b.log, events[:2]...)
	f, done := b.open(t, t.Context(), "")
	defer done()
	var got []string
	for _, e := range append(events[2:], nil) {
		for len(got) < len(b.log.wholeNative()) {
			frame, err := f.next()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, frame)
		}
		if e != nil {
			b.log.add(testRun, e)
		}
	}
	if rest, err := f.rest(); err != nil || len(rest) > 0 {
		t.Errorf("after the terminal %q, %v", rest, err)
	}
	sameNative(t, got, b.log.wholeNative())
}

// testNativeEveryCut reads k frames, is cut off there, and resumes from any
// frame up to that one, while the run is going on and when it has ended.
func testNativeEveryCut(t *testing.T, w way) {
	b := newNativeBench(t, w)
	events := story(9)
	live := len(events) - 4
	twoRuns(b.log, events[:live]...)
	for _, ended := range []bool{false, true} {
		if ended {
			b.log.add(testRun, events[live:]...)
		}
		want := b.log.wholeNative()
		for k := 1; k < len(want); k++ {
			b.readAndCut(t, "", want[:k])
			for from := 1; from <= k; from += 3 {
				if !ended {
					b.readAndCut(t, cursorOf(want[from-1]), want[from:])
					continue
				}
				sameNative(t, b.read(t, cursorOf(want[from-1])), want[from:])
			}
		}
	}
}

func testNativeStop(t *testing.T, w way) {
	b := newNativeBench(t, w)
	events := story(50)
	twoRuns(b.log, events[:40]...)
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
	if diff := cmp.Diff(b.log.wholeNative()[1:], got); diff != "" {
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

func testNativeBrokenLog(t *testing.T, w way) {
	b := newNativeBench(t, w)
	events := story(50)
	twoRuns(b.log, events[:30]...)
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
	sameNative(t, got, b.log.wholeNative())
}

// TestNativeWithoutAQuestion: a run that answers again has none of its own, and
// what stands before it is another's.
func TestNativeWithoutAQuestion(t *testing.T) {
	for name, before := range map[string][]event.Event{
		"first in its conversation": nil,
		"after a fact":              {event.Title{Title: "Disk"}},
		"after the run it repeats":  {event.UserMessage{Message: "m_0", Text: "Before?"}, event.Start{Model: "script/demo", Version: 1}, event.End{Finish: event.FinishStop}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newNativeBench(t, ways()[1])
			b.log.add("r_0", before...)
			b.log.add(testRun, story(3)[1:]...)
			want := b.log.wholeNative()
			if !strings.HasPrefix(want[0], "event: start\n") {
				t.Fatalf("the first is %q", want[0])
			}
			sameNative(t, b.read(t, ""), want)
			sameNative(t, b.read(t, "e1-0"), want)
		})
	}
}

// TestNativeLong is a run that takes many reads of the log.
func TestNativeLong(t *testing.T) {
	b := newNativeBench(t, ways()[1])
	twoRuns(b.log, story(3000)...)
	sameNative(t, b.read(t, ""), b.log.wholeNative())
}

// TestNativeHead: HEAD does not wait for the run.
func TestNativeHead(t *testing.T) {
	b := newNativeBench(t, way{listen: func(testing.TB, http.Handler) getter { return nil }})
	twoRuns(b.log, story(3)[:5]...)
	w := httptest.NewRecorder()
	nativeHandler(b.srv, b.log).ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/", nil))
	if w.Code != http.StatusOK || w.Body.Len() > 0 || w.Header().Get("Content-Type") != "text/event-stream" {
		t.Errorf("answer = %d %v %q", w.Code, w.Header(), w.Body)
	}
}

// TestNativeMissingEnd: the index knows a terminal that the log has not. The
// stream ends; it does not wait for ever.
func TestNativeMissingEnd(t *testing.T) {
	b := newNativeBench(t, way{listen: func(testing.TB, http.Handler) getter { return nil }})
	twoRuns(b.log, story(3)[:5]...)
	info := b.log.info(testRun)
	info.Last = 99
	w := httptest.NewRecorder()
	if err := b.srv.ServeNative(w, httptest.NewRequest(http.MethodGet, "/", nil), info, nil); err != nil {
		t.Fatal(err)
	}
	got, err := framesOf(w.Body).rest()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.log.wholeNative(), got); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
}
