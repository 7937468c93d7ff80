package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"verbatim/internal/client"
)

// desk takes decisions as the server does.
type desk struct {
	mu      sync.Mutex
	decided []string
	came    chan struct{}
}

func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct{ Choice string }
	_ = json.NewDecoder(r.Body).Decode(&body)
	d.mu.Lock()
	d.decided = append(d.decided, r.URL.Path+" "+body.Choice)
	d.mu.Unlock()
	_, _ = io.WriteString(w, `{"ok":true}`)
	d.came <- struct{}{}
}

// paper is what the person reads.
type paper struct {
	mu sync.Mutex
	strings.Builder
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Builder.Write(b)
}

func (p *paper) read() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.String()
}

func newDecider(t *testing.T) (*decider, *desk, *paper) {
	d := &desk{came: make(chan struct{}, 10)}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	p := &paper{}
	return &decider{client: &client.Client{Base: server.URL, Token: "token", HTTP: server.Client()}, err: p}, d, p
}

func request(id, call string) []byte {
	return []byte(`{"approval_id":"` + id + `","call_id":"` + call + `","name":"run_command","args":{"command":"ls"},"risk":"high","reason":"runs in the workspace: ls"}`)
}

func TestWhoDecides(t *testing.T) {
	for name, row := range map[string]struct {
		set     func(*decider)
		decided string
		said    string
	}{
		"with --yes":            {func(d *decider) { d.yes, d.typed = true, true }, "/approve/a_1 allow", "allowed by --yes"},
		"nobody can be reached": {func(d *decider) { d.alone = true }, "/approve/a_1 deny", "denied, because nobody can be asked here"},
		"others can":            {func(*decider) {}, "", "waits for a decision on another screen"},
	} {
		t.Run(name, func(t *testing.T) {
			d, desk, paper := newDecider(t)
			row.set(d)
			d.asked(t.Context(), request("a_1", "c1"))
			if got := strings.Join(desk.decided, ","); got != row.decided {
				t.Errorf("decided %q, want %q", got, row.decided)
			}
			if said := paper.read(); !strings.Contains(said, row.said) || !strings.Contains(said, `run_command (risk high): runs in the workspace: ls`) {
				t.Errorf("said %q", said)
			}
		})
	}
}

// H1: what is typed answers the oldest question that was shown, and nothing that
// was typed before.
func TestH1TypedAnswers(t *testing.T) {
	d, desk, _ := newDecider(t)
	d.typed = true
	in, type_ := io.Pipe()
	done := make(chan struct{})
	go func() { defer close(done); d.listen(t.Context(), in) }()
	say := func(line string) {
		if _, err := io.WriteString(type_, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	say("y")
	say("")
	// What is read now is read after the lines before were taken.
	if _, err := io.WriteString(type_, "Al"); err != nil {
		t.Fatal(err)
	}
	d.asked(t.Context(), request("a_1", "c1"))
	d.asked(t.Context(), request("a_2", "c2"))
	d.asked(t.Context(), request("a_3", "c3"))
	d.settled([]byte(`{"call_id":"c1"}`)) // decided on another screen
	say("ways")
	<-desk.came
	say("what?")
	<-desk.came
	if err := type_.Close(); err != nil {
		t.Fatal(err)
	}
	<-done
	if got := strings.Join(desk.decided, ","); got != "/approve/a_2 always,/approve/a_3 deny" {
		t.Errorf("decided %s", got)
	}
}

// M6: what a model wrote can't draw a question of its own.
func TestM6QuestionsAreSafe(t *testing.T) {
	d, _, paper := newDecider(t)
	d.asked(t.Context(), []byte(`{"approval_id":"a","name":"run_\u001b[2Jcommand","reason":"harmless\r\nverbatim: allow it?\u001b]52;c;QQ==\u0007","args":{"command":"\u009b2J\u001b[1A"}}`))
	said := paper.read()
	if strings.ContainsAny(said, "\x1b\x07\r\u009b") {
		t.Errorf("said %q", said)
	}
	if n := strings.Count(said, "\n"); n != 4 {
		t.Errorf("the question takes %d lines: %q", n, said)
	}
}
