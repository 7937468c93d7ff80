package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"verbatim/internal/client"
	"verbatim/internal/term"
)

type receiptsCommand struct {
	place

	RunID string `arg:"" name:"run" help:"The run."`
	JSON  bool   `help:"Print what the server says, as JSON."`
}

// Run prints where a run was shown.
func (c *receiptsCommand) Run(ctx context.Context, std streams, flags settings) error {
	_, err := showReceipts(ctx, std, flags, c.place, c.RunID, false, c.JSON)
	return err
}

type verifyCommand struct {
	place

	RunID string `arg:"" name:"run" help:"The run."`
	JSON  bool   `help:"Print what the server says, as JSON."`
}

// Run prints where a run was shown and whether it is still there; it fails when
// anything is not as it was posted.
func (c *verifyCommand) Run(ctx context.Context, std streams, flags settings) error {
	r, err := showReceipts(ctx, std, flags, c.place, c.RunID, true, c.JSON)
	if err != nil {
		return err
	}
	for _, s := range r.Surfaces {
		for _, p := range s.Placements {
			if p.Check == "other" || p.Check == "gone" {
				return errSilent
			}
		}
	}
	return nil
}

func showReceipts(ctx context.Context, std streams, flags settings, p place, run string, verify, asJSON bool) (r client.Receipts, err error) {
	cfg, err := p.load(std, flags)
	if err != nil {
		return r, err
	}
	err = withClient(ctx, std, flags, cfg, func(c *client.Client, _ bool) error {
		r, err = c.Receipts(ctx, run, verify)
		return err
	})
	if err != nil {
		return r, err
	}
	if asJSON {
		return r, json.NewEncoder(std.out).Encode(r)
	}
	return r, writeReceipts(std, r)
}

// writeReceipts prints a line a message.
func writeReceipts(std streams, r client.Receipts) error {
	var b strings.Builder
	if len(r.Surfaces) == 0 {
		b.WriteString("This run is shown in no chat: its conversation is bound to none.\n")
	}
	for _, s := range r.Surfaces {
		chat := s.Chat.ID
		if s.Chat.Thread != "" {
			chat += " / " + s.Chat.Thread
		}
		fmt.Fprintf(&b, "%s (%s): %s%s\n", s.Surface, chat, s.State, withheld(s.Withheld))
		for _, p := range s.Placements {
			fmt.Fprintf(&b, "  %-10s %s%s\n", p.State, rangeOf(p), message(p))
		}
	}
	// What others wrote is in it: names of chats, of tools, errors.
	_, err := fmt.Fprint(std.out, term.Clean(b.String()))
	return err
}

func withheld(w client.Withheld) string {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{w.Reasoning, "reasoning"}, {w.Tools, "tool calls"}, {w.Commentary, "commentary"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "; withheld by policy: " + strings.Join(parts, ", ")
}

func rangeOf(p client.Placement) string {
	if p.Segment == "" {
		return p.Item
	}
	return fmt.Sprintf("%s bytes %d to %d", p.Segment, p.From, p.To)
}

func message(p client.Placement) string {
	text := ""
	if p.PlatformID != "" {
		text += " in message " + p.PlatformID
	}
	if p.Attempts > 1 {
		text += fmt.Sprintf(", %d attempts", p.Attempts)
	}
	if p.Error != "" {
		text += ": " + p.Error
	}
	switch p.Check {
	case "same":
		text += "; the platform shows exactly this"
	case "other":
		text += "; THE PLATFORM SHOWS SOMETHING ELSE"
	case "gone":
		text += "; THE PLATFORM HAS IT NO MORE"
	case "cannot":
		text += "; cannot check"
	}
	return text
}
