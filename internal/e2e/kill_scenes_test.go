package e2e

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
)

// toolScene is a command with a child, both of which would run for long.
type toolScene struct {
	sceneBase
	pids []int
}

func (s *toolScene) chat() id.Conversation { return id.Conversation(s.named("tool")) }

func (s *toolScene) body() prompt {
	return prompt{Prompt: s.named("tool"), Chat: s.named("tool"), Run: s.named("tool-run")}
}

func (s *toolScene) next() prompt {
	return prompt{Prompt: s.named("after-tool"), Chat: s.named("tool")}
}

func (s *toolScene) answer(a ask) []step {
	if a.Prompt != s.named("tool") {
		return nil
	}
	line := "echo out; sleep 1000 & echo $$ $! > " + s.named("pids") + ".new; mv " + s.named("pids") + ".new " + s.named("pids") + "; wait"
	return []step{say("I run it. "), call("c1", "run_command", `{"command": "`+line+`"}`), finish("tool_calls")}
}

func (s *toolScene) begin(d *door) {
	got := s.ask(d, s.body(), func(f frame) bool { return f.Name == "approval_request" })
	if s.t.Failed() {
		return
	}
	aid := got.frames[len(got.frames)-1].Data.Approval
	if code := status(d, "POST", "/approve/"+aid, `{"choice":"allow"}`); code != http.StatusOK {
		s.t.Errorf("allow: status %d", code)
		return
	}
	file := filepath.Join(s.workspace, s.named("pids"))
	until(s.t, "the command runs", func() bool { _, err := os.Stat(file); return err == nil })
	said, err := os.ReadFile(file)
	if err != nil {
		s.t.Error(err)
	}
	for field := range strings.FieldsSeq(string(said)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			s.t.Error(err)
		}
		s.pids = append(s.pids, pid)
	}
}

func (s *toolScene) left(state *transcript.Conversation) []phase {
	if tool := lastTool(state); tool == nil || tool.Result != nil || tool.Resolved == nil {
		s.t.Errorf("a call that runs was left as %+v", tool)
		return nil
	}
	return []phase{toolRunning}
}

const mayHaveRun, didNotRun = "may have run", "did not run"

func (s *toolScene) after(d *door) {
	for _, pid := range s.pids {
		until(s.t, "the command's processes are gone", func() bool { return !alive(pid) })
	}
	got := s.toEnd(d, s.body())
	s.interrupted(got, mayHaveRun)
	s.toEnd(d, s.next())
	if told := s.u.told(s.next().Prompt); !strings.Contains(told, mayHaveRun) {
		s.t.Errorf("the model was told %q of the call", told)
	}
}

// interrupted checks how a run ended that had one call under way.
func (b sceneBase) interrupted(got *seen, words string) {
	if got.terminal == nil || got.terminal.Data.Code != "interrupted" {
		b.t.Errorf("the run ended as %+v, want interrupted", got.terminal)
		return
	}
	for _, f := range got.frames {
		if f.Name == "tool_result" && !f.Data.OK && strings.Contains(f.Data.Output, words) {
			return
		}
	}
	b.t.Errorf("no result says that the call %s", words)
}

func (s *toolScene) rest(state *transcript.Conversation) {
	tool := state.Turns[0].Runs[0].Parts[1].Tool
	if tool.Result == nil || tool.Result.OK || !strings.Contains(tool.Result.Output, mayHaveRun) {
		s.t.Errorf("result %+v", tool.Result)
	}
}

// approvalScene is a call that waits for somebody's decision. When raced, the
// decision comes with the kill.
type approvalScene struct {
	sceneBase
	aid      string
	decided  int // status of the decision
	allowed  bool
	finished bool // the call had its result before the kill
}

func (s *approvalScene) chat() id.Conversation { return id.Conversation(s.named("ask")) }

func (s *approvalScene) body() prompt {
	return prompt{Prompt: s.named("ask"), Chat: s.named("ask"), Run: s.named("ask-run")}
}

func (s *approvalScene) next() prompt {
	return prompt{Prompt: s.named("after-ask"), Chat: s.named("ask")}
}

func (s *approvalScene) answer(a ask) []step {
	switch {
	case a.Prompt != s.named("ask"):
		return nil
	case a.Round > 0:
		return []step{say("Half of "), never()}
	}
	return []step{call("c1", "write_file", `{"path": "`+s.named("ask")+`.txt", "content": "x"}`), finish("tool_calls")}
}

func (s *approvalScene) begin(d *door) {
	got := s.ask(d, s.body(), func(f frame) bool { return f.Name == "approval_request" })
	if !s.t.Failed() {
		s.aid = got.frames[len(got.frames)-1].Data.Approval
	}
}

func (s *approvalScene) strike(d *door) {
	if s.raced {
		s.decided = s.decide(d)
	}
}

func (s *approvalScene) decide(d *door) int {
	return status(d, "POST", "/approve/"+s.aid, `{"choice":"allow"}`)
}

func (s *approvalScene) left(state *transcript.Conversation) []phase {
	tool := lastTool(state)
	if tool == nil || tool.Request == nil {
		s.t.Error("a request that a client saw is not stored")
		return nil
	}
	s.allowed, s.finished = tool.Resolved != nil && tool.Resolved.Decision == event.DecisionAllow, tool.Result != nil
	if s.decided == http.StatusOK && !s.allowed {
		s.t.Error("a decision that was taken is not stored")
	}
	if s.raced {
		return []phase{decisionAtKill}
	}
	return []phase{approvalPending}
}

func (s *approvalScene) after(d *door) {
	got := s.toEnd(d, s.body())
	switch {
	case s.finished:
		return
	case s.allowed:
		s.interrupted(got, mayHaveRun)
		return
	}
	s.interrupted(got, didNotRun)
	if code := s.decide(d); code != http.StatusNotFound {
		s.t.Errorf("a decision after the restart: status %d, want 404", code)
	}
	s.toEnd(d, s.next())
	if told := s.u.told(s.next().Prompt); !strings.Contains(told, didNotRun) {
		s.t.Errorf("the model was told %q of the call", told)
	}
	if _, err := os.Stat(filepath.Join(s.workspace, s.named("ask")+".txt")); !errors.Is(err, fs.ErrNotExist) {
		s.t.Errorf("a call ran that nobody allowed: %v", err)
	}
}

func (s *approvalScene) rest(state *transcript.Conversation) {
	tool := state.Turns[0].Runs[0].Parts[0].Tool
	if !s.allowed && (tool.Resolved == nil || tool.Resolved.Decision != event.DecisionCancelled) {
		s.t.Errorf("resolved as %+v, want cancelled", tool.Resolved)
	}
}

// queueScene is an answer with two messages behind it. When raced, the run is
// stopped with the kill, which sends neither.
type queueScene struct {
	sceneBase
	stopped int  // status of the stop
	dropped bool // both had been taken out
}

func (s *queueScene) chat() id.Conversation { return id.Conversation(s.named("queue")) }

func (s *queueScene) body(what string) prompt {
	return prompt{Prompt: s.named(what), Chat: s.named("queue"), Run: s.named(what) + "-run"}
}

func (s *queueScene) answer(a ask) []step {
	switch a.Prompt {
	case s.named("first"):
		return []step{say("Half of "), never()}
	case s.named("second"), s.named("third"):
		return []step{say("Answer to "), say(a.Prompt), finish("stop")}
	}
	return nil
}

func (s *queueScene) begin(d *door) {
	s.ask(d, s.body("first"), func(f frame) bool { return f.Name == "delta" })
	for _, what := range []string{"second", "third"} {
		waiting, err := d.chat(s.body(what), "")
		if err != nil {
			s.t.Error(err)
			return
		}
		if waiting.Status != http.StatusOK {
			s.t.Errorf("%s: status %d", what, waiting.Status)
		}
		waiting.Close()
	}
}

func (s *queueScene) strike(d *door) {
	if s.raced {
		s.stopped = status(d, "POST", "/cancel/"+s.named("first")+"-run", "")
	}
}

func (s *queueScene) left(state *transcript.Conversation) []phase {
	s.dropped = len(state.Queue) == 0
	switch {
	case !s.raced && len(state.Queue) == 2:
		return []phase{inQueue}
	case s.raced && s.dropped == (len(state.Returned) == 2) && (s.dropped || s.stopped != http.StatusOK):
		return []phase{stopAtKill}
	}
	s.t.Errorf("%d messages wait and %d were taken out; the stop was answered with %d", len(state.Queue), len(state.Returned), s.stopped)
	return nil
}

func (s *queueScene) after(d *door) {
	s.toEnd(d, s.body("first"))
	for _, what := range []string{"second", "third"} {
		got := s.toEnd(d, s.body(what))
		switch {
		case got.terminal == nil:
		case s.dropped && (got.terminal.Name != "cancelled" || len(got.frames) > 1 || s.asked(what)):
			s.t.Errorf("%s was taken out of the queue, and its stream is %+v", what, got.frames)
		case !s.dropped && got.text != "Answer to "+s.named(what):
			s.t.Errorf("%s was answered by %q", what, got.text)
		}
	}
}

func (s *queueScene) asked(what string) bool {
	for _, a := range s.u.asked() {
		if a.Prompt == s.named(what) {
			return true
		}
	}
	return false
}

func (s *queueScene) rest(state *transcript.Conversation) {
	want := map[bool]string{true: "first", false: "first second third"}[s.dropped]
	var got []string
	for _, turn := range state.Turns {
		what, _, _ := strings.Cut(turn.User.Text, "-")
		got = append(got, what)
	}
	if strings.Join(got, " ") != want {
		s.t.Errorf("questions %q, want %s", got, want)
	}
}
