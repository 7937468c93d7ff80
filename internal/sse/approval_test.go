package sse

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/event"
)

// asking is a run whose call waits for a decision.
func asking() []event.Event {
	args := json.RawMessage(`{"command":"df"}`)
	return []event.Event{
		event.UserMessage{Message: "m_1", Text: "What is on the disk?"},
		event.Start{Model: "script/demo", Version: 1},
		event.ToolDrafting{Call: "call_1", Index: 1, Name: "run_command", ArgsDelta: `{"command":"df"}`},
		event.ToolCall{Call: "call_1", Index: 1, Name: "run_command", Args: args},
		event.ApprovalRequest{
			Approval: "a_1", Call: "call_1", Name: "run_command", Args: args, Risk: event.RiskHigh,
			Reason: "runs in the workspace: df", ExpiresAt: time.Date(2026, 1, 2, 3, 9, 5, 0, time.UTC),
		},
	}
}

// answered is how it goes on.
func answered() []event.Event {
	return []event.Event{
		event.ApprovalResolved{Approval: "a_1", Decision: event.DecisionAllow, By: "owner"},
		event.ToolProgress{Call: "call_1", Note: "12%"},
		event.ToolResult{Call: "call_1", Name: "run_command", OK: true, Output: "12%\n", Seconds: 0.2, OutputBytes: 4},
		event.Delta{Segment: "s1", Text: "12 percent."},
		event.End{Finish: event.FinishStop},
	}
}

const askedFrame = "event: approval_request\n" +
	`data: {"msg_id":"m_2","approval_id":"a_1","call_id":"call_1","name":"run_command","args":{"command":"df"},` +
	`"risk":"high","reason":"runs in the workspace: df","expires_at":"2026-01-02T03:09:05Z","seq":5}` + "\nid: e1-5\n\n"

// TestH5ApprovalReachesWhoeverComes: nobody is connected when the call asks.
// Who connects gets the request, again after a lost connection, and with the
// result behind it when it was decided meanwhile.
func TestH5ApprovalReachesWhoeverComes(t *testing.T) {
	for _, w := range ways() {
		for name, size := range caches() {
			t.Run(w.name+"/cache of "+name, func(t *testing.T) {
				b := newBench(t, w, Options{CacheBytes: size})
				b.log.add(testRun, asking()...)
				for range 2 {
					ctx, cut := context.WithCancel(t.Context())
					f, done := b.open(t, ctx, "")
					if got := untilAsked(t, f); got != askedFrame {
						t.Errorf("asked with %q", got)
					}
					cut()
					done()
				}
				f, done := b.open(t, t.Context(), "e1-4")
				defer done()
				if got := untilAsked(t, f); got != askedFrame {
					t.Errorf("after its cursor: asked with %q", got)
				}
				b.log.add(testRun, answered()...)
				rest, err := f.rest()
				if err != nil || !strings.HasPrefix(rest[0], "event: tool_result\n") {
					t.Errorf("after the decision: %q, %v", rest, err)
				}
				sameFrames(t, b.read(t, ""), b.log.whole(t, testRun))
			})
		}
	}
}

func untilAsked(t *testing.T, f *frames) string {
	t.Helper()
	for {
		frame, err := f.next()
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(frame, "event: approval_request\n") {
			return frame
		}
	}
}

// TestJ7SilenceOfAgentsIsFilled: a call that waits for its decision and a tool
// that says nothing are quiet for minutes; comments without an id keep the
// connection, on the stream of the run and on the native ones.
func TestJ7SilenceOfAgentsIsFilled(t *testing.T) {
	tests := map[string]struct{ before, after []event.Event }{
		"approval waits": {asking(), answered()},
		"tool is silent": {append(asking(), answered()[0]), answered()[1:]},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			eachVirtualWay(t, func(t *testing.T, w virtualWay) {
				b := newMemoryBench(t, w, 0, Options{})
				b.log.add(testRun, tt.before...)
				f := framesOf(bodyOf(t, w.dial(t, b, "")))
				untilAsked(t, f)
				bridgeSilence(t, f)
				b.log.add(testRun, tt.after...)
				if got, err := f.rest(); err != nil || len(got) != 3 {
					t.Errorf("after the silence %q, %v", got, err)
				}
			})
		})
		t.Run(name+", native", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := nativeMemoryBench(t, 0)
				b.log.add(testRun, tt.before...)
				f := framesOf(bodyOf(t, dialWith("HTTP/1.1")(t, b, "")))
				for range tt.before {
					if _, err := f.next(); err != nil {
						t.Fatal(err)
					}
				}
				bridgeSilence(t, f)
				b.log.add(testRun, tt.after...)
				if got, err := f.rest(); err != nil || len(got) != len(tt.after) {
					t.Errorf("after the silence %q, %v", got, err)
				}
			})
		})
	}
}

// bridgeSilence reads through two minutes in which nothing happens.
func bridgeSilence(t *testing.T, f *frames) {
	t.Helper()
	last := time.Now()
	for i := range 8 {
		block, err := f.block()
		if silence := time.Since(last); err != nil || block != KeepAlive || silence > 15*time.Second {
			t.Fatalf("comment %d: %q, %v after %v", i, block, err, silence)
		}
		last = time.Now()
	}
}
