package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// stopWithin is how long a stop may take: a second, and in short runs, which
// share the machine with others, enough that nobody needs to look twice.
func stopWithin() time.Duration {
	if long() {
		return time.Second
	}
	return 5 * time.Second
}

// stubborn is a command that doesn't end when it is asked to, with a child and a
// grandchild that don't either. It writes down who they are.
const stubborn = `trap '' TERM INT HUP; sh -c 'trap "" TERM INT HUP; sleep 1000 & echo $$ $! >> pids; while :; do sleep 1; done' & echo $$ >> pids; while :; do sleep 1; done`

// TestStopComesAtOnce (G4, I1, G4 of tool cards): a stop by another client ends a
// run within a second, whatever it is doing, and nothing of it goes on.
func TestStopComesAtOnce(t *testing.T) {
	cases := []struct {
		name  string
		steps []step // what the model says before it waits
		until string // the event after which it is stopped
		allow bool   // the call that is asked for
		ready func(workspace string) bool
	}{
		{name: "waiting for the model", until: "start"},
		{name: "text", steps: []step{say("One "), say("two ")}, until: "delta"},
		{name: "reasoning", steps: []step{think("Hm ")}, until: "reasoning"},
		{name: "drafting", steps: []step{call("c1", "write_file", `{"path": "never`)}, until: "tool_drafting"},
		{name: "approval pending", steps: []step{call("c1", "write_file", `{"path": "never", "content": "x"}`), finish("tool_calls")}, until: "approval_request"},
		{
			name: "command that ignores signals, with children", until: "approval_request", allow: true,
			steps: []step{call("c1", "run_command", `{"command": `+strconv.Quote(stubborn)+`}`), finish("tool_calls")},
			ready: func(workspace string) bool { return len(pidsIn(workspace)) == 3 },
		},
	}
	u := newUpstream(t, func(a ask) []step {
		for _, c := range cases {
			if c.name == a.Prompt {
				return append(append([]step{}, c.steps...), never())
			}
		}
		return []step{say("Next."), finish("stop")}
	})
	workspace := t.TempDir()
	p := startProduct(t, u, "--workspace", workspace)
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := p.door()
			body := prompt{Prompt: c.name, Chat: name("c", i), Run: name("r", i)}
			s := d.mustChat(t, body, "")
			defer s.Close()
			got := &seen{}
			if err := got.readUntil(s, func(f frame) bool { return f.Name == c.until }); err != nil {
				t.Fatal(err)
			}
			aid := got.frames[len(got.frames)-1].Data.Approval
			if c.allow {
				if code := d.call(t, "POST", "/approve/"+aid, map[string]string{"choice": "allow"}, nil); code != http.StatusOK {
					t.Fatalf("allow: status %d", code)
				}
				until(t, "it runs", func() bool { return c.ready(workspace) })
			}
			took := stopAndRead(t, d, body.Run, got, s)
			t.Logf("stopped after %v", took)
			if got.terminal.Name != "cancelled" {
				t.Errorf("terminal %+v, want cancelled", got.terminal)
			}
			for _, pid := range pidsIn(workspace) {
				if alive(pid) {
					t.Errorf("process %d of the command still runs", pid)
				}
			}
			stoppedWhole(t, d, got, body)
			if aid != "" && !c.allow {
				if code := d.call(t, "POST", "/approve/"+aid, map[string]string{"choice": "allow"}, nil); code != http.StatusNotFound {
					t.Errorf("a decision after the stop: status %d, want 404", code)
				}
			}
			if next := d.whole(t, prompt{Prompt: "next", Chat: body.Chat}); next.text != "Next." {
				t.Errorf("the next message is answered by %q", next.text)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(workspace, "never")); err == nil {
		t.Error("a call ran that was never allowed")
	}
}

// stopAndRead stops a run, reads its stream to the end, and returns how long both
// took.
func stopAndRead(t *testing.T, d *door, run string, got *seen, s *stream) time.Duration {
	t.Helper()
	began := time.Now()
	if code := d.call(t, "POST", "/cancel/"+run, nil, nil); code != http.StatusOK {
		t.Fatalf("stop: status %d", code)
	}
	if err := got.readAll(s); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	if took > stopWithin() {
		t.Errorf("the stop took %v, want at most %v", took, stopWithin())
	}
	return took
}

// stoppedWhole checks that every call of a stopped run has a result (G7), on the
// wire and in the chat.
func stoppedWhole(t *testing.T, d *door, got *seen, body prompt) {
	t.Helper()
	open := map[string]bool{}
	for _, f := range got.frames {
		switch f.Name {
		case "tool_call":
			open[f.Data.Call] = true
		case "tool_result":
			if !open[f.Data.Call] || f.Data.OK {
				t.Errorf("result %s", f.Raw)
			}
			delete(open, f.Data.Call)
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without a result: %v", open)
	}
	rows := d.conversation(t, body.Chat).Messages
	if len(rows) != 2 || rows[1].Status != "cancelled" || rows[1].Content != got.text {
		t.Errorf("rows %+v, want a cancelled answer with %q", rows, got.text)
	}
}

func pidsIn(workspace string) (pids []int) {
	said, err := os.ReadFile(filepath.Join(workspace, "pids"))
	if err != nil {
		return nil
	}
	for field := range strings.FieldsSeq(string(said)) {
		if pid, err := strconv.Atoi(field); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestI6StopSendsNothingThatIsQueued: with a stop each message that waits gets one
// cancelled and no start; what is sent after it is answered.
func TestI6StopSendsNothingThatIsQueued(t *testing.T) {
	u := newUpstream(t, func(a ask) []step {
		if a.Prompt == "later" {
			return []step{say("Later."), finish("stop")}
		}
		return []step{say("One "), never()}
	})
	p := startProduct(t, u)
	d := p.door()
	s := d.mustChat(t, prompt{Prompt: "first", Chat: "c", Run: "first"}, "")
	defer s.Close()
	got := &seen{}
	if err := got.readUntil(s, func(f frame) bool { return f.Name == "delta" }); err != nil {
		t.Fatal(err)
	}
	var waiting []*stream
	for _, what := range []string{"second", "third"} {
		w := d.mustChat(t, prompt{Prompt: what, Chat: "c", Run: what}, "")
		defer w.Close()
		waiting = append(waiting, w)
	}
	began := time.Now()
	stopAndRead(t, d, "first", got, s)
	for _, w := range waiting {
		dropped := &seen{}
		if err := dropped.readAll(w); err != nil {
			t.Fatal(err)
		}
		if len(dropped.frames) != 1 || dropped.terminal == nil || dropped.terminal.Name != "cancelled" {
			t.Errorf("the stream of a message that waited: %+v", dropped.frames)
		}
	}
	if took := time.Since(began); took > stopWithin() {
		t.Errorf("the stop took %v, want at most %v", took, stopWithin())
	} else {
		t.Logf("stopped after %v", took)
	}
	if later := d.whole(t, prompt{Prompt: "later", Chat: "c"}); later.text != "Later." {
		t.Errorf("what was sent after the stop is answered by %q", later.text)
	}
	for _, a := range u.asked() {
		if a.Prompt == "second" || a.Prompt == "third" {
			t.Errorf("the model was asked %q", a.Prompt)
		}
	}
	s = d.mustChat(t, prompt{Prompt: "second", Chat: "c", Run: "second"}, "")
	defer s.Close()
	again := &seen{}
	if err := again.readAll(s); err != nil || again.terminal == nil || again.terminal.Name != "cancelled" {
		t.Errorf("the run id of a message that was taken out gives %+v, %v", again.frames, err)
	}
}
