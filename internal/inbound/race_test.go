package inbound_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"verbatim/internal/surface"
)

// Many people at once, in many chats, with everything that they can do, while the
// process ends.
func TestEverythingAtOnce(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		var wg sync.WaitGroup
		for p := range 6 {
			wg.Go(func() {
				who := surface.Person{ID: fmt.Sprint(p)}
				c := surface.Chat{ID: fmt.Sprint(p % 3)}
				for i, text := range []string{"a", "b", "/status", "run x", "c", "/stop", "/allow", "d", "/new", "e"} {
					m := surface.Message{ID: fmt.Sprint(p, ".", i), Chat: c, Sender: who, Text: text, Mentioned: true, Signed: i%4 == 3}
					for range 2 {
						if _, err := w.in.Receive(context.Background(), m); err != nil {
							t.Error(err)
						}
					}
					if i%3 == 0 {
						if err := w.in.Change(context.Background(), c, m.ID, text+"!"); err != nil {
							t.Error(err)
						}
					}
					if i == 7 {
						if err := w.in.Remove(context.Background(), c, m.ID); err != nil {
							t.Error(err)
						}
					}
					for _, a := range w.pending() {
						if _, err := w.in.Press(context.Background(), surface.Press{Chat: c, Sender: who, Data: "a:" + string(a) + ":deny"}); err != nil {
							t.Error(err)
						}
					}
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		wg.Wait()
		time.Sleep(3 * time.Minute)
		w.wantNothingOpen()
		for p := range 3 {
			w.texts(w.bound(surface.Chat{ID: fmt.Sprint(p)}).Conversation)
		}
	})
}

func TestCloseWhileBusy(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				_, _ = w.in.Receive(context.Background(), from(ann, fmt.Sprint("m", i), fmt.Sprint("t", i)))
			})
		}
		w.in.Close()
		wg.Wait()
		before, err := w.memory.OpenInbound(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.crash()
		w.rest()
		w.wantNothingOpen()
		n := 0
		for _, turn := range w.state("phone.100").Turns {
			n += len(turn.User.Text+"\n") / 3
		}
		if n < len(before) {
			t.Errorf("%d messages were open, about %d are in turns", len(before), n)
		}
	})
}
