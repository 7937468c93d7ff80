package delivery_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/surface"
)

// chatRoom is a chat on a platform, and the lane that serves it.
type chatRoom struct {
	t      *testing.T
	lane   *delivery.Lane
	now    time.Time
	seq    int64
	posts  []*post
	calls  []string
	minted int
	// out, if set, says what the next calls come to; landed whether they are
	// shown all the same.
	out func(n int, op delivery.Op) (surface.Outcome, bool)
}

type post struct{ id, text string }

var at = delivery.Address{Surface: "team", Chat: surface.Chat{ID: "7"}}

func newRoom(t *testing.T, caps surface.Caps, p delivery.Policy) *chatRoom {
	r := &chatRoom{t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	if caps.Size.Max == 0 {
		caps.Size = surface.Size{Max: 1000, Unit: surface.CodePoints}
	}
	r.lane, _ = delivery.NewLane(delivery.Config{
		Address: at, Caps: caps, Policy: p, Start: 1,
		Render: func(md string, plain bool) (string, int) { return strings.TrimSpace(md), len([]rune(md)) },
		Same:   func(s surface.Seen, text string) bool { return s.Text == text },
		Mint:   func() string { r.minted++; return fmt.Sprintf("p%d", r.minted) },
	}, delivery.Saved{Bindings: []delivery.Binding{{ID: 1, Address: at, Conversation: "c"}}})
	return r
}

func (r *chatRoom) feed(run id.Run, events ...event.Event) {
	for _, e := range events {
		r.seq++
		spec, _ := event.Lookup(e.Kind())
		var msg id.Message
		owner := run
		if !spec.Run {
			owner = ""
		} else {
			msg = "m_" + id.Message(run)
		}
		rec, err := event.NewRecord("c", owner, msg, e)
		if err != nil {
			r.t.Fatal(err)
		}
		rec.Seq, rec.At = r.seq, r.now
		r.lane.Feed(1, []event.Record{rec})
	}
}

// settle does all there is to do until nothing is left, moving the clock.
func (r *chatRoom) settle() {
	r.t.Helper()
	for range 1000 {
		op := r.lane.Next(r.now)
		if op.Kind == delivery.OpWait {
			if op.Until.IsZero() {
				return
			}
			r.now = op.Until
			continue
		}
		r.step(op)
	}
	r.t.Fatal("never settles")
}

func (r *chatRoom) step(op delivery.Op) {
	r.lane.Begin(op, r.now)
	out, landed := surface.Outcome{Class: surface.Delivered}, true
	if r.out != nil && op.Kind != delivery.OpStore {
		out, landed = r.out(len(r.calls)+1, op)
	}
	switch op.Kind {
	case delivery.OpStore:
		r.lane.Stored()
		return
	case delivery.OpSend:
		r.calls = append(r.calls, "send")
		p := &post{id: fmt.Sprintf("m%d", len(r.posts)+1), text: op.Post.Text}
		if landed {
			r.posts = append(r.posts, p)
		}
		if out.Class == surface.Delivered {
			out.PlatformID = p.id
		}
	case delivery.OpEdit:
		r.calls = append(r.calls, "edit")
		for _, p := range r.posts {
			if p.id == op.PlatformID && landed {
				p.text = op.Post.Text
			}
		}
	}
	r.lane.Settle(op, out, r.now)
}

func (r *chatRoom) want(posts ...string) {
	r.t.Helper()
	var got []string
	for _, p := range r.posts {
		got = append(got, p.text)
	}
	if strings.Join(got, "|") != strings.Join(posts, "|") {
		r.t.Errorf("a reader sees\n%q\nwant\n%q\ncalls %v", got, posts, r.calls)
	}
}

func question(text string) event.UserMessage {
	return event.UserMessage{Message: "m_1", Text: text, Client: "41", Via: event.Via{Surface: "team", Device: "7", Sender: "u"}}
}

func delta(seg string, offset int, text string) event.Delta {
	return event.Delta{Segment: id.Segment(seg), Offset: int64(offset), Text: text}
}

func end(seg string, phase event.Phase, n int) event.SegmentEnd {
	return event.SegmentEnd{Segment: id.Segment(seg), Phase: phase, Bytes: int64(n), Visible: true}
}

func TestTextToolText(t *testing.T) {
	for _, edit := range []bool{true, false} {
		t.Run(fmt.Sprintf("edit %v", edit), func(t *testing.T) {
			r := newRoom(t, surface.Caps{Edit: edit, Markup: edit}, delivery.DefaultPolicy())
			r.feed("r", question("hello"), event.Start{Model: "m", Version: 1})
			r.settle()
			r.feed("r", delta("s1", 0, "Let me "))
			r.settle()
			r.feed("r", delta("s1", 7, "look."), end("s1", event.PhaseCommentary, 12), event.ToolCall{Call: "k", Index: 1, Name: "current_time", Args: []byte("{}")})
			r.settle()
			r.feed("r", event.ToolResult{Call: "k", Name: "current_time", OK: true, Output: "x", Seconds: 1})
			r.settle()
			r.feed("r", delta("s2", 0, "Found "), delta("s2", 6, "it."), end("s2", event.PhaseAnswer, 9), event.End{Finish: event.FinishStop})
			r.settle()
			r.want("Let me look.", "✅ `current_time` · 1.0 s", "Found it.")
		})
	}
}
