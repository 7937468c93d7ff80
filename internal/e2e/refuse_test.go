package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Exit codes: what is wrong shows only when the program works, or already in
// what it was told.
const (
	failure = 1
	usage   = 2
)

// refused starts a command that must not come up, and returns what it said.
func refused(t *testing.T, p *product, want int, args ...string) string {
	t.Helper()
	cmd := p.command(args...)
	said := &output{}
	cmd.Stderr = said
	begun := make(chan error, 1)
	if err := world.spawner.start(cmd); err != nil {
		t.Fatal(err)
	}
	go func() { begun <- cmd.Wait() }()
	select {
	case <-begun:
	case <-time.After(patience):
		_ = cmd.Process.Kill()
		<-begun
		t.Fatalf("it did not end:\n%s", said)
	}
	if code := cmd.ProcessState.ExitCode(); code != want {
		t.Errorf("exit code %d, want %d", code, want)
	}
	text := said.String()
	if strings.TrimSpace(text) == "" || strings.Contains(text, "goroutine ") {
		t.Errorf("standard error %q, want one sentence", text)
	}
	return text
}

// TestRefusesToStart: each reason is named with what to do, and nothing that is
// there is changed.
func TestRefusesToStart(t *testing.T) {
	u := newUpstream(t, func(ask) []step { return []step{say("Fine."), finish("stop")} })
	p := startProduct(t, u)
	d := p.door()
	d.whole(t, prompt{Prompt: "Hello", Chat: "kept", Run: "kept-run"})
	elsewhere := newProduct(t, u)

	t.Run("second process", func(t *testing.T) {
		said := refused(t, p, failure, p.serveArgs()...)
		mentions(t, said, "another", "--data")
	})
	t.Run("port in use", func(t *testing.T) {
		address := strings.TrimPrefix(p.ready.URL, "http://")
		said := refused(t, p, failure, "serve", "--addr", address, "--data", elsewhere.dir, "--model", "openai/fake")
		mentions(t, said, address)
	})
	t.Run("data directory is a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		said := refused(t, p, failure, "serve", "--addr", "127.0.0.1:0", "--data", file, "--model", "openai/fake")
		mentions(t, said, file)
		if b, err := os.ReadFile(file); err != nil || string(b) != "mine" {
			t.Errorf("the file is %q now (%v)", b, err)
		}
	})
	t.Run("public address", func(t *testing.T) {
		for _, address := range []string{"0.0.0.0:0", "[::]:0", ":0"} {
			said := refused(t, p, usage, "serve", "--addr", address, "--data", elsewhere.dir, "--model", "openai/fake")
			mentions(t, said, "insecure")
		}
	})

	// The first one never noticed.
	if got := d.whole(t, prompt{Prompt: "Again", Chat: "kept"}); got.text != "Fine." {
		t.Errorf("after all that the first process says %q", got.text)
	}
}

func mentions(t *testing.T, said string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(said, word) {
			t.Errorf("%q does not mention %q", said, word)
		}
	}
}

// TestCorruptDatabase: a damaged database is refused, the refusal says how to
// restore, and no byte of it is written.
func TestCorruptDatabase(t *testing.T) {
	u := newUpstream(t, func(ask) []step { return []step{say("Fine."), finish("stop")} })
	p := startProduct(t, u)
	p.door().whole(t, prompt{Prompt: "Hello", Chat: "kept"})
	if code := p.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	database := filepath.Join(p.dir, "verbatim.db")
	whole, err := os.ReadFile(database)
	if err != nil {
		t.Fatal(err)
	}
	noise := bytes.Repeat([]byte("not what was here before "), len(whole)/25+1)
	cases := []struct {
		name   string
		damage func(b []byte) []byte
	}{
		{"header", func(b []byte) []byte { copy(b, noise[:100]); return b }},
		{"schema", func(b []byte) []byte { copy(b[100:], noise[:3900]); return b }},
		{"all of it", func(b []byte) []byte { return noise[:len(b)] }},
		{"a text file", func([]byte) []byte { return []byte("hello\n") }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			damaged := c.damage(bytes.Clone(whole))
			if err := os.WriteFile(database, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			said := refused(t, p, failure, p.serveArgs()...)
			mentions(t, said, "restore")
			now, err := os.ReadFile(database)
			if err != nil || !bytes.Equal(now, damaged) {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
	if err := os.WriteFile(database, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	p.start()
	if c := p.door().conversation(t, "kept"); len(c.Messages) != 2 {
		t.Errorf("after the right file is back: %+v", c)
	}
}
