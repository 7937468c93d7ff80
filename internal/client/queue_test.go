package client

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
)

// waitingRoom answers every request at once, keeps the connection open in
// silence for hold, and drops it, until it has been asked drops times; then it
// sends text.
type waitingRoom struct {
	hold  time.Duration
	drops int
	text  string
	asked int
}

func (w *waitingRoom) RoundTrip(*http.Request) (*http.Response, error) {
	w.asked++
	body := io.MultiReader(strings.NewReader("retry: 2000\n\n: keep-alive\n\n"), lateDrop{w.hold})
	if w.asked > w.drops {
		body = strings.NewReader("retry: 2000\n\n" + w.text)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(body)}, nil
}

type lateDrop struct{ after time.Duration }

func (d lateDrop) Read([]byte) (int, error) {
	<-time.After(d.after)
	return 0, io.ErrUnexpectedEOF
}

func TestChatWaitsInTheQueue(t *testing.T) {
	const dropped = "event: cancelled\ndata: {\"msg_id\":\"\",\"run_id\":\"r1\",\"seq\":9}\nid: e1-9\n\n"
	tests := []struct {
		name string
		hold time.Duration
		want []string
		gone bool
	}{
		{"behind a proxy that drops what is silent for a minute", time.Minute, []string{"cancelled e1-9"}, false},
		{"behind something that drops at once", time.Millisecond, nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				room := &waitingRoom{hold: tt.hold, drops: 60, text: dropped}
				c := &Client{Base: "http://x", HTTP: &http.Client{Transport: room}}
				var got []string
				var failed error
				for e, err := range c.Chat(t.Context(), Prompt{Text: "x", Run: "r1"}) {
					if failed = err; err == nil {
						got = append(got, e.Name+" "+e.ID)
					}
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				if errors.Is(failed, errDropped) != tt.gone {
					t.Errorf("failed with %v", failed)
				}
			})
		})
	}
}

// TestRecordsOfADroppedMessage: the fact that takes the message out of the
// queue is the last, and no error.
func TestRecordsOfADroppedMessage(t *testing.T) {
	var want []event.Record
	var text strings.Builder
	for i, e := range []event.Queue{
		{Op: event.QueueAdd, Run: "r1", Message: &event.UserMessage{Message: "m1", Text: "x"}},
		{Op: event.QueueEdit, Run: "r1", Message: &event.UserMessage{Message: "m1", Text: "y"}},
		{Op: event.QueueRemove, Run: "r1"},
	} {
		r, err := event.NewRecord("c1", "", "", e)
		if err != nil {
			t.Fatal(err)
		}
		r.Seq, r.At = int64(3+i), time.UnixMilli(1700000000000).UTC()
		want = append(want, r)
		fmt.Fprintf(&text, "event: %s\ndata: %s\nid: e1-%d\n\n", r.Kind, r.AppendJSON(nil), r.Seq)
	}
	room := &waitingRoom{text: text.String()}
	c := &Client{Base: "http://x", HTTP: &http.Client{Transport: room}}
	var got []event.Record
	for r, err := range c.Records(t.Context(), "r1") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	if diff := cmp.Diff(linesOf(want), linesOf(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if room.asked != 1 {
		t.Errorf("asked %d times", room.asked)
	}
}
