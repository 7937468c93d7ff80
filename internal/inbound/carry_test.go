package inbound_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"verbatim/internal/chat"
	"verbatim/internal/delivery"
	"verbatim/internal/surface"
	"verbatim/internal/transcript"
)

func (w *world) bound(c surface.Chat) delivery.Binding {
	w.t.Helper()
	b, ok, err := w.memory.Bound(w.t.Context(), address(c))
	if err != nil || !ok {
		w.t.Fatalf("bound: %v, %v", ok, err)
	}
	return b
}

func TestNewBeginsAConversation(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.tell(from(ann, "m1", "one"))
		w.tell(from(ann, "m2", "/new"))
		w.wantHeard("A new conversation begins here.")
		if b := w.bound(private); b.Conversation != "phone.100.1" || b.From != 0 {
			t.Errorf("bound %+v", b)
		}
		w.crash()
		w.tell(from(ann, "m3", "two"))
		w.tell(from(ann, "m4", "/new@verbatim_bot"))
		w.tell(from(ann, "m4", "/new@verbatim_bot"))
		w.tell(from(ann, "m5", "three"))
		w.wantTurns("phone.100", "one")
		w.wantTurns("phone.100.1", "two")
		w.wantTurns("phone.100.2", "three")
		w.wantHeard("A new conversation")
		w.wantNothingOpen()
	})
}

func TestWhatComesWithACommand(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.tell(from(ann, "m1", "/new hello"))
		w.wantHeard("What you wrote behind the command was not passed on")
		w.tell(withFile(from(ann, "m2", "/new"), "a.txt"))
		w.wantHeard("Files that come with a command are not taken", "A new conversation begins here.")
		if b := w.bound(private); b.Conversation != "phone.100.2" {
			t.Errorf("bound %+v", b)
		}
	})
}

func TestNewStopsWhatRunsAndTakesOutWhatWaits(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		free := w.holding()
		w.tell(from(ann, "m1", "one"))
		w.tell(from(ann, "m2", "two"))
		w.receive(from(ann, "m3", "three"))
		w.tell(from(ann, "m4", "/new"))
		w.wantHeard("2 messages that waited were taken out")
		w.tell(from(ann, "m5", "four"))
		free()
		w.wantTurns("phone.100", "one (cancelled)")
		w.wantTurns("phone.100.1", "four")
	})
}

func TestStop(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.tell(from(ann, "m0", "/stop"))
		w.wantHeard("Nothing is running here.")
		free := w.holding()
		w.tell(from(ann, "m1", "one"))
		w.tell(from(ann, "m2", "/STOP"))
		// The end of the run is shown as such; a line would say it twice.
		w.wantHeard()
		w.tell(from(ann, "m3", "two"))
		free()
		w.wantTurns("phone.100", "one (cancelled)", "two")
		if by := w.state("phone.100").Turns[0].Runs[0].CancelledBy; by.By != "Ann (1)" || by.Via.Sender != "1" {
			t.Errorf("stopped by %+v", by)
		}
	})
}

// I6: nothing of the queue is sent by a stop, and what is typed just after it is.
func TestStopSendsNothingThatIsQueued(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		free := w.holding()
		w.tell(from(ann, "m1", "one"))
		w.tell(from(ann, "q1", "q1"))
		w.tell(from(ann, "q2", "q2"))
		w.receive(from(ann, "m2", "/stop"))
		time.Sleep(20 * time.Millisecond)
		w.tell(from(ann, "q3", "q3"))
		free()
		w.wantTurns("phone.100", "one (cancelled)", "q3")
		if n := len(w.state("phone.100").Returned); n != 0 {
			t.Errorf("%d are returned after a new message", n)
		}
		w.wantHeard("2 messages that waited were taken out")
	})
}

func TestStopOfAQueueThatIsHeld(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		free := w.holding()
		w.failing(errMute)
		w.tell(from(ann, "m1", "one"))
		w.tell(from(ann, "m2", "two"))
		free()
		w.failing(nil)
		w.tell(from(ann, "s", "/status"))
		w.wantHeard("1 message waits. The last answer failed")
		w.tell(from(ann, "m3", "/stop"))
		w.wantHeard("1 message that waited was taken out")
		w.tell(from(ann, "m4", "three"))
		w.wantTurns("phone.100", "one (failed)", "three")
	})
}

// A stop does not wait for what is in the way of the messages before it.
func TestStopWhileTheDiskIsFull(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.set(func() { w.send = func(chat.SendRequest) error { return &chat.Error{Code: chat.Full} } })
		w.tell(from(ann, "m1", "one"))
		time.Sleep(time.Minute)
		w.receive(from(ann, "m2", "/stop"))
		w.wantHeard("The disk is full.", "1 message that waited was taken out")
		w.set(func() { w.send = nil })
		w.tell(from(ann, "m3", "two"))
		w.wantTurns("phone.100", "two")
	})
}

// A stop that was acknowledged is carried out, whenever the process dies; what
// came before it is not sent by the next start.
func TestStopSurvivesACrash(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.set(func() { w.send = func(chat.SendRequest) error { return errMute }; w.mute = true })
		w.tell(from(ann, "m1", "one"))
		w.tell(from(ann, "m2", "/stop"))
		w.set(func() { w.mute = false })
		w.crash()
		w.tell(from(ann, "m3", "two"))
		w.wantTurns("phone.100", "two")
		w.wantNothingOpen()
	})
}

func TestAgain(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.tell(from(ann, "m1", "/again"))
		w.wantHeard("Nothing is missing here.")
		w.set(func() { w.again = 2 })
		w.tell(from(ann, "m2", "/again"))
		w.wantHeard("2 posts sent again.")
		w.tell(from(ann, "m3", "/again"))
		w.wantHeard("Nothing is missing here.")
	})
}

func TestModel(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.tell(from(ann, "1", "/model"))
		w.wantHeard("`test/m`")
		w.tell(from(ann, "2", "/model test/big"))
		w.wantHeard("no messages yet")
		w.tell(from(ann, "3", "hello"))
		w.tell(from(ann, "4", "/model nonsense"))
		w.wantHeard("stays as it is: there is no model nonsense.")
		w.tell(from(ann, "5", "/model test/big"))
		w.wantHeard("From the next message on the model here is `test/big`.")
		if m := w.state("phone.100").Model; m != "test/big" {
			t.Errorf("the model is %q", m)
		}
		w.tell(from(ann, "6", "/model"))
		w.wantHeard("`test/big`")
		w.tell(from(ann, "7", "/model Default"))
		w.wantHeard("`test/m`")
		if m := w.state("phone.100").Model; m != "" {
			t.Errorf("the model is %q", m)
		}
	})
}

func TestStatus(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.tell(from(ann, "1", "/status"))
		w.wantHeard("Model: `test/m`.\nNothing is running.")
		w.tell(from(ann, "2", "run a"))
		w.tell(from(ann, "3", "later"))
		w.tell(from(ann, "4", "/status"))
		code := delivery.ReplyCode(w.pending()["a"])
		w.wantHeard("Model: `test/m`.\nAn answer is being written.\n1 message waits.\nA decision is needed: `" + code + "`, `write` (medium risk).")
		run := w.state("phone.100").Open().ID
		b := w.bound(private)
		err := w.memory.Save(t.Context(), delivery.Change{Address: address(private), Binding: b.ID, Place: []delivery.Placement{{
			Post: "p1", Binding: b.ID, Run: run, Item: "t:s1", Part: 1, State: delivery.Unknown, Body: &surface.Post{ID: "p1", Run: string(run), Text: "x"},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		w.tell(from(ann, "5", "/status"))
		w.wantHeard("1 post of the last answer may not have arrived; `/again`")
	})
}

func TestHelpAndUnknownCommands(t *testing.T) {
	for text, want := range map[string]string{
		"/help":          "/new",
		"/start payload": "/new",
		"  /Help  ":      "/new",
		"/dance now":     "There is no command `/dance`.",
	} {
		t.Run(text, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				ack := w.tell(from(ann, "1", text))
				w.wantHeard(want)
				w.wantTurns("phone.100")
				w.wantNothingOpen()
				if ack.Delivery == "" || ack.Conversation != "" || ack.Run != "" {
					t.Errorf("ack %+v", ack)
				}
			})
		})
	}
}

func TestTextThatOnlyLooksLikeACommand(t *testing.T) {
	for _, text := range []string{"/etc/passwd", "/etc/passwd is what?", "//", "/", "/2 of it", "see /stop", "allow abcd", "deny it", "/new/old", "/stop.", "allow me"} {
		t.Run(text, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				w.tell(from(ann, "1", text))
				w.wantTurns("phone.100", text)
				w.wantHeard()
			})
		})
	}
}

// What can't be carried out or said now is done when it can be.
func TestCommandIsCarriedOutLater(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.set(func() { w.mute = true })
		w.tell(from(ann, "1", "/help"))
		w.tell(from(ann, "2", "hello"))
		w.wantTurns("phone.100", "hello")
		w.set(func() { w.mute = false })
		time.Sleep(time.Minute)
		w.rest()
		w.wantHeard("/new")
		w.wantNothingOpen()
	})
}

// An old stop that is carried out but not stored as done must not stop what came
// after it.
func TestOldStopDoesNotStopWhatCameLater(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.tell(from(ann, "1", "one"))
		refuseDone := true
		w.set(func() {
			w.fate = func(method string) (f fate) {
				if refuseDone && method == "SetInbound" {
					return failed
				}
				return stored
			}
		})
		w.receive(from(ann, "2", "/stop"))
		if _, err := w.in.Receive(t.Context(), from(ann, "3", "two")); err == nil {
			t.Error("a message was taken before the stop was stored as done")
		}
		w.set(func() { refuseDone = false })
		w.tell(from(ann, "3", "two"))
		w.crash()
		w.rest()
		w.wantTurns("phone.100", "one", "two")
	})
}

func TestModelChangesFromTheNextMessageOn(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		free := w.holding()
		w.tell(from(ann, "1", "one"))
		w.tell(from(ann, "2", "/model test/big"))
		free()
		if s := w.state("phone.100"); s.Turns[0].Runs[0].Status != transcript.Complete || s.Model != "test/big" {
			t.Errorf("%s, %s", s.Turns[0].Runs[0].Status, s.Model)
		}
	})
}

// A conversation that two chats share is stopped from either.
func TestQueuesOfOneConversationFromTwoChats(t *testing.T) {
	inBubble(t, oneForAll, func(t *testing.T, w *world) {
		free := w.holding()
		w.tell(from(ann, "1", "one"))
		for i := range 3 {
			w.tell(inGroup(bob, fmt.Sprint("b", i), fmt.Sprint("b", i)))
		}
		w.wantTurns("phone.default", "one (running)", "b0 (waits)", "b1 (waits)", "b2 (waits)")
		w.tell(inGroup(bob, "s", "/stop"))
		free()
		time.Sleep(time.Minute)
		w.wantTurns("phone.default", "one (cancelled)")
		w.wantNothingOpen()
		if got := strings.Join(w.heard(), "|"); !strings.Contains(got, "3 messages") {
			t.Errorf("said %q", got)
		}
	})
}

func TestQueuedTurnIsDoneWhenItBegins(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		free := w.holding()
		w.tell(from(ann, "1", "one"))
		w.tell(from(ann, "2", "two"))
		open, err := w.memory.OpenInbound(t.Context())
		if err != nil || len(open) != 1 || open[0].Text != "two" {
			t.Errorf("open: %+v, %v", open, err)
		}
		info, err := w.log.Run(t.Context(), open[0].Run)
		if err != nil || info.Queued == 0 || info.First != 0 {
			t.Errorf("run %+v, %v", info, err)
		}
		free()
		time.Sleep(time.Minute)
		w.wantTurns("phone.100", "one", "two")
		w.wantNothingOpen()
	})
}
