package script

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/agent"
	"verbatim/internal/approval"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/llm"
	"verbatim/internal/tool"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

// tour is the built-in script run by the agent with the real tools.
type tour struct {
	workspace string
	mu        sync.Mutex
	records   []event.Record
	// denied are the tools that the person does not allow; note is what the
	// person says with each decision.
	denied []string
	note   string
}

func (r *tour) Post(c id.Conversation, drafts []turnlog.Draft, done func([]event.Record, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range drafts {
		record, err := event.NewRecord(c, d.Run, d.Message, d.Event)
		if err != nil {
			panic(err)
		}
		record.Seq, record.At = int64(len(r.records)+1), time.Unix(1_700_000_000, 0).UTC()
		r.records = append(r.records, record)
	}
	if done != nil {
		done(nil, nil)
	}
}

// Ask decides at once, in the order of the calls.
func (r *tour) Ask(_ context.Context, call approval.Call, record func(event.Event) error) (approval.Verdict, error) {
	if call.Risk == event.RiskNone {
		return approval.Verdict{Allowed: true}, nil
	}
	v := approval.Verdict{Allowed: true, Decision: event.DecisionAllow, Note: r.note}
	if slices.Contains(r.denied, call.Name) {
		v = approval.Verdict{Decision: event.DecisionDeny, Note: r.note}
	}
	a := id.Approval("a_" + string(call.Call))
	if err := record(event.ApprovalRequest{Approval: a, Call: call.Call, Name: call.Name, Args: call.Args, Risk: call.Risk, Reason: call.Reason}); err != nil {
		return v, err
	}
	return v, record(event.ApprovalResolved{Approval: a, Decision: v.Decision, By: "owner", Note: v.Note})
}

// ask runs the demo on a message, without its pauses, and returns what the log
// has of it.
func (r *tour) ask(t *testing.T, message string) *transcript.Run {
	t.Helper()
	tools, err := tool.Open(tool.Config{Workspace: r.workspace})
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(hurried(BuiltinScript()))
	if err != nil {
		t.Fatal(err)
	}
	r.Post("c", []turnlog.Draft{
		{Event: event.UserMessage{Message: "m_1", Text: message, Via: event.Via{Surface: "web"}}},
		{Run: "r", Message: "m_2", Event: event.Start{Model: "demo", Version: 1}},
	}, nil)
	a := &agent.Agent{Log: r, Approvals: r}
	_, err = a.Do(t.Context(), agent.Job{
		Conversation: "c", Run: "r", Message: "m_2", Model: m, ModelName: "demo", Tools: tools,
		Request: llm.Request{Messages: []llm.Message{user(message)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := tools.Close(); err != nil {
		t.Fatal(err)
	}
	for _, broken := range transcript.Check(r.records) {
		t.Errorf("broken: %s", broken)
	}
	var c transcript.Conversation
	for _, record := range r.records {
		if err := c.Apply(record); err != nil {
			t.Fatal(err)
		}
	}
	return c.Turns[0].Runs[0]
}

// hurried is the script without its pauses.
func hurried(s *Script) *Script {
	for _, sec := range s.sections {
		for _, r := range sec.rounds {
			for _, try := range r.tries {
				for i := range try {
					try[i].wait = 0
				}
			}
		}
	}
	return s
}

// shape names a run's parts and its end: reasoning, commentary, the answer, each
// call with what it came to.
func shape(r *transcript.Run) []string {
	var parts []string
	for _, p := range r.Parts {
		switch {
		case p.Tool == nil:
			parts = append(parts, string(p.Phase))
		case p.Tool.Result.OK:
			parts = append(parts, p.Tool.Name+" ok")
		case p.Tool.Resolved != nil && p.Tool.Resolved.Decision == event.DecisionDeny:
			parts = append(parts, p.Tool.Name+" denied")
		default:
			parts = append(parts, p.Tool.Name+" failed")
		}
	}
	switch {
	case r.End != nil:
		return append(parts, "end")
	case r.Err != nil:
		return append(parts, "error "+string(r.Err.Type))
	}
	return append(parts, "cancelled")
}

func said(r *transcript.Run, phase event.Phase) string {
	var b strings.Builder
	for _, p := range r.Parts {
		if p.Phase == phase {
			b.Write(p.Text)
		}
	}
	return b.String()
}

// Each word brings the events that it promises, through the real agent and the
// real tools, and every run ends.
func TestBuiltinRuns(t *testing.T) {
	begin := []string{"reasoning", "commentary", "current_time ok", "commentary", "list_directory ok"}
	tests := []struct {
		name, message string
		denied        []string
		note          string
		want          []string
		answer        string
	}{
		{name: "anything", message: "Hello!", answer: "- The file was changed; the call above shows the difference.\n- The command ran to its end", want: append(begin[:5:5],
			"write_file ok", "commentary", "read_file ok", "search_files ok", "commentary", "edit_file ok", "run_command ok", "answer", "end")},
		{name: "write denied", message: "Hello!", denied: []string{"write_file"}, note: "Not here.",
			answer: "You left me a note. A model would act on it; I can only say that it reached me. The file was not written. This is what I was told: The person denied this call; it did not run.\n\nSo the tour ends here.",
			want:   append(begin[:5:5], "write_file denied", "answer", "end")},
		{name: "reading denied", message: "Hello!", denied: []string{"read_file"}, answer: "I could not read the file back.",
			want: append(begin[:5:5], "write_file ok", "commentary", "read_file denied", "search_files ok", "answer", "end")},
		{name: "edit and command denied", message: "Hello!", denied: []string{"edit_file", "run_command"},
			answer: "- The file was not changed. I was told: The person denied this call; it did not run.\n- The command did not come to its end.",
			want: append(begin[:5:5], "write_file ok", "commentary", "read_file ok", "search_files ok", "commentary",
				"edit_file denied", "run_command denied", "answer", "end")},
		{name: "tools", message: "tools", answer: "4. `make_coffee` said: There is no tool named",
			want: []string{"reasoning", "commentary", "current_time ok", "list_directory ok", "read_file failed", "make_coffee failed", "answer", "end"}},
		{name: "no answer", message: "no answer", want: []string{"reasoning", "current_time ok", "error no_answer"}},
		{name: "empty", message: "empty", want: []string{"error empty"}},
		{name: "fail", message: "fail", answer: "stays where it is", want: []string{"answer", "error internal"}},
		{name: "think", message: "think", answer: "has thought", want: []string{"reasoning", "answer", "end"}},
		{name: "slow", message: "slow", answer: "One word", want: []string{"answer", "end"}},
		{name: "long", message: "long", answer: "Line 300", want: []string{"answer", "end"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := &tour{workspace: t.TempDir(), denied: test.denied, note: test.note}
			run := r.ask(t, test.message)
			if diff := cmp.Diff(shape(run), test.want); diff != "" {
				t.Errorf("parts (-got +want):\n%s", diff)
			}
			if got := said(run, event.PhaseAnswer); !strings.Contains(got, test.answer) {
				t.Errorf("the answer is %q, want %q in it", got, test.answer)
			}
		})
	}
}

// What the tour says it does to the workspace is what it does, a second time
// too, and it does nothing else.
func TestBuiltinWorkspace(t *testing.T) {
	workspace := t.TempDir()
	if err := os.WriteFile(filepath.Join(workspace, "mine.txt"), []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, which := range []string{"first", "second"} {
		run := (&tour{workspace: workspace}).ask(t, "hi")
		if run.End == nil {
			t.Fatalf("the %s tour ended with %v", which, run.Err)
		}
		diff := ""
		var progress []string
		for _, p := range run.Parts {
			if p.Tool != nil && p.Tool.Name == "edit_file" {
				diff = p.Tool.Result.Output
			}
			if p.Tool != nil {
				progress = append(progress, p.Tool.Progress...)
			}
		}
		if !strings.Contains(diff, "\n-- The words can be checked: not said yet\n+- The words can be checked: the end of each text") {
			t.Errorf("the %s tour shows the difference %q", which, diff)
		}
		if !strings.Contains(strings.Join(progress, ""), "step 5 of 5") {
			t.Errorf("while the command ran, the %s tour showed %q", which, progress)
		}
	}
	var files []string
	err := filepath.WalkDir(workspace, func(path string, _ os.DirEntry, err error) error {
		rel, _ := filepath.Rel(workspace, path)
		files = append(files, filepath.ToSlash(rel))
		return err
	})
	if diff := cmp.Diff(files, []string{".", "mine.txt", "verbatim-demo", "verbatim-demo/notes.md"}); err != nil || diff != "" {
		t.Errorf("the workspace afterwards (-got +want):\n%s %v", diff, err)
	}
}
