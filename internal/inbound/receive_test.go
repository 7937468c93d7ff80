package inbound_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/chat"
	"verbatim/internal/delivery"
	"verbatim/internal/delivery/deliverytest"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/inbound"
	"verbatim/internal/surface"
)

func TestMessageBecomesATurn(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		ack := w.tell(from(ann, "m1", "hello"))
		w.wantTurns("phone.100", "hello")
		user := w.state("phone.100").Turns[0].User
		if user.Via != (event.Via{Surface: "phone", Device: "100", Sender: "1"}) || user.Client != "m1" {
			t.Errorf("the message came by %+v as %q", user.Via, user.Client)
		}
		if ack.Conversation != "phone.100" || ack.Delivery == "" {
			t.Errorf("ack %+v", ack)
		}
		b, ok, err := w.memory.Bound(t.Context(), address(private))
		if err != nil || !ok || b.Conversation != "phone.100" || b.From != 0 {
			t.Errorf("bound %+v, %v, %v: the chat must show the conversation from before the message", b, ok, err)
		}
		w.wantNothingOpen()
		w.wantHeard()
	})
}

func TestWhoIsHeardInAGroup(t *testing.T) {
	plain := surface.Message{ID: "m", Chat: group, Sender: ann, Text: "hello"}
	for name, c := range map[string]struct {
		change func(*surface.Message)
		heard  bool
	}{
		"talk of others":                    {func(*surface.Message) {}, false},
		"a mention":                         {func(m *surface.Message) { m.Mentioned = true }, true},
		"a signed message":                  {func(m *surface.Message) { m.Signed = true }, true},
		"a private chat":                    {func(m *surface.Message) { m.Direct = true }, true},
		"a command of another bot":          {func(m *surface.Message) { m.Text = "/stop@other" }, false},
		"a command that nobody knows":       {func(m *surface.Message) { m.Text = "/dance" }, false},
		"a path":                            {func(m *surface.Message) { m.Text = "/etc/passwd" }, false},
		"a word that only looks like allow": {func(m *surface.Message) { m.Text = "allow abcd" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				m := plain
				c.change(&m)
				ack := w.tell(m)
				if !c.heard {
					if _, known, _ := w.memory.Received(t.Context(), "phone", m.Chat.ID, m.ID); known || ack != (surface.Ack{}) {
						t.Errorf("it left a trace: %v, %+v", known, ack)
					}
					w.wantTurns("phone.-200_-7")
					w.wantHeard()
					return
				}
				w.wantTurns("phone.-200_-7", "hello")
			})
		})
	}
}

func TestCommandInAGroupIsForUs(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.tell(surface.Message{ID: "m", Chat: group, Sender: ann, Text: "/stop"})
		w.wantHeard("Nothing is running")
	})
}

func TestWhoMayTalk(t *testing.T) {
	for name, c := range map[string]struct {
		list []string
		may  bool
	}{
		"nobody is named":         {nil, false},
		"anyone":                  {[]string{"*"}, true},
		"by id":                   {[]string{"7", "1"}, true},
		"by user name, any case":  {[]string{"@ANN"}, true},
		"another one":             {[]string{"2", "Ann"}, false},
		"a part of the name":      {[]string{"@an", "11"}, false},
		"an id in the other case": {[]string{"ANN"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(o *inbound.Options) { o.MayTalk = c.list }, func(t *testing.T, w *world) {
				who := ann
				if name == "an id in the other case" {
					who.ID = "ann"
				}
				ack := w.tell(from(who, "m1", "hello"))
				if c.may {
					w.wantTurns("phone.100", "hello")
					w.wantHeard()
					return
				}
				if ack != (surface.Ack{}) {
					t.Errorf("ack %+v", ack)
				}
				w.wantTurns("phone.100")
				w.wantHeard("add `" + who.ID + "` to `may_talk` of the surface `phone`")
			})
		})
	}
}

func TestWhoMayNotTalkIsToldOnceAnHour(t *testing.T) {
	inBubble(t, func(o *inbound.Options) { o.MayTalk = nil }, func(t *testing.T, w *world) {
		for i := range 5 {
			w.tell(from(ann, fmt.Sprint("m", i), "hello"))
		}
		w.tell(from(bob, "b", "hello"))
		w.wantHeard("`1`", "`2`")
		w.crash()
		w.tell(from(ann, "m5", "hello"))
		w.wantHeard()
		time.Sleep(time.Hour)
		w.tell(from(ann, "m6", "hello"))
		w.wantHeard("`1`")
		// In a group only those are told who spoke to us.
		w.tell(surface.Message{ID: "c", Chat: group, Sender: surface.Person{ID: "3"}, Text: "/help"})
		w.wantHeard()
		w.tell(inGroup(surface.Person{ID: "3"}, "d", "hello"))
		w.wantHeard("`3`")
	})
}

func TestSameMessageTwice(t *testing.T) {
	for name, m := range map[string]surface.Message{
		"a message": from(ann, "m1", "hello"),
		"signed":    {ID: "m1", Chat: private, Sender: ann, Text: "hello", Signed: true},
		"a command": from(ann, "m1", "/help"),
		"nothing":   from(ann, "m1", " \n"),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				first := w.tell(m)
				lines := len(w.heard())
				again := w.tell(m)
				w.crash()
				later := w.tell(m)
				if first.Delivery == "" || again.Delivery != first.Delivery || later.Delivery != first.Delivery || later.Conversation != first.Conversation {
					t.Errorf("acks %+v, %+v, %+v", first, again, later)
				}
				if m.Signed && (first.Run == "" || again != first || later != first) {
					t.Errorf("acks %+v, %+v, %+v", first, again, later)
				}
				if got := w.heard(); len(got) > 0 {
					t.Errorf("said again: %q", got)
				}
				switch name {
				case "a command":
					if lines != 1 || first.Conversation != "" || first.Run != "" {
						t.Errorf("%d lines, ack %+v", lines, first)
					}
				case "nothing":
					w.wantTurns("phone.100")
				default:
					w.wantTurns("phone.100", "hello")
				}
				w.wantNothingOpen()
			})
		})
	}
}

func TestSameMessageAtOnce(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		var mu sync.Mutex
		acks := map[surface.Ack]int{}
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				m := surface.Message{ID: "m", Chat: private, Sender: ann, Text: "hello", Signed: true}
				ack, err := w.in.Receive(context.Background(), m)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				acks[ack]++
			})
		}
		wg.Wait()
		if len(acks) != 1 {
			t.Errorf("%d different acks: %v", len(acks), acks)
		}
		w.rest()
		w.wantTurns("phone.100", "hello")
	})
}

func TestMessagesWithoutAnIDAreNeverTheSame(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		m := surface.Message{Chat: private, Sender: ann, Text: "hello", Signed: true}
		if a, b := w.tell(m), w.tell(m); a.Delivery == b.Delivery || a.Run == b.Run {
			t.Errorf("acks %+v and %+v", a, b)
		}
		w.wantTurns("phone.100", "hello", "hello")
	})
}

func TestSignedIsInTheLogBeforeTheAck(t *testing.T) {
	inBubble(t, func(o *inbound.Options) { o.MayTalk = nil }, func(t *testing.T, w *world) {
		m := surface.Message{ID: "m", Chat: private, Text: "/stop", Signed: true}
		ack := w.receive(m)
		info, err := w.log.Run(t.Context(), id.Run(ack.Run))
		if err != nil || info.First == 0 || string(info.Conversation) != ack.Conversation {
			t.Errorf("run %+v, %v", info, err)
		}
		w.rest()
		// What a program writes is never a command.
		w.wantTurns("phone.100", "/stop")
	})
}

func TestBursts(t *testing.T) {
	type at struct {
		ms   int
		who  surface.Person
		text string
	}
	for name, c := range map[string]struct {
		at   []at
		want []string
	}{
		"one after the other quickly": {[]at{{0, ann, "a"}, {349, ann, "b"}, {500, ann, "c"}}, []string{"a\nb\nc"}},
		"a pause":                     {[]at{{0, ann, "a"}, {350, ann, "b"}}, []string{"a", "b"}},
		"at most a second":            {[]at{{0, ann, "a"}, {340, ann, "b"}, {680, ann, "c"}, {999, ann, "d"}, {1001, ann, "e"}}, []string{"a\nb\nc\nd", "e"}},
		"two persons":                 {[]at{{0, ann, "a1"}, {100, bob, "b1"}, {200, ann, "a2"}, {300, bob, "b2"}}, []string{"a1\na2", "b1\nb2"}},
		"the first comes first":       {[]at{{0, ann, "a1"}, {50, bob, "b1"}, {300, ann, "a2"}, {600, ann, "a3"}, {620, bob, "b2"}}, []string{"a1\na2\na3", "b1", "b2"}},
		"blank ones":                  {[]at{{0, ann, "a"}, {10, ann, "  "}, {20, ann, "b"}}, []string{"a\nb"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				start := time.Now()
				for i, m := range c.at {
					time.Sleep(time.Duration(m.ms)*time.Millisecond - time.Since(start))
					w.receive(inGroup(m.who, fmt.Sprint(i), m.text))
				}
				w.rest()
				w.wantTurns("phone.-200_-7", c.want...)
				w.wantNothingOpen()
			})
		})
	}
}

func TestBurstIsSentWhenItEnds(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.receive(from(ann, "m1", "a"))
		time.Sleep(349 * time.Millisecond)
		synctest.Wait()
		w.wantTurns("phone.100")
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if n := len(w.state("phone.100").Turns); n != 1 {
			t.Errorf("%d turns after 350 ms", n)
		}
		w.rest()
	})
}

func picture(name string) surface.File {
	return surface.File{Name: name, Data: []byte("words of " + name)}
}

func TestFiles(t *testing.T) {
	heic := surface.File{Name: "photo.jpg", Data: append([]byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00"), make([]byte, 40)...)}
	for name, c := range map[string]struct {
		m     surface.Message
		turns []string
		heard []string
	}{
		"with text": {
			surface.Message{Text: "look", Files: []surface.File{picture("a.txt"), picture("b.txt")}},
			[]string{"look [f1 a.txt] [f2 b.txt]"}, nil,
		},
		"alone": {surface.Message{Files: []surface.File{picture("a.txt")}}, []string{" [f1 a.txt]"}, nil},
		"K1: a picture that no model takes": {
			surface.Message{Text: "look", Files: []surface.File{heic, picture("b.txt")}},
			[]string{"look [f1 b.txt]"}, []string{"`photo.jpg`"},
		},
		"K2: an SVG is text": {
			surface.Message{Text: "look", Files: []surface.File{{Name: "x.svg", MIME: "image/svg+xml", Data: []byte("<svg><script>1</script></svg>")}}},
			[]string{"look [f1 x.svg]"}, nil,
		},
		"K3: UTF-16 is text": {
			surface.Message{Text: "look", Files: []surface.File{{Name: "x.txt", Data: []byte("\xff\xfeh\x00\xe9\x00")}}},
			[]string{"look [f1 x.txt]"}, nil,
		},
		"nothing that is taken": {
			surface.Message{Files: []surface.File{heic}},
			nil, []string{"Nothing of this message was taken:"},
		},
		"too many": {
			surface.Message{Text: "look", Files: []surface.File{picture("1"), picture("2"), picture("3"), picture("4"), picture("5"), picture("6")}},
			[]string{"look [f1 1] [f2 2] [f3 3] [f4 4] [f5 5]"}, []string{"at most 5 files"},
		},
		"too large": {
			surface.Message{Text: "look", Files: []surface.File{{Name: "big", Data: bytes.Repeat([]byte("a"), 2<<20+1)}}},
			[]string{"look"}, []string{"2 MiB"},
		},
		"refused by the platform": {
			surface.Message{Text: "look", Refused: []string{"voice.ogg: voice is not taken"}},
			[]string{"look"}, []string{"voice.ogg: voice is not taken"},
		},
		"a text that is too long": {
			surface.Message{Text: strings.Repeat("a", chat.MaxPromptBytes+1)},
			nil, []string{"longer than 1 MiB"},
		},
		"a text that is none": {surface.Message{Text: "a\xffb"}, nil, []string{"UTF-8"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				m := c.m
				m.ID, m.Chat, m.Sender, m.Direct = "m1", private, ann, true
				w.tell(m)
				w.wantTurns("phone.100", c.turns...)
				w.wantHeard(c.heard...)
				w.tell(from(ann, "m2", "and now?"))
				w.wantTurns("phone.100", append(c.turns, "and now?")...)
			})
		})
	}
}

func TestFilesOfABurst(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		for i := range 7 {
			m := from(ann, fmt.Sprint(i), "")
			if i == 0 {
				m.Text = "an album"
			}
			m.Files = []surface.File{picture(fmt.Sprint("p", i))}
			w.receive(m)
			time.Sleep(50 * time.Millisecond)
		}
		w.rest()
		w.wantTurns("phone.100", "an album [f1 p0] [f2 p1] [f3 p2] [f4 p3] [f5 p4]", " [f1 p5] [f2 p6]")
	})
}

func TestFilesAreDurableBeforeTheAck(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		m := from(ann, "m1", "look")
		m.Files = []surface.File{picture("a.txt")}
		w.receive(m)
		w.crash()
		w.rest()
		w.wantTurns("phone.100", "look [f1 a.txt]")
		data, err := w.blobs.Read(w.state("phone.100").Turns[0].User.Attachments[0].Blob, 100)
		if err != nil || string(data) != "words of a.txt" {
			t.Errorf("the file is %q, %v", data, err)
		}
	})
}

// What the chat can't take for the moment waits, in order, and is told once.
func TestWaitsWhatIsRefusedForTheMoment(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		heard []string
	}{
		"the disk is full":       {&chat.Error{Code: chat.Full, Message: "full"}, []string{"The disk is full."}},
		"the queue is full":      {&chat.Error{Code: chat.TooMany, Message: "many"}, []string{"20 messages wait"}},
		"the last end is unsure": {&chat.Error{Code: chat.Conflict, Message: "stuck"}, []string{"last answer"}},
		"something else":         {errors.New("the disk said no"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				w.set(func() { w.send = func(chat.SendRequest) error { return c.err } })
				w.tell(from(ann, "m1", "one"))
				w.tell(from(ann, "m2", "two"))
				ack := w.tell(surface.Message{ID: "m3", Chat: private, Sender: ann, Text: "three", Signed: true})
				if ack.Run == "" {
					t.Error("a signed message has no run")
				}
				w.wantTurns("phone.100")
				w.wantHeard(c.heard...)
				w.set(func() { w.send = nil })
				time.Sleep(time.Minute)
				w.rest()
				w.wantTurns("phone.100", "one", "two", "three")
				w.wantNothingOpen()
				w.wantHeard()
			})
		})
	}
}

func TestRefusedForGood(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.set(func() {
			w.send = func(req chat.SendRequest) error {
				if req.Prompt == "one" {
					return &chat.Error{Code: chat.Invalid, Message: "It makes no sense."}
				}
				return nil
			}
		})
		w.tell(from(ann, "m1", "one"))
		w.tell(from(ann, "m2", "two"))
		w.wantTurns("phone.100", "two")
		w.wantHeard("It makes no sense.")
		w.wantNothingOpen()
	})
}

func TestStoppingKeepsMessagesForTheNextStart(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		if err := w.service.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.tell(from(ann, "m1", "one"))
		w.tell(from(ann, "m2", "two"))
		w.wantHeard()
		w.crash()
		time.Sleep(time.Minute)
		w.rest()
		w.wantTurns("phone.100", "one", "two")
		w.wantNothingOpen()
	})
}

// A chat's queue of 20 is full and held, because an answer failed: the next
// message sets it going again.
func TestFullQueueThatIsHeld(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		free := w.holding()
		w.failing(errors.New("no"))
		for i := range chat.MaxQueue + 1 {
			w.tell(from(ann, fmt.Sprint(i), fmt.Sprint("q", i)))
		}
		free()
		w.failing(nil)
		if state := w.state("phone.100"); !state.Held || len(state.Queue) != chat.MaxQueue {
			t.Fatalf("held %v, %d wait", state.Held, len(state.Queue))
		}
		w.tell(from(ann, "last", "go on"))
		time.Sleep(time.Minute)
		w.rest()
		state := w.state("phone.100")
		if len(state.Queue) != 0 || len(state.Turns) != chat.MaxQueue+2 {
			t.Errorf("%d wait, %d turns", len(state.Queue), len(state.Turns))
		}
		if last := state.Turns[len(state.Turns)-1].User.Text; last != "go on" {
			t.Errorf("the last one is %q", last)
		}
	})
}

func TestTooManyWait(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.set(func() { w.send = func(chat.SendRequest) error { return &chat.Error{Code: chat.Full} } })
		for i := range inbound.MaxWaiting {
			w.receive(from(ann, fmt.Sprint(i), "x"))
		}
		w.rest()
		w.wantHeard("The disk is full.")
		w.tell(from(ann, "more", "y"))
		w.wantHeard("100 messages of this chat wait already")
		// A program is told to come again.
		if _, err := w.in.Receive(t.Context(), surface.Message{ID: "s", Chat: private, Text: "y", Signed: true}); err == nil {
			t.Error("one more signed message was taken")
		}
		if _, known, _ := w.memory.Received(t.Context(), "phone", private.ID, "s"); known {
			t.Error("the refused message is known")
		}
	})
}

func TestOneConversationForAll(t *testing.T) {
	inBubble(t, func(o *inbound.Options) { o.Template = inbound.OneConversation }, func(t *testing.T, w *world) {
		w.tell(from(ann, "m1", "one"))
		w.tell(inGroup(bob, "m2", "two"))
		w.wantTurns("phone.default", "one", "two")
	})
}

func TestNothingIsTakenAfterClose(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.in.Close()
		w.in.Close()
		if _, err := w.in.Receive(t.Context(), from(ann, "m1", "one")); !errors.Is(err, inbound.ErrClosed) {
			t.Errorf("receive: %v", err)
		}
		if err := w.in.Change(t.Context(), private, "m1", "x"); !errors.Is(err, inbound.ErrClosed) {
			t.Errorf("change: %v", err)
		}
		if _, err := w.in.Press(t.Context(), surface.Press{}); !errors.Is(err, inbound.ErrClosed) {
			t.Errorf("press: %v", err)
		}
	})
}

func TestMarks(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		if got, err := w.in.Mark(t.Context(), "offset"); got != "" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if err := w.in.SetMark(t.Context(), "offset", "5"); err != nil {
			t.Fatal(err)
		}
		w.crash()
		if got, err := w.in.Mark(t.Context(), "offset"); got != "5" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if err := w.in.SetMark(t.Context(), "inbox:new:phone.100", "5"); err == nil {
			t.Error("a surface may change what is the inbox's own")
		}
	})
}

func TestStoreThatIsFullTakesNothing(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.set(func() { w.fate = func(string) deliverytest.Fate { return deliverytest.Failed } })
		if _, err := w.in.Receive(t.Context(), from(ann, "m1", "one")); err == nil {
			t.Error("it was acknowledged")
		}
		w.set(func() { w.fate = nil })
		w.tell(from(ann, "m1", "one"))
		w.wantTurns("phone.100", "one")
	})
}

// A message that was sent before, and deleted by somebody, is in nobody's way.
func TestSentBeforeAndDeleted(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.set(func() {
			w.send = func(req chat.SendRequest) error {
				if req.Prompt == "one" {
					return &chat.Error{Code: chat.Missing, Message: "deleted"}
				}
				return nil
			}
		})
		w.tell(from(ann, "m1", "one"))
		w.tell(from(ann, "m2", "two"))
		w.wantTurns("phone.100", "two")
		w.wantHeard()
		w.wantNothingOpen()
	})
}

func TestMessagesOfAnotherSurfaceAreLeftAlone(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		other := delivery.Inbound{
			Delivery: "d_other", Address: delivery.Address{Surface: "team", Chat: private}, ID: "m1",
			Conversation: "team.100", State: delivery.InboundWaiting, Sender: ann, Text: "hello",
		}
		if err := w.memory.AddInbound(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		w.crash()
		w.rest()
		w.wantTurns("team.100")
	})
}
