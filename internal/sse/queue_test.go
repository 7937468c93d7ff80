package sse

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// queued puts the test's run and one more into the queue behind a run that is
// writing.
func queued(l *memoryLog) {
	l.add("r_0", event.UserMessage{Message: "m_0", Text: "Before?"}, event.Start{Model: "script/demo", Version: 1})
	l.add("", queueAdd("r_9"), queueAdd(testRun))
	l.add("r_0", event.Delta{Segment: "s1", Text: "still"})
}

func queueAdd(run id.Run) event.Queue {
	return event.Queue{Op: event.QueueAdd, Run: run, Message: &event.UserMessage{Message: id.Message("m_of_" + run), Text: "What is on the disk?"}}
}

// sent ends the run before and begins the test's as the conversation does.
func sent(l *memoryLog, events []event.Event) {
	l.add("r_0", event.End{Finish: event.FinishStop})
	l.add("", event.Queue{Op: event.QueueRemove, Run: "r_9"})
	l.add(testRun, append([]event.Event{event.Queue{Op: event.QueueSend, Run: testRun}}, events[:2]...)...)
	for _, e := range events[2:] {
		l.add(testRun, e)
	}
}

// cancelledAt is what a run gets whose message was taken out of the queue.
func cancelledAt(seq int64) []string {
	return []string{fmt.Sprintf("event: cancelled\ndata: {\"msg_id\":\"\",\"run_id\":\"r_1\",\"seq\":%d}\nid: e1-%d\n\n", seq, seq)}
}

func TestQueuedRun(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			for name, size := range caches() {
				t.Run("cache of "+name, func(t *testing.T) {
					t.Run("begins", func(t *testing.T) { testQueuedBegins(t, w, size) })
					t.Run("is dropped", func(t *testing.T) { testQueuedDropped(t, w, size) })
				})
			}
			t.Run("resumed with a foreign cursor", func(t *testing.T) { testQueuedReset(t, w) })
			t.Run("stop", func(t *testing.T) { testQueuedStop(t, w) })
			t.Run("dropped, asked again", func(t *testing.T) { testDroppedAgain(t, w) })
		})
	}
}

// testQueuedBegins opens the stream while the message waits; the head of the
// answer is there before anything happens.
func testQueuedBegins(t *testing.T, w way, cache int) {
	b := newBench(t, w, Options{CacheBytes: cache})
	queued(b.log)
	f, done := b.open(t, t.Context(), "")
	defer done()
	late, doneLate := b.open(t, t.Context(), "e1-4")
	defer doneLate()
	sent(b.log, story(20))
	want := b.log.whole(t, testRun)
	if !strings.HasPrefix(want[0], "event: start\n") {
		t.Fatalf("the first is %q", want[0])
	}
	for _, f := range []*frames{f, late} {
		got, err := f.rest()
		if err != nil {
			t.Fatal(err)
		}
		sameFrames(t, got, want)
	}
	sameFrames(t, b.read(t, ""), want)
	if diff := cmp.Diff(want[3:], b.read(t, cursorOf(want[2]))); diff != "" {
		t.Errorf("resumed (-want +got):\n%s", diff)
	}
}

func testQueuedDropped(t *testing.T, w way, cache int) {
	b := newBench(t, w, Options{CacheBytes: cache})
	queued(b.log)
	f, done := b.open(t, t.Context(), "")
	defer done()
	b.log.add("r_0", event.Cancelled{By: "owner"})
	b.log.add("", event.Queue{Op: event.QueueRemove, Run: "r_9"}, event.Queue{Op: event.QueueRemove, Run: testRun})
	b.log.add("r_10", event.UserMessage{Message: "m_8", Text: "Later"}, event.Start{Model: "script/demo", Version: 1})
	got, err := f.rest()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cancelledAt(8), got); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
}

// testQueuedReset: a client that holds something of another life of the
// database is told by the start, which is still to come.
func testQueuedReset(t *testing.T, w way) {
	for _, cursor := range []string{"e2-5", "e1-99"} {
		b := newBench(t, w, Options{})
		queued(b.log)
		f, done := b.open(t, t.Context(), cursor)
		defer done()
		sent(b.log, story(5))
		got, err := f.rest()
		if err != nil {
			t.Fatal(err)
		}
		want := b.log.whole(t, testRun)
		want[0] = strings.Replace(want[0], `,"seq":`, `,"reset":true,"seq":`, 1)
		sameFrames(t, got, want)
	}
}

// testQueuedStop: a server that stops ends the streams of those who wait, too.
func testQueuedStop(t *testing.T, w way) {
	for _, cursor := range []string{"", "e2-5"} {
		b := newBench(t, w, Options{})
		queued(b.log)
		f, done := b.open(t, t.Context(), cursor)
		stopped := make(chan error)
		go func() { stopped <- b.srv.Stop(context.Background()) }()
		if got, err := f.rest(); len(got) > 0 || err != nil {
			t.Errorf("after Stop: %q, %v", got, err)
		}
		done()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}
}

// testDroppedAgain asks for a run whose message was taken out, before and after
// its facts were erased.
func testDroppedAgain(t *testing.T, w way) {
	b := newBench(t, w, Options{})
	queued(b.log)
	b.log.add("", event.Queue{Op: event.QueueRemove, Run: testRun})
	for _, erased := range []bool{false, true} {
		if erased {
			b.log.erase(testRun)
		}
		for cursor, status := range map[string]int{"": 200, "e1-2": 200, "e1-5": 200, "e2-6": 200, "e1-99": 200, "e1-6": 204} {
			resp, err := b.get(t.Context(), cursor)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != status {
				t.Fatalf("cursor %q: status %d", cursor, resp.StatusCode)
			}
			if status == http.StatusNoContent {
				continue
			}
			got, err := framesOf(resp.Body).rest()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(cancelledAt(6), got); diff != "" {
				t.Errorf("cursor %q, erased %t (-want +got):\n%s", cursor, erased, diff)
			}
		}
	}
}

// TestQueuedKeepAliveJ7: a message that waits for two minutes does so under
// comments, which carry no id.
func TestQueuedKeepAliveJ7(t *testing.T) {
	eachVirtualWay(t, func(t *testing.T, w virtualWay) {
		for _, cursor := range []string{"", "e2-7"} {
			b := newMemoryBench(t, w, 0, Options{})
			queued(b.log)
			f := framesOf(bodyOf(t, w.dial(t, b, cursor)))
			if block, err := f.block(); err != nil || block != Head {
				t.Fatalf("the head is %q, %v", block, err)
			}
			f.opened = true
			last := time.Now()
			for i := range 8 {
				block, err := f.block()
				silence := time.Since(last)
				if err != nil || block != KeepAlive || silence > 15*time.Second || silence < 14*time.Second {
					t.Fatalf("comment %d: %q, %v after %v", i, block, err, silence)
				}
				last = time.Now()
				// What others write meanwhile is no news here.
				b.log.add("r_0", event.Delta{Segment: "s1", Offset: 5, Text: "more"})
			}
			sent(b.log, story(3))
			if got, err := f.rest(); err != nil || len(got) != len(b.log.whole(t, testRun)) {
				t.Errorf("%d frames, %v", len(got), err)
			}
		}
	})
}

// TestQueuedClientLeaves: whoever leaves while the message waits is gone, and
// the next gets everything.
func TestQueuedClientLeaves(t *testing.T) {
	eachVirtualWay(t, func(t *testing.T, w virtualWay) {
		b := newMemoryBench(t, w, 0, Options{})
		queued(b.log)
		c := w.dial(t, b, "")
		synctest.Wait()
		_ = c.Close()
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if n := b.srv.Stats(); n.Followers != 0 || n.Dropped != 1 {
			t.Errorf("%d followers, %d dropped", n.Followers, n.Dropped)
		}
		f := framesOf(bodyOf(t, w.dial(t, b, "")))
		sent(b.log, story(3))
		got, err := f.rest()
		if err != nil {
			t.Fatal(err)
		}
		sameFrames(t, got, b.log.whole(t, testRun))
	})
}
