package inbound_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"verbatim/internal/approval"
	"verbatim/internal/chat"
	"verbatim/internal/delivery"
	"verbatim/internal/delivery/deliverytest"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/inbound"
	"verbatim/internal/llm"
	"verbatim/internal/surface"
	"verbatim/internal/tool"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model answers "re: <prompt>". A prompt "run a, b" calls a tool for each name
// first; while hold is set, an answer waits for it after its first word.
type model struct {
	mu    sync.Mutex
	hold  chan struct{}
	asked []llm.Message // the question of each request
	fail  error
}

func (m *model) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	last := req.Messages[len(req.Messages)-1]
	m.mu.Lock()
	hold, fail := m.hold, m.fail
	m.asked = append(m.asked, last)
	m.mu.Unlock()
	names, isRun := strings.CutPrefix(last.Text, "run ")
	isRun = isRun && last.Role == llm.RoleUser
	return func(yield func(llm.Chunk, error) bool) {
		if isRun {
			for i, name := range strings.Split(names, ", ") {
				if !yield(llm.Chunk{Tool: &llm.ToolFragment{Index: i, Name: "write", Args: fmt.Sprintf(`{"what":%q}`, name)}}, nil) {
					return
				}
			}
			yield(llm.Chunk{Finish: &llm.Finish{Reason: event.FinishStop}}, nil)
			return
		}
		if !yield(llm.Chunk{Text: "re: "}, nil) {
			return
		}
		if hold != nil {
			select {
			case <-hold:
			case <-ctx.Done():
				yield(llm.Chunk{}, ctx.Err())
				return
			}
		}
		if fail != nil {
			yield(llm.Chunk{}, fail)
			return
		}
		yield(llm.Chunk{Text: "ok"}, nil)
		yield(llm.Chunk{Finish: &llm.Finish{Reason: event.FinishStop}}, nil)
	}
}

// workbench has one tool, write, of medium risk, and keeps what it did.
type workbench struct {
	mu  sync.Mutex
	ran []string
}

func (b *workbench) Specs() []tool.Spec { return []tool.Spec{b.Spec()} }

func (b *workbench) Lookup(name string) (tool.Tool, bool) { return b, name == "write" }

func (b *workbench) Spec() tool.Spec {
	return tool.Spec{Name: "write", Parameters: json.RawMessage(`{"type":"object"}`), Risk: event.RiskMedium, ReadOnly: true}
}

func (b *workbench) Prepare(args json.RawMessage) (tool.Action, error) {
	var a struct{ What string }
	if err := json.Unmarshal(args, &a); err != nil {
		return tool.Action{}, err
	}
	return tool.Action{Reason: "writes " + a.What, Run: func(_ context.Context, out tool.Output) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ran = append(b.ran, a.What)
		_, err := io.WriteString(out, "done")
		return err
	}}, nil
}

func (b *workbench) did() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(slices.Sorted(slices.Values(b.ran)), " ")
}

// line is what the product said in a chat.
type line struct {
	at   delivery.Address
	text string
}

// world is an inbox over a real chat with a real log, and what was received in
// memory. It lives in a synctest bubble and survives its own crashes.
type world struct {
	t     *testing.T
	disk  *disk
	opt   func(*inbound.Options)
	model *model
	bench *workbench

	log     *turnlog.Log
	blobs   shelf
	service *chat.Service
	desk    *approval.Desk
	memory  *deliverytest.Memory
	in      *inbound.Inbox

	mu    sync.Mutex
	fate  func(method string) deliverytest.Fate
	said  []line
	keys  map[string]bool
	again int
	// send, if set, is asked before each send.
	send func(chat.SendRequest) error
	// mute makes Say fail.
	mute bool
}

// inBubble runs a test with a world in a synctest bubble.
func inBubble(t *testing.T, opt func(*inbound.Options), f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, disk: newDisk(), opt: opt, model: &model{}, bench: &workbench{}, keys: map[string]bool{}}
		w.memory = deliverytest.NewMemory(deliverytest.Options{Log: w, Fate: func(method string) deliverytest.Fate {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.fate == nil {
				return deliverytest.Stored
			}
			return w.fate(method)
		}})
		w.open()
		defer func() { w.close() }()
		f(t, w)
	})
}

// Head and Run are those of whatever log is open.
func (w *world) Head(ctx context.Context, c id.Conversation) (int64, error) {
	return w.log.Head(ctx, c)
}

func (w *world) Run(ctx context.Context, r id.Run) (turnlog.RunInfo, error) { return w.log.Run(ctx, r) }

// asking is the chat with a look at what is sent.
type asking struct {
	*chat.Service
	w *world
}

func (a asking) Send(ctx context.Context, req chat.SendRequest) (turnlog.RunInfo, error) {
	a.w.mu.Lock()
	look := a.w.send
	a.w.mu.Unlock()
	if look != nil {
		if err := look(req); err != nil {
			return turnlog.RunInfo{}, err
		}
	}
	return a.Service.Send(ctx, req)
}

func (w *world) open() {
	w.t.Helper()
	w.disk.start++
	w.log, w.blobs = turnlog.New(w.disk, turnlog.Options{}), shelf{w.disk}
	w.desk = approval.New(approval.Options{
		Store: w.log, Rules: w.disk,
		Policy: func(context.Context) (approval.Mode, time.Duration) { return approval.ModeAsk, time.Minute },
	})
	w.service = chat.New(chat.Options{
		Log: w.log, Blobs: w.blobs, Tools: w.bench, Approvals: w.desk,
		Choose: func(context.Context, chat.Want) (chat.Choice, error) {
			return chat.Choice{Model: w.model, Name: "test/m", Request: llm.Request{Model: "m"}}, nil
		},
	})
	if err := w.service.Recover(w.t.Context()); err != nil {
		w.t.Fatalf("recover the chat: %v", err)
	}
	opt := inbound.Options{
		Surface: "phone", MayTalk: []string{"*"}, Store: w.memory, Chat: asking{w.service, w}, Log: w.log, Desk: w.desk,
		Blobs: w.blobs, Say: w.say,
		Again: func(context.Context, delivery.Address) (int, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			n := w.again
			w.again = 0
			return n, nil
		},
		Model: func(_ context.Context, own string) (string, error) {
			switch own {
			case "":
				return "test/m", nil
			case "test/big":
				return own, nil
			}
			return "", errors.New("there is no model " + own + ".")
		},
	}
	if w.opt != nil {
		w.opt(&opt)
	}
	in, err := inbound.New(opt)
	if err != nil {
		w.t.Fatalf("new: %v", err)
	}
	w.in = in
	if err := w.in.Recover(w.t.Context()); err != nil {
		w.t.Fatalf("recover: %v", err)
	}
}

func (w *world) close() {
	w.t.Helper()
	w.in.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = w.service.Stop(ctx)
	if err := w.log.Close(); err != nil {
		w.t.Errorf("close: %v", err)
	}
}

// crash ends the process as kill -9 does, and starts the next one.
func (w *world) crash() {
	w.t.Helper()
	w.memory.Crash()
	if err := w.log.Close(); err != nil {
		w.t.Errorf("close: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w.in.Close()
	_ = w.service.Stop(ctx)
	w.set(func() { w.fate, w.send = nil, nil })
	w.memory = w.memory.Reopen()
	w.open()
}

func (w *world) set(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

var errMute = errors.New("the disk said no")

func (w *world) say(_ context.Context, a delivery.Address, key, text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mute {
		return errMute
	}
	if len(key) > 64 || !id.Valid(key) {
		w.t.Errorf("the key %q is no key", key)
	}
	if !w.keys[key] {
		w.keys[key] = true
		w.said = append(w.said, line{a, text})
	}
	return nil
}

// heard returns what was said since the last call, a line each.
func (w *world) heard() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, l := range w.said {
		all = append(all, l.text)
	}
	w.said = nil
	return all
}

// wantHeard checks what was said since the last look: each line must have the
// words that are wanted of it.
func (w *world) wantHeard(want ...string) {
	w.t.Helper()
	got := w.heard()
	if len(got) != len(want) {
		w.t.Errorf("said %d lines, want %d: %q", len(got), len(want), got)
		return
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			w.t.Errorf("line %d is %q, want %q in it", i+1, got[i], want[i])
		}
	}
}

var ann = surface.Person{ID: "1", Name: "Ann", Other: []string{"@ann"}}

var bob = surface.Person{ID: "2", Name: "Bob"}

var private = surface.Chat{ID: "100"}

var group = surface.Chat{ID: "-200", Thread: "7"}

// from is a message of a person in a private chat.
func from(p surface.Person, messageID, text string) surface.Message {
	return surface.Message{ID: messageID, Chat: private, Sender: p, Text: text, Direct: true}
}

// inGroup is what a person says to the bot in a group.
func inGroup(p surface.Person, messageID, text string) surface.Message {
	return surface.Message{ID: messageID, Chat: group, Sender: p, Text: text, Mentioned: true}
}

// receive hands a message in, which must be taken.
func (w *world) receive(m surface.Message) surface.Ack {
	w.t.Helper()
	ack, err := w.in.Receive(w.t.Context(), m)
	if err != nil {
		w.t.Fatalf("receive %q: %v", m.Text, err)
	}
	return ack
}

// tell hands a message in and lets everything come to rest.
func (w *world) tell(m surface.Message) surface.Ack {
	w.t.Helper()
	ack := w.receive(m)
	w.rest()
	return ack
}

// rest lets bursts end and everything come to rest.
func (w *world) rest() {
	time.Sleep(2 * time.Second)
	synctest.Wait()
}

// holding makes answers wait until the returned function is called.
func (w *world) holding() (free func()) {
	hold := make(chan struct{})
	w.model.mu.Lock()
	w.model.hold = hold
	w.model.mu.Unlock()
	return func() {
		w.model.mu.Lock()
		w.model.hold = nil
		w.model.mu.Unlock()
		close(hold)
		w.rest()
	}
}

// failing makes answers end with an error, nil for none.
func (w *world) failing(err error) {
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	w.model.fail = err
}

func (w *world) state(c id.Conversation) *transcript.Conversation {
	w.t.Helper()
	var all []event.Record
	for {
		records, err := w.log.After(w.t.Context(), c, int64(len(all)), turnlog.Limit{})
		if err != nil {
			w.t.Fatalf("read: %v", err)
		}
		if len(records) == 0 {
			break
		}
		all = append(all, records...)
	}
	for _, broken := range transcript.Check(all) {
		w.t.Errorf("%s: broken invariant: %s", c, broken)
	}
	state, err := transcript.Fold(all)
	if err != nil {
		w.t.Fatalf("fold: %v", err)
	}
	return state
}

// wantTurns checks the questions of a conversation, with how their last answers
// stand where that is not complete, and then what waits.
func (w *world) wantTurns(c id.Conversation, want ...string) {
	w.t.Helper()
	state := w.state(c)
	var got []string
	for _, t := range state.Turns {
		line := t.User.Text
		for _, f := range t.User.Attachments {
			line += " [" + f.ID + " " + f.Name + "]"
		}
		if len(t.Runs) > 0 && t.Runs[len(t.Runs)-1].Status != transcript.Complete {
			line += " (" + string(t.Runs[len(t.Runs)-1].Status) + ")"
		}
		got = append(got, line)
	}
	for _, q := range state.Queue {
		got = append(got, q.Message.Text+" (waits)")
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("turns of %s:\n got %q\nwant %q", c, got, want)
	}
}

// wantNothingOpen checks that after a while the inbox has nothing left to do.
func (w *world) wantNothingOpen() {
	w.t.Helper()
	time.Sleep(time.Minute)
	synctest.Wait()
	open, err := w.memory.OpenInbound(w.t.Context())
	if err != nil || len(open) > 0 {
		w.t.Errorf("open: %+v, %v", open, err)
	}
}

// pending are the requests that wait, by what they are about.
func (w *world) pending() map[string]id.Approval {
	found := map[string]id.Approval{}
	for _, p := range w.desk.Pending() {
		var a struct{ What string }
		_ = json.Unmarshal(p.Args, &a)
		found[a.What] = p.Approval
	}
	return found
}

func (w *world) press(p surface.Person, c surface.Chat, a id.Approval, d event.Decision) string {
	w.t.Helper()
	got, err := w.in.Press(w.t.Context(), surface.Press{ID: "p", Chat: c, Sender: p, Data: delivery.ButtonData(a, d)})
	if err != nil {
		w.t.Fatalf("press: %v", err)
	}
	w.rest()
	return got
}

func address(c surface.Chat) delivery.Address { return delivery.Address{Surface: "phone", Chat: c} }

func oneForAll(o *inbound.Options) { o.Template = inbound.OneConversation }

type fate = deliverytest.Fate

const (
	stored = deliverytest.Stored
	failed = deliverytest.Failed
)

const (
	crashBefore = deliverytest.CrashBefore
	crashAfter  = deliverytest.CrashAfter
)
