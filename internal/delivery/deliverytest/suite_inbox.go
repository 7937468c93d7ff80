package deliverytest

import (
	"errors"
	"fmt"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/event"
	"verbatim/internal/surface"
)

func (w *world) message(name string) delivery.Inbound {
	return delivery.Inbound{
		Delivery: "d" + name, Address: a1, ID: name, Conversation: "c", Run: "r1", State: delivery.InboundWaiting, At: w.now,
		Sender: surface.Person{ID: "7", Name: "Ada", Other: []string{"@ada"}}, Text: "hi\x00\xff\r\n" + name,
		Files: []event.Attachment{{ID: "f1", Name: "ä.txt", MIME: "text/plain", Size: 12, Blob: "b_1"}, {ID: "f2"}},
	}
}

func (w *world) open(name string, want ...delivery.Inbound) {
	w.Helper()
	got, err := w.s.OpenInbound(w.Context())
	w.must(err)
	w.same(name, got, want)
}

func testInbound(w *world) {
	first, second := w.message("m1"), w.message("m2")
	// Order is that of receipt, not of what the platform's clock says.
	second.At = w.now.Add(-time.Hour)
	nameless, again := w.message(""), w.message("")
	nameless.Delivery, again.Delivery = "dn1", "dn2"
	for _, m := range []delivery.Inbound{first, second, nameless, again} {
		w.must(w.s.AddInbound(w.Context(), m))
	}
	w.open("all", first, second, nameless, again)
	elsewhere, thread := w.message("m1"), w.message("m1")
	elsewhere.Address, elsewhere.Delivery = b1, "elsewhere"
	thread.Chat.Thread, thread.Delivery, thread.Text = "another", "thread", "other"
	w.must(w.s.AddInbound(w.Context(), elsewhere))
	for name, m := range map[string]delivery.Inbound{"the same": first, "another thread of the chat": thread, "the same without an id": again} {
		if err := w.s.AddInbound(w.Context(), m); !errors.Is(err, delivery.ErrReceived) {
			w.Errorf("%s: %v, want ErrReceived", name, err)
		}
	}
	w.reopen()
	w.open("all, after a start", first, second, nameless, again, elsewhere)
	got, ok, err := w.s.Received(w.Context(), a1.Surface, a1.Chat.ID, "m1")
	w.same("received", got, first)
	if !ok || err != nil {
		w.Error(ok, err)
	}
	for _, key := range [][3]string{{a1.Surface, a1.Chat.ID, ""}, {a1.Surface, a1.Chat.ID, "m3"}, {a1.Surface, "x", "m1"}, {"x", a1.Chat.ID, "m1"}} {
		if _, ok, err := w.s.Received(w.Context(), key[0], key[1], key[2]); ok || err != nil {
			w.Errorf("%q was received: %v", key, err)
		}
	}
	if err := w.s.AddInbound(w.Context(), delivery.Inbound{Address: a1}); err == nil {
		w.Error("a message without a name of ours was stored")
	}
}

func testSetInbound(w *world) {
	one, two, three := w.message("m1"), w.message("m2"), w.message("m3")
	for _, m := range []delivery.Inbound{one, two, three} {
		w.must(w.s.AddInbound(w.Context(), m))
	}
	changed := one
	changed.State, changed.Run, changed.Conversation, changed.Text, changed.Files = delivery.InboundTaken, "r2", "d", "other", nil
	moved := changed
	moved.Address, moved.ID = b1, "m9"
	done := two
	done.State = delivery.InboundDone
	w.must(w.s.SetInbound(w.Context(), moved, done))
	w.reopen()
	w.open("changed", changed, three)
	done.Text, done.Files = "", nil
	got, ok, err := w.s.Received(w.Context(), a1.Surface, a1.Chat.ID, "m2")
	w.same("done", got, done)
	if !ok || err != nil {
		w.Error(ok, err)
	}
	three.State = delivery.InboundDone
	if err := w.s.SetInbound(w.Context(), three, w.message("m4")); err == nil {
		w.Error("a message that is not there was changed")
	}
	three.State = delivery.InboundWaiting
	w.open("all or none", changed, three)
	w.must(w.s.SetInbound(w.Context()))
}

func testInboundAge(w *world) {
	add := func(name string) error { return w.s.AddInbound(w.Context(), w.message(name)) }
	for i := range 3 {
		w.must(add(fmt.Sprint("m", i)))
	}
	for i := range 2 {
		m := w.message(fmt.Sprint("m", i))
		m.State = delivery.InboundDone
		w.must(w.s.SetInbound(w.Context(), m))
		w.now = w.now.Add(time.Hour)
		// Said again, it is not kept longer.
		w.must(w.s.SetInbound(w.Context(), m))
	}
	w.now = w.now.Add(30*24*time.Hour - 2*time.Hour - 1)
	w.reopen()
	for i := range 3 {
		if err := add(fmt.Sprint("m", i)); !errors.Is(err, delivery.ErrReceived) {
			w.Errorf("m%d: %v before its time", i, err)
		}
	}
	w.now = w.now.Add(1)
	w.must(add("m3")) // takes the old ones along
	for i, want := range []bool{false, true, true, true} {
		_, ok, err := w.s.Received(w.Context(), a1.Surface, a1.Chat.ID, fmt.Sprint("m", i))
		if ok != want || err != nil {
			w.Errorf("m%d is known: %v, %v; want %v", i, ok, err, want)
		}
	}
}

func testMarks(w *world) {
	get := func(surface, name, want string) {
		w.Helper()
		if got, err := w.s.Mark(w.Context(), surface, name); got != want || err != nil {
			w.Errorf("mark %s of %s: %q, %v; want %q", name, surface, got, err, want)
		}
	}
	get("s", "offset", "")
	w.must(w.s.SetMark(w.Context(), "s", "offset", "1"))
	w.must(w.s.SetMark(w.Context(), "s", "offset", "2 \x01"))
	w.must(w.s.SetMark(w.Context(), "s2", "offset", "3"))
	w.reopen()
	get("s", "offset", "2 \x01")
	get("s2", "offset", "3")
	get("s", "queue", "")
	w.must(w.s.SetMark(w.Context(), "s", "offset", ""))
	get("s", "offset", "")
}
