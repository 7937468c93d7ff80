package sse

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// nativeFramesAt are frames of the records with these seqs.
func (l *memoryLog) nativeFramesAt(seqs ...int64) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var frames []string
	for _, seq := range seqs {
		r := l.records[seq-1]
		frames = append(frames, fmt.Sprintf("event: %s\ndata: %s\nid: e1-%d\n\n", r.Kind, r.AppendJSON(nil), seq))
	}
	return frames
}

// TestNativeQueuedRun: what the queue says of the run comes first, then its
// question and the rest, whether it is followed from the queue on or asked for
// later.
func TestNativeQueuedRun(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			b := newNativeBench(t, w)
			queued(b.log)
			edit := queueAdd(testRun)
			edit.Op = event.QueueEdit
			b.log.add("", edit)
			f, done := b.open(t, t.Context(), "")
			defer done()
			b.log.add("r_9", event.UserMessage{Message: "m_7", Text: "Mine first"}, event.Start{Model: "script/demo", Version: 1})
			sent(b.log, []event.Event{
				event.UserMessage{Message: "m_1", Text: "What is on the disk?"}, event.Start{Model: "script/demo", Version: 1},
				event.Delta{Segment: "s1", Text: "Nothing."}, event.End{Finish: event.FinishStop},
			})
			want := b.log.nativeFramesAt(4, 6, 11, 12, 13, 14, 15)
			got, err := f.rest()
			if err != nil {
				t.Fatal(err)
			}
			sameNative(t, got, want)
			sameNative(t, b.read(t, ""), want)
			for i := range want[1:] {
				sameNative(t, b.read(t, cursorOf(want[i])), want[i+1:])
			}
		})
	}
}

// TestNativeDroppedRun: the fact that took the message out is the last record.
func TestNativeDroppedRun(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			b := newNativeBench(t, w)
			queued(b.log)
			f, done := b.open(t, t.Context(), "")
			defer done()
			b.log.add("", event.Queue{Op: event.QueueRemove, Run: "r_9"}, event.Queue{Op: event.QueueRemove, Run: testRun})
			b.log.add("r_0", event.Delta{Segment: "s1", Offset: 5, Text: "more"})
			want := b.log.nativeFramesAt(4, 7)
			got, err := f.rest()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("live (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, b.read(t, "e2-1")); diff != "" {
				t.Errorf("again (-want +got):\n%s", diff)
			}
			b.log.erase(testRun)
			if got := b.read(t, ""); len(got) > 0 {
				t.Errorf("after its facts were erased: %q", got)
			}
			resp, err := b.get(t.Context(), id.Cursor{Epoch: testEpoch, Seq: 7}.String())
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusNoContent {
				t.Errorf("at its last record: status %d", resp.StatusCode)
			}
		})
	}
}
