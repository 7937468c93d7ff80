package sse

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
)

// TestErasedRunBreaksNoStream: tombstones in a run, also in the place of its
// start and its terminal, are passed over and the stream ends.
func TestErasedRunBreaksNoStream(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			for name, size := range caches() {
				t.Run("cache of "+name, func(t *testing.T) {
					b := newBench(t, w, Options{CacheBytes: size})
					events := story(30)
					b.log.add(testRun, events[:10]...)
					f, done := b.open(t, t.Context(), "")
					defer done()
					if _, err := f.next(); err != nil {
						t.Fatal(err)
					}
					b.log.add(testRun, tombstone(events[20]))
					b.log.add(testRun, events[10:20]...)
					b.log.add(testRun, tombstone(events[len(events)-1]))
					got, err := f.rest()
					if err != nil || len(got) == 0 {
						t.Fatalf("%d frames, %v", len(got), err)
					}
					if diff := cmp.Diff(b.log.whole(t, testRun)[1:], got); diff != "" {
						t.Errorf("frames (-want +got):\n%s", diff)
					}
					b.log.erase(testRun)
					for _, cursor := range []string{"", "e1-1", "e1-15", "e2-9"} {
						if got := b.read(t, cursor); len(got) > 0 {
							t.Errorf("of an erased run, after %q: %q", cursor, got)
						}
					}
				})
			}
		})
	}
}

// runTombstone belongs to a run, as it does in the place of a run's record.
type runTombstone struct{ event.Erased }

func tombstone(e event.Event) event.Event {
	return runTombstone{event.Erased{Was: e.Kind(), Bytes: 9}}
}

// TestErasedRunInNativeForm: the tombstones are records like others, and one in
// the place of the terminal is the last.
func TestErasedRunInNativeForm(t *testing.T) {
	b := newNativeBench(t, ways()[1])
	events := story(3)
	twoRuns(b.log, events[:10]...)
	f, done := b.open(t, t.Context(), "")
	defer done()
	b.log.add(testRun, tombstone(event.End{}))
	b.log.add("r_2", event.UserMessage{Message: "m_3", Text: "And now?"}, event.Start{Model: "script/demo", Version: 1})
	got, err := f.rest()
	if err != nil {
		t.Fatal(err)
	}
	want := b.log.wholeNative()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("live (-want +got):\n%s", diff)
	}
	b.log.erase(testRun)
	want = b.log.wholeNative()
	if last := want[len(want)-1]; !strings.Contains(last, `"event":"erased","run_id":"r_1","msg_id":"m_2","kind":"end"`) {
		t.Fatalf("the last is %q", last)
	}
	if diff := cmp.Diff(want, b.read(t, "")); diff != "" {
		t.Errorf("again (-want +got):\n%s", diff)
	}
}

// TestForget: a follower that is far behind a run that has ended gets no word
// of it once it was erased, and its stream ends properly. One of another
// conversation's, or of a run that goes on, notices nothing.
func TestForget(t *testing.T) {
	eachVirtualWay(t, func(t *testing.T, w virtualWay) {
		b := newMemoryBench(t, w, 1<<10, Options{})
		events := story(12000)
		b.log.add(testRun, events[:2]...)
		c := w.dial(t, b, "")
		synctest.Wait()
		b.log.add(testRun, events[2:]...)
		synctest.Wait()
		whole := b.log.whole(t, testRun)

		b.srv.Forget("c_other")
		b.log.erase(testRun)
		b.srv.Forget(testConversation)
		b.srv.Forget(testConversation)
		synctest.Wait()

		got, err := framesOf(bodyOf(t, c)).rest()
		if err != nil {
			t.Fatal(err)
		}
		// What was on its way, at most the page that a write is in, still
		// arrives.
		if len(got) > len(whole)/2 {
			t.Errorf("%d of %d frames came after it was erased", len(got), len(whole))
		}
		if !slices.Equal(got, whole[:len(got)]) {
			t.Error("what came is not the head of the run")
		}
		_ = c.Close()
		synctest.Wait()
		if n := b.srv.Stats(); n.Followers != 0 || n.Streams != 0 || n.Dropped != 0 {
			t.Errorf("after it: %+v", n)
		}
	})
}

// TestForgetLetsRunsGoOn: a run that goes on keeps its followers and its frames.
func TestForgetLetsRunsGoOn(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			b := newBench(t, w, Options{})
			events := story(50)
			b.log.add(testRun, events[:20]...)
			f, done := b.open(t, t.Context(), "")
			defer done()
			first, err := f.next()
			if err != nil {
				t.Fatal(err)
			}
			b.srv.Forget(testConversation)
			b.log.add(testRun, events[20:]...)
			rest, err := f.rest()
			if err != nil {
				t.Fatal(err)
			}
			sameFrames(t, append([]string{first}, rest...), b.log.whole(t, testRun))
		})
	}
}

// TestForgottenBytesAreNotServed looks at the stream itself: whoever joins it
// after it was told to forget gets nothing from memory.
func TestForgottenBytesAreNotServed(t *testing.T) {
	l := newMemoryLog()
	l.add(testRun, story(10)...)
	srv := New(Options{Log: l, Logger: quietLogger()})
	s := newStream(srv, l.info(testRun))
	for s.read() {
	}
	s.forget()
	s.adopt()
	if s.bytes.size != 0 || len(s.bytes.pages) != 0 {
		t.Errorf("%d bytes in %d pages are left", s.bytes.size, len(s.bytes.pages))
	}
	l.erase(testRun)
	r := reader{srv: srv, run: l.info(testRun), stream: s, after: 1}
	for {
		b, found, err := r.next(context.Background())
		if err != nil || len(b) > 0 {
			t.Fatalf("%q, %v", b, err)
		}
		if found == ended {
			break
		}
	}
	if err := srv.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
