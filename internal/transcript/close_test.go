package transcript_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
)

func TestCloseG7EveryStructuralThing(t *testing.T) {
	approval := event.ApprovalRequest{Approval: "a_1", Call: "call_1"}
	cancelled := event.ApprovalResolved{Approval: "a_1", Decision: event.DecisionCancelled, By: "system", Via: event.Via{Surface: "system"}}
	allowed := event.ApprovalResolved{Approval: "a_1", Decision: event.DecisionAllow}
	result := func(output string) event.Event {
		return event.ToolResult{Call: "call_1", Name: "run_command", Output: output, OutputBytes: int64(len(output))}
	}
	for name, tt := range map[string]struct {
		events []event.Event
		cause  transcript.Cause
		want   []event.Event
	}{
		"nothing came": {nil, transcript.CauseCancelled, nil},
		"text": {
			[]event.Event{delta("s1", 0, "Once ")}, transcript.CauseInterrupted,
			[]event.Event{segmentEnd("s1", "Once ", event.PhaseAnswer)},
		},
		"blank text": {
			[]event.Event{delta("s1", 0, "\n")}, transcript.CauseFailed,
			[]event.Event{segmentEnd("s1", "\n", event.PhaseAnswer)},
		},
		"reasoning inside text": {
			[]event.Event{delta("s1", 0, "Once "), event.Reasoning{Segment: "s2", Text: "Hm"}}, transcript.CauseCancelled,
			[]event.Event{segmentEnd("s1", "Once ", event.PhaseAnswer), segmentEnd("s2", "Hm", event.PhaseReasoning)},
		},
		"a draft alone": {[]event.Event{draft("call_1", 1, 0, "{")}, transcript.CauseCancelled, nil},
		"I3 a call that runs, cancelled": {
			[]event.Event{call("call_1", 1)}, transcript.CauseCancelled,
			[]event.Event{result("This call was cancelled by user: it may have run.")},
		},
		"G6 a call that runs, interrupted": {
			[]event.Event{call("call_1", 1)}, transcript.CauseInterrupted,
			[]event.Event{result("This call was interrupted by a restart: it may have run.")},
		},
		"a call that runs, failed": {
			[]event.Event{call("call_1", 1)}, transcript.CauseFailed,
			[]event.Event{result("This call's run failed: it may have run.")},
		},
		"G6 a call that waits": {
			[]event.Event{call("call_1", 1), approval}, transcript.CauseInterrupted,
			[]event.Event{cancelled, result("This call was interrupted by a restart: it did not run.")},
		},
		"a call that was allowed": {
			[]event.Event{call("call_1", 1), approval, allowed}, transcript.CauseInterrupted,
			[]event.Event{result("This call was interrupted by a restart: it may have run.")},
		},
		"a call that was denied": {
			[]event.Event{call("call_1", 1), approval, event.ApprovalResolved{Approval: "a_1", Decision: event.DecisionDeny}}, transcript.CauseCancelled,
			[]event.Event{result("This call was cancelled by user: it did not run.")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := runLog(t, tt.events...)
			got := transcript.Close(fold(t, l.records).Run("r_1"), tt.cause)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			l.add(got...)
			run := fold(t, l.records).Run("r_1")
			if again := transcript.Close(run, tt.cause); len(again) > 0 {
				t.Errorf("a second time: %v", again)
			}
			chars, _ := transcript.Totals(run)
			l.add(event.Usage{Chars: chars}, event.Cancelled{By: "owner"})
			if found := transcript.Check(l.records); len(found) > 0 {
				t.Errorf("the closed run is broken:\n%s", lines(found))
			}
		})
	}
}

// TestClosePhaseOfTextThatADraftFollows is about a log in which text was not
// closed in time: its round drafted a tool, so it is no answer.
func TestClosePhaseOfTextThatADraftFollows(t *testing.T) {
	l := runLog(t, delta("s1", 0, "Look"), draft("call_1", 1, 0, "{"))
	got := transcript.Close(fold(t, l.records).Run("r_1"), transcript.CauseCancelled)
	if diff := cmp.Diff([]event.Event{segmentEnd("s1", "Look", event.PhaseCommentary)}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTotalsAreOverTheTextAlone(t *testing.T) {
	l := runLog(t, delta("s1", 0, "你好"), event.Reasoning{Segment: "s2", Text: "Hm"}, delta("s1", 6, "🌍"))
	chars, hash := transcript.Totals(fold(t, l.records).Run("r_1"))
	want := endOf("你好🌍").(event.End)
	if chars != 3 || hash != want.SHA256 {
		t.Errorf("got %d, %s", chars, hash)
	}
}

func TestApplyLeavesOutWhatDoesNotFit(t *testing.T) {
	good := delta("s1", 0, "Hello")
	for name, tt := range map[string]struct {
		events []event.Event
		want   string
	}{
		"a gap":                    {[]event.Event{good, delta("s1", 7, "x")}, "has 5 bytes, and the piece begins at 7"},
		"a contradiction":          {[]event.Event{good, delta("s1", 3, "XX")}, "has 5 bytes, and the piece begins at 3"},
		"a negative offset":        {[]event.Event{good, delta("s1", -1, "x")}, "begins at -1"},
		"text for reasoning":       {[]event.Event{good, event.Reasoning{Segment: "s1", Offset: 5, Text: "x"}}, "is not open for it"},
		"more of a closed segment": {[]event.Event{good, segmentEnd("s1", "Hello", event.PhaseAnswer), delta("s1", 5, "x")}, "begins at 5"},
		"a result of no call":      {[]event.Event{good, event.ToolResult{Call: "call_1"}}, "does not fit the calls"},
		"progress of a draft":      {[]event.Event{good, draft("call_1", 1, 0, ""), event.ToolProgress{Call: "call_1"}}, "does not fit the calls"},
		"a gap in a draft":         {[]event.Event{good, draft("call_1", 1, 4, "x")}, "does not fit the calls"},
		"a decision of no request": {[]event.Event{good, event.ApprovalResolved{Approval: "a_1"}}, "does not fit the calls"},
		"an end that says less":    {[]event.Event{good, segmentEnd("s1", "Hell", event.PhaseAnswer)}, "is a text of 5 bytes"},
		"a choice of nothing":      {[]event.Event{good, event.VersionActive{Message: "m_2", Run: "r_9"}}, "run r_9 is no version"},
		"a queue that has no such": {[]event.Event{good, event.Queue{Op: event.QueueRemove, Run: "r_9"}}, "remove of run r_9 does not fit the queue"},
		"a message queued twice":   {[]event.Event{good, queued("r_9"), queued("r_9")}, "add of run r_9 does not fit the queue"},
		"a second start":           {[]event.Event{good, event.Start{Version: 1}}, "run r_1 started before"},
	} {
		t.Run(name, func(t *testing.T) {
			c := fold(t, runLog(t, tt.events...).records)
			if len(c.Broken) != 1 || !strings.Contains(c.Broken[0], tt.want) {
				t.Errorf("want %q, broken:\n%s", tt.want, lines(c.Broken))
			}
			if got := c.Run("r_1").Content(); got != "Hello" {
				t.Errorf("the text is now %q", got)
			}
		})
	}
}

func TestApplyG3RepeatedPiecesChangeNothing(t *testing.T) {
	l := runLog(t, delta("s1", 0, "Hel"), delta("s1", 0, "Hel"), delta("s1", 2, "llo"), delta("s1", 4, "o"), segmentEnd("s1", "Hello", event.PhaseAnswer), delta("s1", 1, "ell"))
	c := fold(t, l.records)
	if got := c.Run("r_1").Content(); got != "Hello" || len(c.Broken) > 0 {
		t.Errorf("got %q, broken:\n%s", got, lines(c.Broken))
	}
}

func TestApplyRefusesADamagedBody(t *testing.T) {
	l := runLog(t, delta("s1", 0, "Hello"), delta("s1", 5, "!"))
	l.raw("delta", `{"segment":1}`)
	c, err := transcript.Fold(l.records)
	if err == nil || c.Seq != 2 {
		t.Errorf("seq %d, error %v", c.Seq, err)
	}
}

func TestQueueInTheFold(t *testing.T) {
	l := runLog(t, queued("r_2"), queued("r_3"), queued("r_4"))
	edit := queued("r_3").(event.Queue)
	edit.Op, edit.Message = event.QueueEdit, &event.UserMessage{Message: "m_9", Text: "better"}
	l.add(edit, event.Queue{Op: event.QueueRemove, Run: "r_2"}, event.Queue{Op: event.QueueHold})
	c := fold(t, l.records)
	if len(c.Queue) != 2 || c.Queue[0].Run != "r_3" || c.Queue[0].Message.Text != "better" || c.Queue[1].Run != "r_4" || !c.Held {
		t.Errorf("queue %+v, held %t", c.Queue, c.Held)
	}
	l.add(event.Queue{Op: event.QueueResume}, event.Queue{Op: event.QueueSend, Run: "r_3"}, event.Queue{Op: event.QueueSend, Run: "r_4"})
	if c := fold(t, l.records); len(c.Queue) != 0 || c.Held || len(c.Broken) > 0 {
		t.Errorf("queue %+v, held %t, broken:\n%s", c.Queue, c.Held, lines(c.Broken))
	}
}

// runLog is a question and a run with these events, still open.
func runLog(t *testing.T, events ...event.Event) *log {
	l := &log{t: t}
	l.add(event.UserMessage{Message: "m_1", Text: "Hi"})
	l.run, l.message = "r_1", "m_2"
	l.add(event.Start{Version: 1})
	l.add(events...)
	return l
}

func queued(run id.Run) event.Event {
	return event.Queue{Op: event.QueueAdd, Run: run, Message: &event.UserMessage{Message: id.Message("m_" + run), Text: string(run)}}
}
