package sse

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/memnet"
)

// conversationHandler serves the whole conversation; a path other than / does
// not follow.
func conversationHandler(s *Server) http.Handler {
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
		if err := s.ServeConversation(w, r, testConversation, cursor, r.URL.Path == "/"); err != nil {
			http.Error(w, "not now", http.StatusServiceUnavailable)
		}
	})
}

func newConversationBench(t testing.TB, w way) *bench {
	t.Helper()
	b := newNativeBench(t, way{listen: func(testing.TB, http.Handler) getter { return nil }})
	b.get = w.listen(t, conversationHandler(b.srv))
	return b
}

func (l *memoryLog) allNative() []string {
	head, _ := l.Head(context.Background(), testConversation)
	var seqs []int64
	for seq := range head {
		seqs = append(seqs, seq+1)
	}
	return l.nativeFramesAt(seqs...)
}

func TestConversation(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Run("from its first record on", func(t *testing.T) { testConversationLive(t, w) })
			t.Run("cursors", func(t *testing.T) { testConversationCursors(t, w) })
			t.Run("stop", func(t *testing.T) { testConversationStop(t, w) })
			t.Run("broken log", func(t *testing.T) { testConversationBrokenLog(t, w) })
		})
	}
}

// testConversationLive follows before there is anything, through two runs, the
// facts between them and what a terminal leaves open.
func testConversationLive(t *testing.T, w way) {
	b := newConversationBench(t, w)
	ctx, cut := context.WithCancel(t.Context())
	defer cut()
	f, done := b.open(t, ctx, "")
	defer done()
	queued(b.log)
	sent(b.log, story(40))
	b.log.add("", event.Title{Title: "Disk"}, event.MessageDeleted{Message: "m_1"}, event.ConversationDeleted{})
	b.log.add("r_5", story(3)...)
	for i, want := range b.log.allNative() {
		if got, err := f.next(); err != nil || got != want {
			t.Fatalf("frame %d: %q, %v, want %q", i, got, err, want)
		}
	}
}

func testConversationCursors(t *testing.T, w way) {
	b := newConversationBench(t, w)
	twoRuns(b.log, story(2500)...)
	whole := b.log.allNative()
	head := len(whole)
	tests := []struct {
		name, cursor string
		from         int
		reset        bool
	}{
		{"none", "", 0, false},
		{"at zero", "e1-0", 0, false},
		{"in the midst", "e1-3", 3, false},
		{"before the head", id.Cursor{Epoch: testEpoch, Seq: int64(head - 1)}.String(), head - 1, false},
		{"beyond the head", id.Cursor{Epoch: testEpoch, Seq: int64(head + 1)}.String(), 0, true},
		{"of another epoch", "e2-3", 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cut := context.WithCancel(t.Context())
			defer cut()
			resp, err := b.get(ctx, tt.cursor)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if got := resp.Header.Get(ResetHeader) == "true"; got != tt.reset || resp.StatusCode != http.StatusOK {
				t.Errorf("status %d, reset %v, want %v", resp.StatusCode, got, tt.reset)
			}
			f := framesOf(resp.Body)
			for i, want := range whole[tt.from:] {
				if got, err := f.next(); err != nil || got != want {
					t.Fatalf("frame %d: %q, %v, want %q", i, got, err, want)
				}
			}
		})
	}
}

func testConversationStop(t *testing.T, w way) {
	b := newConversationBench(t, w)
	twoRuns(b.log, story(50)...)
	f, done := b.open(t, t.Context(), "")
	defer done()
	first, err := f.next()
	if err != nil {
		t.Fatal(err)
	}
	b.log.add("", event.Title{Title: "Last"})
	stopped := make(chan error)
	go func() { stopped <- b.srv.Stop(context.Background()) }()
	rest, err := f.rest()
	if err != nil {
		t.Fatal(err)
	}
	done()
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.log.allNative(), append([]string{first}, rest...)); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
}

func testConversationBrokenLog(t *testing.T, w way) {
	b := newConversationBench(t, w)
	twoRuns(b.log, story(5)...)
	f, done := b.open(t, t.Context(), "")
	defer done()
	if _, err := f.next(); err != nil {
		t.Fatal(err)
	}
	b.log.breakReads(io.ErrUnexpectedEOF)
	b.log.add("", event.Title{Title: "Last"})
	rest, err := f.rest()
	if err != nil || len(rest) == 0 {
		t.Errorf("%d frames, %v", len(rest), err)
	}
	b.log.breakReads(nil)
}

// TestConversationWithoutFollowing: the answer ends with what there is, and is
// 204 where there is no more.
func TestConversationWithoutFollowing(t *testing.T) {
	b := newConversationBench(t, way{listen: func(testing.TB, http.Handler) getter { return nil }})
	ask := func(cursor string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/once", nil)
		if cursor != "" {
			r.Header.Set("Last-Event-ID", cursor)
		}
		conversationHandler(b.srv).ServeHTTP(w, r)
		return w
	}
	if w := ask(""); w.Code != http.StatusNoContent {
		t.Errorf("of nothing: status %d", w.Code)
	}
	twoRuns(b.log, story(1500)[:1200]...)
	whole := b.log.allNative()
	for cursor, want := range map[string][]string{"": whole, "e1-1000": whole[1000:], "e2-4": whole} {
		got, err := framesOf(ask(cursor).Body).rest()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after %q (-want +got):\n%s", cursor, diff)
		}
	}
	if w := ask(cursorOf(whole[len(whole)-1])); w.Code != http.StatusNoContent || w.Body.Len() > 0 {
		t.Errorf("at the head: %d %q", w.Code, w.Body)
	}
}

// TestConversationHead: HEAD waits for nothing.
func TestConversationHead(t *testing.T) {
	b := newConversationBench(t, way{listen: func(testing.TB, http.Handler) getter { return nil }})
	w := httptest.NewRecorder()
	conversationHandler(b.srv).ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/", nil))
	if w.Code != http.StatusOK || w.Body.Len() > 0 || w.Header().Get("Content-Type") != "text/event-stream" {
		t.Errorf("answer = %d %v %q", w.Code, w.Header(), w.Body)
	}
}

// TestConversationKeepsWhatIsTheProviders: what a provider needs back leaves
// with no stream.
func TestConversationKeepsWhatIsTheProviders(t *testing.T) {
	b := newConversationBench(t, way{listen: func(testing.TB, http.Handler) getter { return nil }})
	secret := json.RawMessage(`{"signature":"zzz"}`)
	b.log.add(testRun,
		event.UserMessage{Message: "m_1", Text: "Go"}, event.Start{Model: "script/demo", Version: 1},
		event.SegmentEnd{Segment: "s1", Phase: event.PhaseReasoning, Provider: secret},
		event.ToolCall{Call: "call_1", Index: 1, Name: "current_time", Args: json.RawMessage(`{}`), Provider: secret},
		event.ToolResult{Call: "call_1", Name: "current_time", OK: true},
		event.End{Finish: event.FinishStop},
	)
	for path, handler := range map[string]http.Handler{
		"conversation": conversationHandler(b.srv), "run, native": nativeHandler(b.srv, b.log), "run": handler(b.srv, b.log),
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/once", nil))
		if body := w.Body.String(); strings.Contains(body, "zzz") || !strings.Contains(body, `"name":"current_time"`) {
			t.Errorf("%s: %s", path, body)
		}
	}
}

// TestConversationInSilenceJ7: comments keep the connection, and a client that
// leaves is gone at once.
func TestConversationInSilenceJ7(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memnet.Listen(0)
		b := newConversationBench(t, way{listen: func(t testing.TB, h http.Handler) getter {
			serveOn(t, l, h)
			return nil
		}})
		b.log.add(testRun, story(3)...)
		c := dialWith("HTTP/1.1")(t, &memoryBench{bench: b, net: l}, "")
		f := framesOf(bodyOf(t, c))
		for range b.log.allNative() {
			if _, err := f.next(); err != nil {
				t.Fatal(err)
			}
		}
		bridgeSilence(t, f)
		begin := time.Now()
		_ = c.Close()
		synctest.Wait()
		if n := b.srv.Stats(); n.Followers != 0 || time.Since(begin) > 0 {
			t.Errorf("%d followers after %v", n.Followers, time.Since(begin))
		}
	})
}
