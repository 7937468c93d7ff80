package deliverytest

import (
	"errors"

	"verbatim/internal/delivery"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

func (w *world) receipts(run id.Run) []delivery.Receipt {
	w.Helper()
	all, err := w.s.Receipts(w.Context(), run)
	w.must(err)
	return all
}

func testReceipts(w *world) {
	w.begin("c", "before")
	early := w.bind(a1, "c")
	w.end("c", "before")
	w.begin("c", "r1")
	late := w.bind(a2, "c")
	w.bind(b1, "other")
	p, q := post(early, "p1", 6), post(early, "p2", 7)
	p.State, p.PlatformID = delivery.Delivered, "7"
	notice := post(early, "p3", 7)
	notice.Run = ""
	w.save(delivery.Change{Address: a1, Binding: early.ID, Place: []delivery.Placement{p, notice, q}})
	want := []delivery.Receipt{{Binding: early, Place: []delivery.Placement{p, q}}}
	w.same("a run", w.receipts("r1"), want)
	w.same("one that began before it was bound", w.receipts("before"), []delivery.Receipt{})
	w.same("one that is not there", w.receipts("r9"), []delivery.Receipt{})

	// A person may have asked for what a chat would not have shown.
	r := post(late, "p4", 6)
	w.save(delivery.Change{Address: a2, Binding: late.ID, Place: []delivery.Placement{r}})
	want = append(want, delivery.Receipt{Binding: late, Place: []delivery.Placement{r}})
	w.same("a run in two chats", w.receipts("r1"), want)

	withheld := delivery.Withheld{Reasoning: 1, Tools: 2, Commentary: 3}
	w.end("c", "r1")
	w.save(delivery.Change{Address: a1, Binding: early.ID, Done: 6, Runs: []delivery.RunShown{{Run: "r1", Withheld: withheld}}})
	want[0].Finished, want[0].Withheld, want[0].Binding.Done = true, withheld, 6
	w.same("a run that is shown", w.receipts("r1"), want)
	w.reopen()
	w.same("after a start", w.receipts("r1"), want)

	w.waiting(early, late)
}

// waiting is about a run that waits in a queue, and then begins after one of the
// chats has turned to something else.
func (w *world) waiting(early, late delivery.Binding) {
	w.Helper()
	queued := event.UserMessage{Message: "q2", Text: "later"}
	w.place.Append(w.T, "c", turnlog.Draft{Event: event.Queue{Op: event.QueueAdd, Run: "r2", Message: &queued, Request: "h"}})
	ids := func(run id.Run) (all []int64) {
		for _, r := range w.receipts(run) {
			all = append(all, r.Binding.ID)
		}
		return all
	}
	w.same("a run that waits", ids("r2"), []int64{early.ID, late.ID})
	w.bind(a1, "d")
	w.same("a run that waits, in a chat that is gone on", ids("r2"), []int64{late.ID})
	w.place.Append(w.T, "c", turnlog.Draft{Event: event.Queue{Op: event.QueueSend, Run: "r2"}}, turnlog.Draft{Event: queued},
		turnlog.Draft{Run: "r2", Message: "a2", Event: event.Start{Model: "x", Version: 1, Request: "h"}})
	w.same("a run that waited", ids("r2"), []int64{late.ID})
	w.end("c", "r2")
	w.place.Append(w.T, "c", turnlog.Draft{Event: event.Queue{Op: event.QueueAdd, Run: "r3", Message: &queued, Request: "h"}})
	w.place.Append(w.T, "c", turnlog.Draft{Event: event.Queue{Op: event.QueueRemove, Run: "r3"}})
	w.same("a run that was dropped", ids("r3"), []int64(nil))
}

func testUnsure(w *world) {
	b := w.bind(a1, "c")
	unsure := func(name string, want ...delivery.Placement) {
		w.Helper()
		got, err := w.s.Unsure(w.Context(), a1)
		w.must(err)
		w.same(name, got, want)
	}
	unsure("nothing")
	of := func(name string, run id.Run, state delivery.State) delivery.Placement {
		p := post(b, name, 1)
		p.Run, p.State = run, state
		return p
	}
	old, lost := of("p1", "r1", delivery.Unknown), of("p2", "r2", delivery.Unknown)
	refused, line := of("p4", "r2", delivery.Refused), of("p5", "", delivery.Unknown)
	given := of("p7", "r3", delivery.Refused)
	given.Body = nil
	fine := of("p3", "r2", delivery.Delivered)
	w.save(delivery.Change{Address: a1, Binding: b.ID, Place: []delivery.Placement{old, lost, fine, refused, line, of("p6", "r3", delivery.InFlight), given}})
	next := w.bind(a1, "d")
	unsure("of the newest run, in order", lost, refused)
	w.bind(a2, "d")
	w.reopen()
	unsure("after a start", lost, refused)
	newest := of("p8", "r4", delivery.Unknown)
	newest.Binding = next.ID
	lost.State = delivery.Delivered
	w.save(delivery.Change{Address: a1, Binding: next.ID, Place: []delivery.Placement{newest, lost}})
	unsure("of another conversation", newest)
	newest.State = delivery.Delivered
	w.save(delivery.Change{Address: a1, Binding: next.ID, Place: []delivery.Placement{newest}})
	unsure("what is left of the run before", refused)
	other, err := w.s.Unsure(w.Context(), a2)
	w.must(err)
	w.same("another chat", other, []delivery.Placement{})
}

func testFence(w *world) {
	b := w.bind(a1, "c")
	in := delivery.Inbound{Delivery: "d1", Address: a1, ID: "m1", State: delivery.InboundWaiting}
	w.must(w.s.AddInbound(w.Context(), in))
	old := w.s
	w.reopen()
	if old.Start() >= w.s.Start() {
		w.Errorf("start number %d after %d", w.s.Start(), old.Start())
	}
	p := post(b, "p1", 1)
	change := delivery.Change{Address: a1, Binding: b.ID, Place: []delivery.Placement{p}}
	for name, f := range map[string]func() error{
		"bind":        func() error { _, err := old.Bind(w.Context(), a1, "d"); return err },
		"save":        func() error { return old.Save(w.Context(), change) },
		"add":         func() error { _, err := old.Add(w.Context(), change); return err },
		"add inbound": func() error { return old.AddInbound(w.Context(), delivery.Inbound{Delivery: "d2", Address: a1}) },
		"set inbound": func() error { in.State = delivery.InboundDone; return old.SetInbound(w.Context(), in) },
		"set mark":    func() error { return old.SetMark(w.Context(), "s", "n", "v") },
	} {
		if err := f(); !errors.Is(err, delivery.ErrFenced) {
			w.Errorf("%s: %v, want ErrFenced", name, err)
		}
	}
	w.same("the lane", w.lane(a1), delivery.Saved{Bindings: []delivery.Binding{b}})
	if open, err := w.s.OpenInbound(w.Context()); len(open) != 1 || err != nil {
		w.Errorf("%d messages are open, %v", len(open), err)
	}
	if v, err := w.s.Mark(w.Context(), "s", "n"); v != "" || err != nil {
		w.Errorf("the mark is %q, %v", v, err)
	}
	w.save(change)
}

// testErasedRuns erases one turn of three.
func testErasedRuns(w *world) {
	b := w.bind(a1, "c")
	for _, r := range []id.Run{"r1", "r2", "r3"} {
		w.begin("c", r)
		w.end("c", r)
	}
	seqs := map[id.Run]int64{"r1": 1, "r2": 4, "r3": 7}
	var place []delivery.Placement
	for r, seq := range seqs {
		answer, echo := post(b, "p"+string(r), seq+1), post(b, "q"+string(r), seq)
		answer.Run, answer.State, answer.Shown, answer.Error = r, delivery.Unknown, "hash", "near <hi>"
		echo.Run, echo.State = "", delivery.Unknown
		place = append(place, answer, echo)
		in := delivery.Inbound{Delivery: "d" + string(r), Address: a1, ID: string(r), Conversation: "c", Run: r, State: delivery.InboundTaken, Text: "hi"}
		w.must(w.s.AddInbound(w.Context(), in))
	}
	w.save(delivery.Change{Address: a1, Binding: b.ID, Place: place})
	w.place.Erase(w.T, "c", turnlog.Erasure{Seqs: []int64{seqs["r2"]}, Runs: []id.Run{"r2"}})
	check := func(name string) {
		w.Helper()
		for _, p := range w.lane(a1).Place {
			gone := p.Post == "pr2" || p.Post == "qr2"
			if gone != (p.Body == nil) || gone && (p.Shown != "" || p.Error != "") {
				w.Errorf("%s: post %s: %+v", name, p.Post, p)
			}
		}
		open, err := w.s.OpenInbound(w.Context())
		w.must(err)
		for _, m := range open {
			if gone := m.Run == "r2"; gone != (m.Text == "") {
				w.Errorf("%s: message %s has the text %q", name, m.Delivery, m.Text)
			}
		}
		if unsure, err := w.s.Unsure(w.Context(), a1); err != nil || len(unsure) > 0 && unsure[0].Run == "r2" {
			w.Errorf("%s: the erased run can be sent again: %v, %v", name, unsure, err)
		}
	}
	check("erased")
	// Whoever was at work on it still has the text.
	w.save(delivery.Change{Address: a1, Binding: b.ID, Place: place})
	in := delivery.Inbound{Delivery: "dr2", Conversation: "c", Run: "r2", State: delivery.InboundTaken, Text: "hi"}
	w.must(w.s.SetInbound(w.Context(), in))
	check("stored again")
	w.reopen()
	check("after a start")
	for _, r := range w.receipts("r2") {
		if len(r.Place) != 1 || r.Place[0].Post != "pr2" {
			w.Errorf("the receipt is gone: %+v", r)
		}
	}
}

// testErasedConversation erases all that there is, while a message of a person
// waits that is not in the log yet.
func testErasedConversation(w *world) {
	b, other := w.bind(a1, "c"), w.bind(a2, "d")
	w.begin("c", "r1")
	w.end("c", "r1")
	w.begin("d", "r2")
	later := event.UserMessage{Message: "q3", Text: "later"}
	w.place.Append(w.T, "c", turnlog.Draft{Event: event.Queue{Op: event.QueueAdd, Run: "r3", Message: &later, Request: "h"}})
	w.place.Append(w.T, "c", turnlog.Draft{Event: event.Queue{Op: event.QueueRemove, Run: "r3"}})
	echo, answer, line := post(b, "p1", 1), post(b, "p2", 2), post(b, "p3", 0)
	echo.Run, line.Run = "", ""
	kept := post(other, "p4", 2)
	kept.Run = "r2"
	w.save(delivery.Change{Address: a1, Binding: b.ID, Place: []delivery.Placement{echo, answer, line}})
	w.save(delivery.Change{Address: a2, Binding: other.ID, Place: []delivery.Placement{kept}})
	taken := delivery.Inbound{Delivery: "d1", Address: a1, ID: "m1", Conversation: "c", Run: "r1", State: delivery.InboundTaken, Text: "hi"}
	waits := delivery.Inbound{Delivery: "d2", Address: a1, ID: "m2", Conversation: "c", State: delivery.InboundWaiting, Text: "hi"}
	dropped := delivery.Inbound{Delivery: "d3", Address: a1, ID: "m3", Conversation: "c", Run: "r3", State: delivery.InboundTaken, Text: "later"}
	for _, m := range []delivery.Inbound{taken, waits, dropped} {
		w.must(w.s.AddInbound(w.Context(), m))
	}
	w.place.Append(w.T, "c", turnlog.Draft{Event: event.ConversationDeleted{}})
	w.place.Erase(w.T, "c", turnlog.Erasure{Through: 5})
	w.reopen()
	bodies := map[string]bool{}
	for _, p := range append(w.lane(a1).Place, w.lane(a2).Place...) {
		bodies[p.Post] = p.Body != nil
	}
	w.same("posts with a body", bodies, map[string]bool{"p1": false, "p2": false, "p3": true, "p4": true})
	open, err := w.s.OpenInbound(w.Context())
	w.must(err)
	taken.Text, dropped.Text = "", ""
	w.same("messages", open, []delivery.Inbound{taken, waits, dropped})
	w.talk("c", 1)
	if head := w.bind(b1, "c").From; head != 7 {
		w.Errorf("the conversation's head is %d", head)
	}
}
