package script

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/event"
)

// What a person gets from the built-in script.
func TestBuiltin(t *testing.T) {
	tests := []struct {
		message, text string
		reasons       bool
		finish        event.Finish
		failure       string
		atLeast       time.Duration
	}{
		{"What is the weather?", "it can't understand what you write", true, event.FinishStop, "", 3 * time.Second},
		{"What is the weather?", "OPENAI_API_KEY=sk-… verbatim serve", true, event.FinishStop, "", 3 * time.Second},
		{"fail", "What was said before the fault stays", false, "", "nothing is wrong", time.Second / 2},
		{" No answer\n", "", true, event.FinishStop, "", time.Second / 2},
		{"slow", "One word", false, event.FinishStop, "", 5 * time.Second},
		{"LONG", "\n- Line 40 of 40, written by the demo to make the answer long.\n", false, event.FinishStop, "", time.Second},
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
				if !strings.Contains(got.Text, test.text) || test.text == "" && got.Text != "" {
					t.Errorf("got text %q, want %q in it", got.Text, test.text)
				}
				if test.reasons != (got.Reasoning != "") || got.Finish != test.finish {
					t.Errorf("got reasoning %q and finish %q", got.Reasoning, got.Finish)
				}
				if test.failure != "" != (got.Failure != "") || !strings.Contains(strings.ToLower(got.Failure), test.failure) {
					t.Errorf("got failure %q, want %q", got.Failure, test.failure)
				}
				if took := time.Since(begun); took < test.atLeast || took > time.Minute {
					t.Errorf("took %v, want at least %v and less than a minute", took, test.atLeast)
				}
				_ = m.Close()
			})
		})
	}
}
