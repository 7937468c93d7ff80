package e2e

import (
	"net/http"
	"testing"
)

// TestModelFails: whatever the model server does, the run ends with one typed
// terminal and keeps what it said (A2, G5).
func TestModelFails(t *testing.T) {
	cases := map[string]struct {
		steps      []step
		kind, code string
		text       string
	}{
		"key is refused":       {[]step{refuse(401, "invalid_request_error", "bad key")}, "auth", "", ""},
		"request is refused":   {[]step{refuse(400, "invalid_request_error", "the key rate of 401 is wrong")}, "internal", "", ""},
		"no such model":        {[]step{refuse(404, "invalid_request_error", "no model")}, "internal", "config", ""},
		"connection drops":     {[]step{say("Half a sen"), drop()}, "internal", "network", "Half a sen"},
		"stream ends early":    {[]step{say("Half a sen")}, "internal", "network", "Half a sen"},
		"error in the stream":  {[]step{say("Checking the disk"), raw([]byte(`data: {"error":{"message":"slow down","type":"rate_limit_error","code":"rate_limit_exceeded"}}` + "\n\n"))}, "rate_limit", "", "Checking the disk"},
		"nothing":              {[]step{finish("stop")}, "empty", "", ""},
		"blanks":               {[]step{say("\n\n"), say("  "), finish("stop")}, "empty", "", "\n\n  "},
		"only reasoning":       {[]step{think("Hm, what is there to say?"), finish("stop")}, "no_answer", "reasoning_only", ""},
		"tag that never ends":  {[]step{say("<think>Hello! How are you?"), finish("stop")}, "no_answer", "reasoning_only", ""},
		"content filter first": {[]step{finish("content_filter")}, "internal", "content_filter", ""},
	}
	u := newUpstream(t, func(a ask) []step { return cases[a.Prompt].steps })
	p := startProduct(t, u)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := p.door().whole(t, prompt{Prompt: name})
			end := got.terminal
			if end.Name != "error" || end.Data.Kind != c.kind || c.code != "" && end.Data.Code != c.code {
				t.Errorf("terminal %s %s, want kind %s, code %s", end.Name, end.Raw, c.kind, c.code)
			}
			if end.Data.Message == "" {
				t.Error("the error has no message")
			}
			if got.text != c.text {
				t.Errorf("text %q, want %q", got.text, c.text)
			}
		})
	}
	if code := p.stop(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	checkRecords(t, "default", readStored(t, p.dir, "default")["default"])
}

// TestCancel (I1, I2): a dropped connection is no cancel; a cancel by another
// client reaches the model, ends the run for everyone, and the next message is
// answered.
func TestCancel(t *testing.T) {
	left := make(chan struct{}, 1)
	u := newUpstream(t, func(a ask) []step {
		if a.Prompt == "next" {
			return []step{say("Next."), finish("stop")}
		}
		return []step{say("One "), say("two "), func(p *player) error {
			err := never()(p)
			left <- struct{}{}
			return err
		}}
	})
	p := startProduct(t, u)
	d := p.door()
	ask := prompt{Prompt: "count", Chat: "c", Run: "r"}
	first := d.mustChat(t, ask, "")
	got := &seen{}
	if err := got.readUntil(first, func(f frame) bool { return f.Name == "delta" }); err != nil {
		t.Fatal(err)
	}
	first.Close()

	back := d.mustChat(t, ask, got.lastID())
	defer back.Close()
	if err := got.readUntil(back, func(f frame) bool { return got.text == "One two " }); err != nil {
		t.Fatal(err)
	}
	for range 2 { // again changes nothing
		var said struct {
			OK    bool
			RunID string `json:"run_id"`
		}
		if status := d.call(t, "POST", "/cancel/r", map[string]any{}, &said); status != http.StatusOK || !said.OK || said.RunID != "r" {
			t.Errorf("cancel: %d %+v", status, said)
		}
	}
	receive(t, "the model to be left", left)
	if err := got.readAll(back); err != nil {
		t.Fatal(err)
	}
	if got.terminal == nil || got.terminal.Name != "cancelled" || got.text != "One two " {
		t.Errorf("terminal %+v after %q, want cancelled", got.terminal, got.text)
	}
	if next := d.whole(t, prompt{Prompt: "next", Chat: "c"}); next.text != "Next." || next.terminal.Name != "end" {
		t.Errorf("the next message: %s %q", next.terminal.Name, next.text)
	}
	rows := d.conversation(t, "c").Messages
	if len(rows) != 4 || rows[1].Status != "cancelled" || rows[1].Content != "One two " || rows[3].Status != "complete" {
		t.Errorf("rows %+v", rows)
	}
	if code := p.stop(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	checkRecords(t, "c", readStored(t, p.dir, "c")["c"])
}

// TestForeignCursor (J3): a cursor of another life of the database, and one
// beyond the end, get the whole run once more, marked.
func TestForeignCursor(t *testing.T) {
	u := newUpstream(t, func(ask) []step { return []step{say("One "), say("two."), finish("stop")} })
	p := startProduct(t, u)
	d := p.door()
	ask := prompt{Prompt: "Hello", Chat: "c", Run: "r"}
	whole := d.whole(t, ask)
	for _, cursor := range []string{"elsewhere-3", "elsewhere-999", whole.lastID() + "0"} {
		s := d.mustChat(t, ask, cursor)
		got := &seen{}
		if err := got.readAll(s); err != nil {
			t.Errorf("%s: %v", cursor, err)
		}
		s.Close()
		if len(got.frames) != len(whole.frames) || !got.frames[0].Data.Reset || got.text != "One two." {
			t.Errorf("%s: %d events with %q, reset %v", cursor, len(got.frames), got.text, got.frames[0].Data.Reset)
		}
	}
	p.kill()
	p.start()
	s, err := p.door().chat(ask, whole.lastID())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Status != http.StatusNoContent {
		t.Errorf("a restart makes no new life: status %d, want 204", s.Status)
	}
}
