package e2e

import (
	"net/http"
	"syscall"
	"testing"
)

// TestDrain asks the process to end while a run is under way: the run may end
// within ten seconds, or is closed as interrupted with all it had said; its
// client is told either way.
func TestDrain(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		finish bool // the model ends its answer after all
		again  bool // the process is asked a second time
		want   string
		status string
	}{
		{"the run ends by itself", true, false, "end", "complete"},
		{"asked twice", false, true, "error", "interrupted"},
		{"the run takes too long", false, false, "error", "interrupted"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			gate := make(chan struct{})
			u := newUpstream(t, func(ask) []step {
				return []step{think("Hm."), say("Half of "), hold(gate), say("it."), finish("stop")}
			})
			p := startProduct(t, u)
			s := p.door().mustChat(t, prompt{Prompt: "Hello", Chat: "c", Run: "r"}, "")
			defer s.Close()
			got := &seen{}
			if err := got.readUntil(s, func(f frame) bool { return f.Name == "delta" }); err != nil {
				t.Fatal(err)
			}

			signal(t, p, syscall.SIGTERM)
			until(t, "it takes no new work", func() bool { return !takesWork(p) })
			if c.finish {
				close(gate)
			}
			if c.again {
				signal(t, p, syscall.SIGTERM)
			}
			if err := got.readAll(s); err != nil {
				t.Errorf("the client's stream: %v", err)
			}
			if got.terminal == nil || got.terminal.Name != c.want {
				t.Fatalf("terminal %+v, want %s", got.terminal, c.want)
			}
			receive(t, "the end of the process", p.exited)
			if code := p.cmd.ProcessState.ExitCode(); code != 0 {
				t.Errorf("exit code %d, want 0", code)
			}
			checkRecords(t, "c", readStored(t, p.dir, "c")["c"])

			p.start()
			rows := p.door().conversation(t, "c").Messages
			if len(rows) != 2 || rows[1].Status != c.status || rows[1].Content != got.text {
				t.Errorf("after the restart: %+v, want %q %s", rows, got.text, c.status)
			}
		})
	}
}

func signal(t *testing.T, p *product, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// takesWork reports whether the process says that it is ready for more.
func takesWork(p *product) bool {
	res, err := p.client.Get(p.ready.URL + "/readyz")
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}
