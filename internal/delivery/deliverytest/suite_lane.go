package deliverytest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"verbatim/internal/delivery"
	"verbatim/internal/surface"
)

// address is a chat of a surface that is named after its first letter.
func address(chat string) delivery.Address {
	return delivery.Address{Surface: "s" + chat[:1], Chat: surface.Chat{ID: chat, Thread: "t"}}
}

var a1, a2, b1 = address("a1"), address("a2"), address("b1")

// same compares what is stored, and tells empty from nil no more than a disk does.
func (w *world) same(what string, got, want any) {
	w.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		w.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// post is a placement as it is before its first call.
func post(b delivery.Binding, name string, seq int64) delivery.Placement {
	return delivery.Placement{
		Post: name, Binding: b.ID, Run: "r1", Item: "t:s1", Segment: "s1", Part: 1, Seq: seq, To: 5, State: delivery.Planned,
		Body: &surface.Post{ID: name, Conversation: string(b.Conversation), Run: "r1", Kind: surface.KindText, Seq: seq, Part: 1, Text: "Hello"},
	}
}

func testBind(w *world) {
	if _, ok, err := w.s.Bound(w.Context(), a1); ok || err != nil {
		w.Errorf("a chat that is not known shows something: %v, %v", ok, err)
	}
	w.same("a chat that is not known", w.lane(a1), delivery.Saved{})
	w.talk("c", 3)
	first := w.bind(a1, "c")
	w.same("the first binding", first, delivery.Binding{ID: first.ID, Address: a1, Conversation: "c", From: 3, Done: 3})
	w.talk("c", 2)
	w.same("the same again", w.bind(a1, "c"), first)
	if other := w.bind(a2, "c"); other.From != 5 || other.ID <= first.ID {
		w.Errorf("the same conversation in another chat: %+v", other)
	}
	second := w.bind(a1, "new")
	w.same("a conversation without records", second, delivery.Binding{ID: second.ID, Address: a1, Conversation: "new"})
	if second.ID <= first.ID {
		w.Errorf("binding %d after %d", second.ID, first.ID)
	}
	w.reopen()
	bound, ok, err := w.s.Bound(w.Context(), a1)
	w.same("what the chat shows", bound, second)
	if !ok || err != nil {
		w.Error(ok, err)
	}
	closed := first
	closed.Closed, closed.Until = true, 5
	w.same("the lane", w.lane(a1).Bindings, []delivery.Binding{closed, second})
	w.talk("new", 1)
	w.talk("c", 1)
	if again := w.bind(a1, "c"); again.From != 6 || again.ID <= second.ID {
		w.Errorf("back to the first conversation: %+v", again)
	}
	all, err := w.s.Addresses(w.Context())
	w.must(err)
	slices.SortFunc(all, func(a, b delivery.Address) int { return strings.Compare(a.Chat.ID, b.Chat.ID) })
	w.same("the chats", all, []delivery.Address{a1, a2})
}

// full is a placement of which every field is set.
func full(b delivery.Binding, at time.Time) delivery.Placement {
	return delivery.Placement{
		Post: "p1", Binding: b.ID, Run: "r1", Item: "t:s1", Segment: "s1", Part: 2, Seq: 9, From: 7, To: 1 << 40,
		State: delivery.InFlight, PlatformID: "id 7", EditTo: 12, Shown: strings.Repeat("ab", 32), Attempts: 3, Start: 4,
		At: at, First: at.Add(-time.Nanosecond), NotBefore: at.Add(time.Hour), Wait: 1500 * time.Millisecond,
		Plain: true, Sealed: true, Again: true, Error: "it didn't go",
		Body: &surface.Post{
			ID: "p1", Conversation: "c", Run: "r1", Kind: surface.KindAnswer, Seq: 9, Part: 2,
			Text: "a <b>&\x00\u2028\xff \r\nz", Plain: true, Final: true, ReplyTo: "5",
			Buttons: []surface.Button{{Label: "Allow <it>", Data: "a:1:allow"}},
			Files:   []surface.File{{Name: "ä.txt", MIME: "text/plain", Blob: "b_1"}, {Name: "without"}},
		},
	}
}

func testSave(w *world) {
	w.talk("c", 4)
	b := w.bind(a1, "c")
	p := full(b, w.now)
	pace := delivery.Pace{NotBefore: w.now.Add(3), Interval: 1600 * time.Millisecond, Quiet: w.now.Add(-time.Minute)}
	w.save(delivery.Change{Address: a1, Binding: b.ID, Place: []delivery.Placement{p}, Pace: &pace})
	want := delivery.Saved{Pace: pace, LastID: "id 7", Bindings: []delivery.Binding{b}, Place: []delivery.Placement{p}}
	w.same("saved", w.lane(a1), want)
	w.reopen()
	w.same("after a start", w.lane(a1), want)
	w.same("another chat", w.lane(a2), delivery.Saved{})

	// What is changed is changed wholly; who looked at it before keeps what
	// was there.
	before := w.lane(a1).Place[0]
	p.Body, p.State, p.EditTo, p.Again, p.PlatformID, p.To, p.Error = nil, delivery.Delivered, 0, false, "id 8", 20, ""
	p.At, p.NotBefore, p.Wait, p.Shown = time.Time{}, time.Time{}, 0, ""
	second := post(b, "p2", 10)
	second.PlatformID = "id 9"
	w.save(delivery.Change{Address: a1, Binding: b.ID, Place: []delivery.Placement{second, p}})
	w.same("what was read before", before, full(b, w.now))
	w.same("changed", w.lane(a1), delivery.Saved{Pace: pace, LastID: "id 8", Bindings: []delivery.Binding{b}, Place: []delivery.Placement{p, second}})

	// An edit of an older post is no newer message.
	second.State = delivery.Delivered
	w.save(delivery.Change{Address: a1, Binding: b.ID, Place: []delivery.Placement{second}, Done: 5})
	saved := w.lane(a1)
	if saved.LastID != "id 8" || saved.Bindings[0].Done != 5 {
		w.Errorf("last id %q, done %d", saved.LastID, saved.Bindings[0].Done)
	}
	w.save(delivery.Change{Address: a1, Binding: b.ID, Done: 4})
	if done := w.lane(a1).Bindings[0].Done; done != 5 {
		w.Errorf("done went back to %d", done)
	}
	w.save(delivery.Change{Address: a1, Pace: &delivery.Pace{}})
	w.same("no pace", w.lane(a1).Pace, delivery.Pace{})
}

// testLane saves one placement of each kind before and after what is settled.
func testLane(w *world) {
	w.begin("c", "r1")
	b := w.bind(a1, "c")
	w.save(delivery.Change{Address: a1, Binding: b.ID, Runs: []delivery.RunShown{{Run: "old"}}})
	cases := []struct {
		name string
		seq  int64
		set  func(p *delivery.Placement)
		want bool
	}{
		{"delivered, before", 10, func(p *delivery.Placement) { p.State = delivery.Delivered }, false},
		{"delivered, after", 11, func(p *delivery.Placement) { p.State = delivery.Delivered }, true},
		{"blank, before", 3, func(p *delivery.Placement) { p.State, p.Body = delivery.Blank, nil }, false},
		{"blank, after", 30, func(p *delivery.Placement) { p.State, p.Body = delivery.Blank, nil }, true},
		{"expired, before", 3, func(p *delivery.Placement) { p.State, p.Body = delivery.Expired, nil }, false},
		{"refused, before", 3, func(p *delivery.Placement) { p.State = delivery.Refused }, false},
		{"refused, after", 12, func(p *delivery.Placement) { p.State = delivery.Refused }, true},
		{"planned, before", 3, func(*delivery.Placement) {}, true},
		{"in flight, before", 3, func(p *delivery.Placement) { p.State = delivery.InFlight }, true},
		{"unknown, before", 3, func(p *delivery.Placement) { p.State = delivery.Unknown }, true},
		{"unknown, given up", 3, func(p *delivery.Placement) { p.State, p.Body = delivery.Unknown, nil }, false},
		{"unknown, of a run that is shown", 3, func(p *delivery.Placement) { p.State, p.Run = delivery.Unknown, "old" }, false},
		{"unknown, of a run that is shown, after", 30, func(p *delivery.Placement) { p.State, p.Run = delivery.Unknown, "old" }, true},
		{"unknown, of no run", 3, func(p *delivery.Placement) { p.State, p.Run = delivery.Unknown, "" }, true},
		{"an edit under way, before", 3, func(p *delivery.Placement) { p.State, p.EditTo = delivery.Delivered, 9 }, true},
		{"to be sent again, of a run that is shown", 3, func(p *delivery.Placement) { p.State, p.Run, p.Again = delivery.Unknown, "old", true }, true},
		{"without a seq, planned", 0, func(*delivery.Placement) {}, true},
		{"without a seq, delivered", 0, func(p *delivery.Placement) { p.State = delivery.Delivered }, false},
	}
	var want, got []string
	var place []delivery.Placement
	for _, c := range cases {
		p := post(b, c.name, c.seq)
		c.set(&p)
		place = append(place, p)
		if c.want {
			want = append(want, c.name)
		}
	}
	w.save(delivery.Change{Address: a1, Binding: b.ID, Place: place, Done: 10})
	for range 2 {
		got = nil
		for _, p := range w.lane(a1).Place {
			got = append(got, p.Post)
		}
		w.same("placements", got, want)
		w.reopen()
	}
}

func testClosed(w *world) {
	w.begin("c", "r1")
	b := w.bind(a1, "c")
	w.talk("c", 2)
	open := w.bind(a1, "d")
	listed := func(name string, want ...delivery.Binding) {
		w.Helper()
		var ids, wanted []int64
		for _, b := range w.lane(a1).Bindings {
			ids = append(ids, b.ID)
		}
		for _, b := range want {
			wanted = append(wanted, b.ID)
		}
		w.same(name, ids, wanted)
	}
	listed("records up to the end are not settled", b, open)
	p := post(b, "p1", 1)
	w.save(delivery.Change{Address: a1, Binding: b.ID, Place: []delivery.Placement{p}, Done: 4})
	listed("a post is not settled", b, open)
	p.State = delivery.Unknown
	w.save(delivery.Change{Address: a1, Binding: b.ID, Place: []delivery.Placement{p}})
	listed("a post may be found out about", b, open)
	w.save(delivery.Change{Address: a1, Binding: b.ID, Runs: []delivery.RunShown{{Run: "r1"}}})
	listed("nothing is left", open)
	w.reopen()
	listed("nothing is left after a start", open)
	p.Again = true
	// A person asks in the chat, whatever it shows now.
	w.save(delivery.Change{Address: a1, Place: []delivery.Placement{p}})
	listed("it is to be sent again", b, open)
	w.same("it comes back", w.lane(a1).Place, []delivery.Placement{p})
	p.Again, p.State, p.Body = false, delivery.Delivered, nil
	w.save(delivery.Change{Address: a1, Place: []delivery.Placement{p}})
	listed("it was sent again", open)
	w.bind(a1, "e")
	if got := w.lane(a1).Bindings; len(got) != 1 || got[0].Conversation != "e" {
		w.Errorf("a binding without records is left: %+v", got)
	}
}

// testLoose is about lines of the product itself, also in a chat that shows
// nothing.
func testLoose(w *world) {
	p := post(delivery.Binding{}, "p1", 0)
	p.Run, p.Item, p.Segment = "", "s:hello", ""
	added, err := w.s.Add(w.Context(), delivery.Change{Address: a1, Place: []delivery.Placement{p}})
	w.must(err)
	w.same("added", added, []delivery.Placement{p})
	w.reopen()
	all, err := w.s.Addresses(w.Context())
	w.must(err)
	w.same("the chats with something to do", all, []delivery.Address{a1})
	w.same("the lane", w.lane(a1), delivery.Saved{Place: []delivery.Placement{p}})
	w.bind(a1, "c")
	w.same("the lane that shows something", w.lane(a1).Place, []delivery.Placement{p})
	p.State, p.PlatformID, p.Body = delivery.Delivered, "7", nil
	w.save(delivery.Change{Address: a1, Place: []delivery.Placement{p}})
	if saved := w.lane(a1); len(saved.Place) != 0 || saved.LastID != "7" {
		w.Errorf("after it was delivered: %+v", saved)
	}
}

func testAdd(w *world) {
	b := w.bind(a1, "c")
	p, q := post(b, "p1", 1), post(b, "p2", 2)
	q.Binding = 0 // that of the change
	add := func(want ...delivery.Placement) {
		w.Helper()
		added, err := w.s.Add(w.Context(), delivery.Change{Address: a1, Binding: b.ID, Place: []delivery.Placement{p, q}})
		w.must(err)
		w.same("added", added, want)
	}
	w.save(delivery.Change{Address: a1, Binding: b.ID, Place: []delivery.Placement{p}})
	stored := p
	p.Error = "another"
	full := q
	full.Binding = b.ID
	add(full)
	w.reopen()
	add()
	w.same("the lane", w.lane(a1).Place, []delivery.Placement{stored, full})
}

// testWhole is about changes that can't be stored.
func testWhole(w *world) {
	b, other := w.bind(a1, "c"), w.bind(a2, "c")
	theirs := post(other, "theirs", 1)
	w.save(delivery.Change{Address: a2, Binding: other.ID, Place: []delivery.Placement{theirs}})
	good := post(b, "p1", 1)
	bad := func(name string, c delivery.Change) {
		w.Helper()
		c.Address, c.Pace = a1, &delivery.Pace{Interval: time.Second}
		c.Place = append([]delivery.Placement{good}, c.Place...)
		if err := w.s.Save(w.Context(), c); err == nil {
			w.Errorf("%s: it was stored", name)
		}
		if _, err := w.s.Add(w.Context(), c); err == nil {
			w.Errorf("%s: it was added", name)
		}
		w.same(name, w.lane(a1), delivery.Saved{Bindings: []delivery.Binding{b}})
	}
	bad("the binding of another chat", delivery.Change{Binding: other.ID})
	bad("a binding that is not there", delivery.Change{Binding: other.ID + 7})
	bad("a placement in another chat's binding", delivery.Change{Binding: b.ID, Place: []delivery.Placement{post(other, "p2", 1)}})
	bad("a placement without a post", delivery.Change{Binding: b.ID, Place: []delivery.Placement{post(b, "", 1)}})
	if err := w.s.Save(w.Context(), delivery.Change{Address: a1, Binding: b.ID, Place: []delivery.Placement{post(b, "theirs", 1)}}); err == nil {
		w.Error("another chat's post was taken")
	}
	if err := w.s.Save(w.Context(), delivery.Change{Address: a1, Done: 3}); err == nil {
		w.Error("no binding was settled")
	}
	w.same("the other chat", w.lane(a2).Place, []delivery.Placement{theirs})
}

// testMany saves in many chats at the same time, one of them badly.
func testMany(w *world) {
	const chats, posts = 20, 10
	results := make(chan error)
	for i := range chats {
		a := address(fmt.Sprintf("c%d", i))
		b := w.bind(a, "c")
		go func() {
			var failed error
			for n := range posts {
				p := post(b, fmt.Sprintf("p%d-%d", i, n), int64(n))
				c := delivery.Change{Address: a, Binding: b.ID, Place: []delivery.Placement{p}}
				err := w.s.Save(w.Context(), c)
				c.Binding = 1 << 40
				if bad := w.s.Save(w.Context(), c); bad == nil {
					err = fmt.Errorf("chat %d: a bad change was stored", i)
				}
				if err != nil {
					failed = err
				}
			}
			results <- failed
		}()
	}
	for range chats {
		if err := <-results; err != nil {
			w.Error(err)
		}
	}
	w.reopen()
	for i := range chats {
		if got := w.lane(address(fmt.Sprintf("c%d", i))).Place; len(got) != posts {
			w.Errorf("chat %d has %d posts, want %d", i, len(got), posts)
		}
	}
}
