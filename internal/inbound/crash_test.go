package inbound_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/approval"
	"verbatim/internal/chat"
	"verbatim/internal/delivery"
	"verbatim/internal/delivery/deliverytest"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/inbound"
	"verbatim/internal/surface"
	"verbatim/internal/turnlog"
)

// The process dies at each commit of the inbox in turn, before or after it is
// durable. What the platform gives again is there once, in its order, and a
// signed message keeps the answer that it was given.
func TestCrashAtEachCommit(t *testing.T) {
	story := []surface.Message{
		from(ann, "m1", "one"), from(ann, "m2", "two"),
		{ID: "s1", Chat: private, Text: "three", Signed: true},
		from(ann, "m3", "/new"),
		{ID: "s2", Chat: private, Text: "four", Signed: true},
		from(ann, "m4", "five"),
	}
	for _, how := range []fate{crashBefore, crashAfter} {
		for at := 1; ; at++ {
			crashed := false
			inBubble(t, nil, func(t *testing.T, w *world) {
				commits := 0
				w.set(func() {
					w.fate = func(string) fate {
						if commits++; commits == at {
							crashed = true
							return how
						}
						return stored
					}
				})
				acks := map[string]surface.Ack{}
				for _, m := range story {
					if m.Text == "/new" {
						w.rest()
					}
					if ack, err := w.in.Receive(t.Context(), m); err == nil {
						acks[m.ID] = ack
					} else if !crashed {
						t.Errorf("receive %s: %v", m.ID, err)
					} else {
						w.crash()
						w.rest()
						ack := w.receive(m)
						acks[m.ID] = ack
					}
				}
				w.rest()
				if crashed {
					w.crash()
				}
				w.set(func() { w.fate = nil })
				for _, m := range story {
					if ack := w.receive(m); m.Signed && ack != acks[m.ID] || ack.Delivery != acks[m.ID].Delivery {
						t.Errorf("commit %d, fate %d: %s: ack %+v, then %+v", at, how, m.ID, acks[m.ID], ack)
					}
				}
				time.Sleep(time.Minute)
				w.rest()
				got := w.texts("phone.100") + "; " + w.texts("phone.100.1")
				// Where the process died in the middle of the burst it is two.
				got = strings.ReplaceAll(got, "one, two", "one\ntwo")
				if got != "one\ntwo, three; four, five" && got != "one\ntwo; three, four, five" {
					t.Errorf("commit %d, fate %d: %q", at, how, got)
				}
				w.wantNothingOpen()
			})
			if !crashed {
				if at < 10 {
					t.Errorf("the story has %d commits only", at)
				}
				break
			}
		}
	}
}

// texts are the questions of a conversation.
func (w *world) texts(c id.Conversation) string {
	w.t.Helper()
	var all []string
	for _, turn := range w.state(c).Turns {
		all = append(all, turn.User.Text)
	}
	return strings.Join(all, ", ")
}

// The process dies when a turn has been stored as made up: before it is sent, or
// when the log has it and the inbox doesn't know. It is sent under the same run id
// once.
func TestCrashAroundTheSend(t *testing.T) {
	for name, after := range map[string]bool{"before": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				w.tell(from(ann, "m0", "hello"))
				var run id.Run
				w.set(func() {
					w.send = func(req chat.SendRequest) error {
						run = req.Run
						if after {
							if _, err := w.service.Send(context.Background(), req); err != nil {
								t.Error(err)
							}
						}
						w.memory.Crash()
						return errors.New("the process has ended")
					}
				})
				w.receive(from(ann, "m1", "one"))
				w.receive(from(ann, "m2", "two"))
				w.rest()
				w.crash()
				w.rest()
				w.wantTurns("phone.100", "hello", "one\ntwo")
				if got := w.state("phone.100").Turns[1].Runs[0].ID; got != run {
					t.Errorf("run %s, not %s", got, run)
				}
				w.wantNothingOpen()
			})
		})
	}
}

// The store has taken a message and says that it has not, and the process lives
// on: the platform gives it again.
func TestStoredAlthoughAnErrorWasReturned(t *testing.T) {
	for _, m := range []surface.Message{from(ann, "m1", "one"), {ID: "m1", Chat: private, Text: "one", Signed: true}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBook()
			memory := deliverytest.NewMemory(deliverytest.Options{Log: b})
			liar := &liar{Store: memory}
			in := b.open(t, liar)
			defer func() { in.Close() }()
			liar.lies.Store(true)
			if _, err := in.Receive(t.Context(), m); err == nil {
				t.Error("no error")
			}
			liar.lies.Store(false)
			if _, err := in.Receive(t.Context(), m); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
			if got := b.said(); got != "one" {
				t.Errorf("sent %q", got)
			}
		})
	}
}

// liar stores messages and may say that it has not.
type liar struct {
	inbound.Store
	lies atomic.Bool
}

func (l *liar) AddInbound(ctx context.Context, m delivery.Inbound) error {
	err := l.Store.AddInbound(ctx, m)
	if l.lies.Load() {
		return errors.New("the disk said no")
	}
	return err
}

// A thousand random schedules of messages, redeliveries, refusals and crashes: each
// message is in exactly one turn, once, and the turns of a sender are in order.
func TestRandomSchedules(t *testing.T) {
	for seed := range uint64(1000) {
		synctest.Test(t, func(t *testing.T) {
			s := newSchedule(t, seed)
			defer func() {
				s.in.Close()
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			for range 30 {
				s.step()
			}
			s.finish()
		})
	}
}

// schedule is one platform and one process after the other.
type schedule struct {
	t      *testing.T
	rng    *rand.Rand
	book   *book
	memory *deliverytest.Memory
	in     *inbound.Inbox
	said   []surface.Message
	acked  map[string]surface.Ack
	calm   bool
}

func newSchedule(t *testing.T, seed uint64) *schedule {
	s := &schedule{t: t, rng: rand.New(rand.NewPCG(seed, 7)), book: newBook(), acked: map[string]surface.Ack{}}
	s.memory = deliverytest.NewMemory(deliverytest.Options{Log: s.book, Fate: func(string) deliverytest.Fate {
		s.book.mu.Lock()
		defer s.book.mu.Unlock()
		if s.calm {
			return stored
		}
		switch s.rng.IntN(40) {
		case 0:
			return crashBefore
		case 1:
			return crashAfter
		case 2, 3:
			return failed
		}
		return stored
	}})
	s.book.dice = func(n int) int {
		if s.calm {
			return n
		}
		return s.rng.IntN(n)
	}
	s.in = s.book.open(t, s.memory)
	return s
}

// step is one thing that happens.
func (s *schedule) step() {
	s.book.mu.Lock()
	what, which := s.rng.IntN(12), s.rng.IntN(1000)
	pause := time.Duration(s.rng.IntN(600)) * time.Millisecond
	s.book.mu.Unlock()
	switch {
	case what < 5:
		m := surface.Message{ID: fmt.Sprint("m", len(s.said)), Chat: surface.Chat{ID: fmt.Sprint(which % 2)}, Sender: []surface.Person{ann, bob}[which/2%2], Direct: true}
		m.Signed = which%7 == 0
		m.Text = fmt.Sprintf("%s.%s.%03d", m.Chat.ID, m.Sender.ID, len(s.said))
		s.said = append(s.said, m)
		s.deliver(m)
	case what < 7 && len(s.said) > 0:
		s.deliver(s.said[which%len(s.said)])
	case what == 7:
		s.restart()
	case what == 8 && len(s.said) > 0:
		m := s.said[which%len(s.said)]
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { s.deliver(m) })
		}
		wg.Wait()
	default:
		time.Sleep(pause)
	}
}

// deliver hands a message in, which a platform does again until it is taken: the
// ones before it come first.
func (s *schedule) deliver(m surface.Message) {
	ack, err := s.in.Receive(context.Background(), m)
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	if err != nil {
		return
	}
	if before, ok := s.acked[m.ID]; ok && (before.Delivery != ack.Delivery || m.Signed && before != ack) {
		s.t.Errorf("%s: ack %+v, then %+v", m.ID, before, ack)
	}
	s.acked[m.ID] = ack
}

func (s *schedule) restart() {
	s.memory.Crash()
	s.in.Close()
	s.memory = s.memory.Reopen()
	s.in = s.book.open(s.t, s.memory)
}

// finish lets all faults end, gives everything again, and looks at the turns.
func (s *schedule) finish() {
	s.book.mu.Lock()
	s.calm = true
	s.book.mu.Unlock()
	s.restart()
	for _, m := range s.said {
		if _, err := s.in.Receive(s.t.Context(), m); err != nil {
			s.t.Errorf("%s: %v", m.ID, err)
		}
	}
	time.Sleep(2 * time.Minute)
	synctest.Wait()
	var got []string
	for _, turn := range s.book.turns() {
		got = append(got, strings.Split(turn, "\n")...)
	}
	var want []string
	for _, m := range s.said {
		want = append(want, m.Text)
	}
	if g, w := slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want)); !slices.Equal(g, w) {
		s.t.Errorf("in turns:\n got %q\nwant %q", g, w)
	}
	if open, err := s.memory.OpenInbound(s.t.Context()); err != nil || len(open) > 0 {
		s.t.Errorf("open: %+v, %v", open, err)
	}
	s.inOrder(got)
}

// inOrder checks that what was acknowledged at once stands in the order in which
// it was written, chat by chat and sender by sender.
func (s *schedule) inOrder(got []string) {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	place := map[string]int{}
	for i, text := range got {
		place[text] = i
	}
	stored := s.book.order
	for i, a := range stored {
		for _, b := range stored[i+1:] {
			if a[:4] == b[:4] && place[a] > place[b] {
				s.t.Errorf("%s stands after %s", a, b)
			}
		}
	}
}

// book is a chat and its log, as simple as can be: each turn begins at once.
type book struct {
	mu    sync.Mutex
	facts deliverytest.Facts
	dice  func(n int) int
	sent  map[id.Run]chat.SendRequest
	list  []string
	order []string
}

func newBook() *book {
	return &book{sent: map[id.Run]chat.SendRequest{}, dice: func(n int) int { return n }}
}

// open starts a process.
func (b *book) open(t *testing.T, s inbound.Store) *inbound.Inbox {
	t.Helper()
	in, err := inbound.New(inbound.Options{
		Surface: "phone", MayTalk: []string{"*"}, Store: noting{s, b}, Chat: b, Log: b, Desk: b, Blobs: b,
		Say:   func(context.Context, delivery.Address, string, string) error { return nil },
		Again: func(context.Context, delivery.Address) (int, error) { return 0, nil },
		Model: func(context.Context, string) (string, error) { return "m", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	// A start that can't read its store is tried again.
	if err := in.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	return in
}

// noting notes the order in which messages become durable.
type noting struct {
	inbound.Store
	b *book
}

func (n noting) AddInbound(ctx context.Context, m delivery.Inbound) error {
	err := n.Store.AddInbound(ctx, m)
	if err == nil && m.Text != "" {
		n.b.mu.Lock()
		defer n.b.mu.Unlock()
		n.b.order = append(n.b.order, m.Text)
	}
	return err
}

var errSend = errors.New("nobody knows whether it was sent")

func (b *book) Send(_ context.Context, req chat.SendRequest) (turnlog.RunInfo, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before, known := b.sent[req.Run]
	if known && (before.Prompt != req.Prompt || before.Conversation != req.Conversation) {
		return turnlog.RunInfo{}, &chat.Error{Code: chat.Mismatch, Message: "another request"}
	}
	roll := b.dice(12)
	switch roll {
	case 0:
		return turnlog.RunInfo{}, &chat.Error{Code: chat.Full}
	case 1:
		return turnlog.RunInfo{}, &chat.Error{Code: chat.TooMany}
	case 2:
		return turnlog.RunInfo{}, errSend
	}
	if !known {
		b.sent[req.Run] = req
		b.list = append(b.list, req.Prompt)
		b.facts.Append(req.Conversation, turnlog.Draft{Event: event.UserMessage{Text: req.Prompt}}, turnlog.Draft{Run: req.Run, Event: event.Start{}})
	}
	if roll == 3 {
		return turnlog.RunInfo{}, errSend
	}
	return b.facts.Run(context.Background(), req.Run)
}

func (b *book) turns() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.list)
}

func (b *book) said() string { return strings.Join(b.turns(), ", ") }

func (b *book) Head(ctx context.Context, c id.Conversation) (int64, error) {
	return b.facts.Head(ctx, c)
}

func (b *book) Run(ctx context.Context, r id.Run) (turnlog.RunInfo, error) {
	return b.facts.Run(ctx, r)
}

func (b *book) Facts(context.Context, id.Conversation, int64, turnlog.Limit) ([]event.Record, error) {
	return nil, nil
}

func (b *book) Approval(context.Context, id.Approval) (turnlog.ApprovalInfo, error) {
	return turnlog.ApprovalInfo{}, turnlog.ErrNoApproval
}

func (b *book) Cancel(context.Context, id.Run, string, event.Via) error { return nil }

func (b *book) EditQueued(context.Context, id.Conversation, id.Run, string, event.Via) error {
	return &chat.Error{Code: chat.Missing}
}

func (b *book) RemoveQueued(context.Context, id.Conversation, id.Run, event.Via) error {
	return &chat.Error{Code: chat.Missing}
}

func (b *book) Resume(context.Context, id.Conversation, event.Via) error { return nil }

func (b *book) Change(context.Context, id.Conversation, chat.Patch) error { return nil }

func (b *book) Pending() []approval.Pending { return nil }

func (b *book) Decide(context.Context, id.Approval, approval.Decision) error {
	return approval.ErrUnknown
}

func (b *book) Put(context.Context, []byte) (string, error) { return "b_x", nil }
