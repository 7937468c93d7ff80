package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"verbatim/internal/client"
	"verbatim/internal/term"
)

// approval is a request as it is shown.
type approval struct {
	ID      string          `json:"approval_id"`
	Call    string          `json:"call_id"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"`
	Risk    string          `json:"risk"`
	Reason  string          `json:"reason"`
	Expires time.Time       `json:"expires_at"`
}

// maxShownArgs is how much of a call's arguments is shown with the question, in
// bytes.
const maxShownArgs = 2000

// decider answers requests for approval: as the person at the terminal says, or
// as the flags do. Where nobody sits it says who can.
type decider struct {
	client *client.Client
	err    io.Writer
	// yes allows everything.
	yes bool
	// alone says that the server lives in this process, so no other screen
	// reaches it.
	alone bool
	// typed tells that a person can answer here.
	typed bool

	mu      sync.Mutex
	waiting []approval // shown, and not decided yet
}

// isTerminal reports whether a person sits at the other end.
func isTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// listen reads decisions, a line each, until in ends. What was typed before a
// question was shown answers nothing.
func (d *decider) listen(ctx context.Context, in io.Reader) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		d.mu.Lock()
		var first *approval
		if len(d.waiting) > 0 {
			first = &d.waiting[0]
			d.waiting = d.waiting[1:]
		}
		d.mu.Unlock()
		if first != nil {
			d.decide(ctx, *first, choiceOf(lines.Text()))
		}
	}
}

func choiceOf(line string) string {
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return "allow"
	case "a", "always":
		return "always"
	}
	return "deny"
}

func (d *decider) decide(ctx context.Context, a approval, choice string) {
	if err := d.client.Approve(ctx, a.ID, choice); err != nil {
		d.say("verbatim: %s: %s\n", safe(a.Name), safe(err.Error()))
	}
}

// asked takes a request.
func (d *decider) asked(ctx context.Context, raw []byte) {
	var a approval
	if err := json.Unmarshal(raw, &a); err != nil {
		d.say("verbatim: a request for approval can't be read: %v\n", err)
		return
	}
	d.say("\nverbatim: %s (risk %s): %s\n  %s\n", safe(a.Name), safe(a.Risk), safe(a.Reason), clipped(a.Args, maxShownArgs))
	switch {
	case d.yes:
		d.say("verbatim: allowed by --yes\n")
		d.decide(ctx, a, "allow")
	case d.typed:
		d.say("verbatim: allow it? y for yes, a for always, anything else for no\n")
		d.mu.Lock()
		d.waiting = append(d.waiting, a)
		d.mu.Unlock()
	case d.alone:
		d.say("verbatim: denied, because nobody can be asked here; allow everything with --yes, or ask a running server\n")
		d.decide(ctx, a, "deny")
	default:
		d.say("verbatim: it waits for a decision on another screen until %s\n", a.Expires.Local().Format("15:04:05"))
	}
}

// say tells the person something. Nothing can be done about a terminal that is
// gone.
func (d *decider) say(format string, args ...any) { _, _ = fmt.Fprintf(d.err, format, args...) }

// settled takes the result of a call: its request waits no more.
func (d *decider) settled(raw []byte) {
	var result struct {
		Call string `json:"call_id"`
	}
	if json.Unmarshal(raw, &result) != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = slices.DeleteFunc(d.waiting, func(a approval) bool { return a.Call == result.Call })
}

// safe makes one line of a text that others wrote, without anything that would
// drive a terminal.
func safe(text string) string {
	var f term.Filter
	line := string(f.Flush(f.Append(nil, text)))
	return strings.Join(strings.FieldsFunc(line, func(r rune) bool { return r == '\n' || r == '\t' }), " ")
}

// clipped shows arguments in a line of at most about limit bytes.
func clipped(args json.RawMessage, limit int) string {
	line := safe(string(args))
	if len(line) > limit {
		return strings.ToValidUTF8(line[:limit], "") + fmt.Sprintf(" … and %d bytes more", len(line)-limit)
	}
	return line
}
