package script

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/event"
)

// What a person gets from the built-in script when tools are off.
func TestBuiltin(t *testing.T) {
	tests := []struct {
		message, text string
		reasons       bool
		finish        event.Finish
		failure       string
		atLeast       time.Duration
		shortest      int
	}{
		{message: "What is the weather?", text: "it can't understand what you write", reasons: true, finish: event.FinishStop, atLeast: 3 * time.Second},
		{message: "What is the weather?", text: "OPENAI_API_KEY=sk-… verbatim serve", reasons: true, finish: event.FinishStop},
		{message: "What is the weather?", text: "Tools are turned off for this message, so the tour ends here.", reasons: true, finish: event.FinishStop},
		{message: "tools", text: "Tools are turned off for this message", finish: event.FinishStop},
		{message: "fail", text: "What was said before the fault stays", failure: "nothing is wrong", atLeast: time.Second / 2},
		{message: " No answer\n", reasons: true, finish: event.FinishStop, atLeast: time.Second / 2},
		{message: "empty", finish: event.FinishStop},
		{message: "think", text: "**The demo has thought.**", reasons: true, finish: event.FinishStop, atLeast: 2 * time.Second},
		{message: "slow", text: "One word each second", finish: event.FinishStop, atLeast: 50 * time.Second},
		{message: "LONG", text: "\n- Line 300 of 300, written by the demo to make the answer long.\n", finish: event.FinishStop, atLeast: 20 * time.Second, shortest: 19_000},
		{message: "long", text: "\n\n- Line 1 of 300, written by the demo to make the answer long.\n- Line 2", finish: event.FinishStop},
		{message: "long", text: "```python\ndef greet(name: str) -> str:\n    return", finish: event.FinishStop},
	}
	for _, test := range tests {
		t.Run(test.message, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, err := New(BuiltinScript())
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				got := read(t, m, user(test.message))
				if !strings.Contains(got.Text, test.text) || test.text == "" && got.Text != "" || len(got.Text) < test.shortest {
					t.Errorf("got %d bytes that begin %.200q, want at least %d with %q in them", len(got.Text), got.Text, test.shortest, test.text)
				}
				if test.reasons != (got.Reasoning != "") || got.Finish != test.finish {
					t.Errorf("got reasoning %q and finish %q", got.Reasoning, got.Finish)
				}
				if test.failure != "" != (got.Failure != "") || !strings.Contains(strings.ToLower(got.Failure), test.failure) {
					t.Errorf("got failure %q, want %q", got.Failure, test.failure)
				}
				if len(got.Tools) > 0 {
					t.Errorf("it calls %v, which nobody offered", got.Tools)
				}
				if took := time.Since(begun); took < test.atLeast || took > time.Minute {
					t.Errorf("took %v, want at least %v and at most a minute", took, test.atLeast)
				}
				_ = m.Close()
			})
		})
	}
}
