package inbound_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/chat"
	"verbatim/internal/surface"
)

func (w *world) change(messageID, text string) {
	w.t.Helper()
	if err := w.in.Change(w.t.Context(), private, messageID, text); err != nil {
		w.t.Fatalf("change %s: %v", messageID, err)
	}
}

func (w *world) remove(messageID string) {
	w.t.Helper()
	if err := w.in.Remove(w.t.Context(), private, messageID); err != nil {
		w.t.Fatalf("remove %s: %v", messageID, err)
	}
}

func withFile(m surface.Message, name string) surface.Message {
	m.Files = []surface.File{picture(name)}
	return m
}

// A message that is still being collected is changed and taken out as if it had
// been written so.
func TestChangeWhileCollected(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(w *world)
		want []string
	}{
		"change":           {func(w *world) { w.change("m2", "B") }, []string{"a\nB\nc"}},
		"remove":           {func(w *world) { w.remove("m2") }, []string{"a\nc"}},
		"remove all":       {func(w *world) { w.remove("m2"); w.remove("m1"); w.remove("m3") }, nil},
		"change to blank":  {func(w *world) { w.change("m2", " ") }, []string{"a\n \nc"}},
		"change to /stop":  {func(w *world) { w.change("m2", "/stop") }, []string{"a\n/stop\nc"}},
		"of an unknown":    {func(w *world) { w.change("m9", "B"); w.remove("m9"); w.remove("") }, []string{"a\nb\nc"}},
		"change, remove":   {func(w *world) { w.change("m2", "B"); w.remove("m2") }, []string{"a\nc"}},
		"after a crash":    {func(w *world) { w.crash(); w.change("m2", "B") }, []string{"a\nb\nc"}},
		"kept in a crash":  {func(w *world) { w.change("m2", "B"); w.remove("m1"); w.crash() }, []string{"B\nc"}},
		"twice, then more": {func(w *world) { w.change("m3", "C"); w.change("m3", "D"); w.receive(from(ann, "m4", "e")) }, []string{"a\nb\nD\ne"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				for i, text := range []string{"a", "b", "c"} {
					w.receive(from(ann, []string{"m1", "m2", "m3"}[i], text))
				}
				c.do(w)
				w.rest()
				w.wantTurns("phone.100", c.want...)
				w.wantNothingOpen()
				if name == "after a crash" {
					w.wantHeard("You changed a message that is being answered")
				} else {
					w.wantHeard()
				}
			})
		})
	}
}

// So is one that waits in the queue of its conversation, or before it.
func TestChangeWhileItWaits(t *testing.T) {
	for place, blocked := range map[string]bool{"in the queue": false, "before the queue": true} {
		for name, c := range map[string]struct {
			do   func(w *world)
			want []string
		}{
			"change":         {func(w *world) { w.change("m2", "B") }, []string{"a\nB [f1 x]", "c"}},
			"remove":         {func(w *world) { w.remove("m2") }, []string{"a [f1 x]", "c"}},
			"remove another": {func(w *world) { w.remove("m3") }, []string{"a\nb [f1 x]"}},
			"both":           {func(w *world) { w.change("m1", "A"); w.change("m2", "B"); w.change("m3", "C") }, []string{"A\nB [f1 x]", "C"}},
			"crash between":  {func(w *world) { w.change("m1", "A"); w.crash(); w.change("m2", "B") }, nil},
		} {
			t.Run(place+"/"+name, func(t *testing.T) {
				inBubble(t, nil, func(t *testing.T, w *world) {
					free := w.holding()
					w.tell(from(ann, "m0", "first"))
					if blocked {
						w.set(func() { w.send = func(chat.SendRequest) error { return &chat.Error{Code: chat.Full} } })
					}
					w.receive(withFile(from(ann, "m1", "a"), "x"))
					w.tell(from(ann, "m2", "b"))
					w.tell(from(ann, "m3", "c"))
					if name == "crash between" {
						// The next start answers what waited.
						c.want = []string{"A\nb [f1 x]", "c"}
					}
					c.do(w)
					w.set(func() { w.send = nil })
					free()
					time.Sleep(time.Minute)
					first := "first"
					if name == "crash between" {
						first += " (interrupted)"
					}
					w.wantTurns("phone.100", append([]string{first}, c.want...)...)
					w.wantNothingOpen()
				})
			})
		}
	}
}

// A file can't be taken out of a message that waits in the queue, so its turn is
// made up again: without it, and behind the others.
func TestRemoveAFileThatIsQueued(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		free := w.holding()
		w.tell(from(ann, "m0", "first"))
		w.receive(withFile(from(ann, "m1", "a"), "x"))
		w.receive(withFile(from(ann, "m2", "b"), "y"))
		w.tell(from(ann, "m3", "c"))
		w.tell(from(ann, "m4", "d"))
		w.remove("m1")
		w.rest()
		w.remove("m2")
		w.rest()
		w.wantTurns("phone.100", "first (running)", "d (waits)", "c (waits)")
		free()
		time.Sleep(time.Minute)
		w.wantTurns("phone.100", "first", "d", "c")
		w.wantNothingOpen()
	})
}

// Whatever the process does in the middle of that, the turn is there once and
// without the file.
func TestRemoveAFileInACrash(t *testing.T) {
	for _, how := range []fate{crashBefore, crashAfter} {
		inBubble(t, nil, func(t *testing.T, w *world) {
			free := w.holding()
			w.tell(from(ann, "m0", "first"))
			w.receive(withFile(from(ann, "m1", "a"), "x"))
			w.tell(from(ann, "m2", "b"))
			w.set(func() { w.fate = func(string) fate { return how } })
			if err := w.in.Remove(t.Context(), private, "m1"); err == nil {
				t.Error("a process that has died acknowledged it")
			}
			// Nothing of the queue is begun by the next start, so that the
			// deletion, which comes again, finds it as it was.
			w.failing(errMute)
			free()
			w.crash()
			if err := w.in.Remove(t.Context(), private, "m1"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			w.rest()
			got := w.state("phone.100")
			texts := 0
			for _, turn := range got.Turns {
				if turn.User.Text == "b" || turn.User.Text == "a\nb" {
					texts++
				}
			}
			if texts != 1 {
				t.Errorf("the rest is there %d times", texts)
			}
			w.wantNothingOpen()
		})
	}
}

func TestRemoveFromTheQueue(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		free := w.holding()
		w.tell(from(ann, "m0", "first"))
		w.tell(withFile(from(ann, "m1", "a"), "x"))
		w.tell(from(ann, "m2", "b"))
		w.remove("m1")
		w.remove("m1")
		free()
		w.wantTurns("phone.100", "first", "b")
		w.wantNothingOpen()
	})
}

// Once its turn has begun a change does nothing, and is told once.
func TestChangeTooLate(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		free := w.holding()
		w.receive(from(ann, "m1", "a"))
		w.tell(from(ann, "m2", "b"))
		// Platforms report changes that are none.
		w.change("m1", "a")
		w.change("m2", "b")
		w.remove("m1")
		w.wantHeard()
		w.change("m1", "A")
		w.change("m1", "AA")
		w.wantHeard("send it as a new message")
		free()
		w.change("m1", "A")
		w.change("m2", "B")
		w.crash()
		w.change("m2", "BB")
		w.remove("m2")
		w.wantHeard("send it as a new message")
		w.wantTurns("phone.100", "a\nb")
	})
}

func TestChangeOfACommandDoesNothing(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.tell(from(ann, "m1", "/help"))
		w.heard()
		w.change("m1", "/stop")
		w.change("m1", "hello")
		w.remove("m1")
		w.rest()
		w.wantHeard()
		w.wantTurns("phone.100")
	})
}

// A turn that a stop took out is not answered because its message is changed.
func TestChangeAfterAStop(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		free := w.holding()
		w.tell(from(ann, "m1", "a"))
		w.tell(from(ann, "m2", "b"))
		w.tell(from(ann, "m3", "/stop"))
		w.heard()
		w.change("m2", "B")
		w.remove("m2")
		free()
		w.wantHeard()
		w.wantTurns("phone.100", "a (cancelled)")
	})
}

// The chat has taken a turn and says that it may not have: a change finds it
// where it is.
func TestChangeWhenNobodyKnowsWhetherItWasSent(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		free := w.holding()
		w.tell(from(ann, "m0", "first"))
		unsure := true
		w.set(func() {
			w.send = func(req chat.SendRequest) error {
				if !unsure {
					return nil
				}
				unsure = false
				if _, err := w.service.Send(context.Background(), req); err != nil {
					t.Error(err)
				}
				return errSend
			}
		})
		w.receive(from(ann, "m1", "a"))
		time.Sleep(400 * time.Millisecond)
		synctest.Wait()
		w.change("m1", "A")
		w.rest()
		free()
		w.wantTurns("phone.100", "first", "A")
		w.wantHeard()
		w.wantNothingOpen()
	})
}
