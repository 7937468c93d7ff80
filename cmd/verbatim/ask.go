package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"verbatim/internal/client"
	"verbatim/internal/event"
	"verbatim/internal/id"
)

type askCommand struct {
	place

	Prompt    []string `arg:"" optional:"" help:"What to ask. Without it, or with -, it is read from standard input."`
	Chat      string   `placeholder:"ID" help:"The conversation to go on with. Default: a new one."`
	Model     string   `placeholder:"PROVIDER/NAME" help:"The model that answers, when no server runs."`
	JSON      bool     `name:"json" help:"Print each native event as a line of JSON instead of the text."`
	Reasoning bool     `help:"Print the model's reasoning too, on standard error."`
	Yes       bool     `help:"Allow every tool call of this answer without asking."`
	NoTools   bool     `help:"Let the model only talk: it may call no tools."`
}

// maxPrompt is a little more than a server takes, so that the server says that
// it is too much.
const maxPrompt = 1<<20 + 1

// Run asks the server that runs over the data directory, or, when there is
// none, does the work of one for as long as it takes.
func (a *askCommand) Run(ctx context.Context, std streams, flags settings) error {
	prompt, err := a.prompt(std.in)
	if err != nil {
		return err
	}
	cfg, err := a.load(std, flags)
	if err != nil {
		return err
	}
	return withClient(ctx, std, flags, cfg, func(c *client.Client, alone bool) error {
		return a.ask(ctx, std, a.decider(std, c, alone), prompt)
	})
}

func (a *askCommand) decider(std streams, c *client.Client, alone bool) *decider {
	piped := len(a.Prompt) == 0 || strings.Join(a.Prompt, " ") == "-"
	return &decider{client: c, err: std.err, yes: a.Yes, alone: alone, typed: !piped && isTerminal(std.in)}
}

func (a *askCommand) prompt(in io.Reader) (string, error) {
	prompt := strings.Join(a.Prompt, " ")
	if len(a.Prompt) > 0 && prompt != "-" {
		return prompt, nil
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxPrompt))
	if err != nil {
		return "", fmt.Errorf("read the question from standard input: %w", err)
	}
	return string(raw), nil
}

// ask sends the prompt and prints what comes. An interrupt cancels the run: who
// presses it wants the model to stop, not only the printing.
func (a *askCommand) ask(ctx context.Context, std streams, d *decider, prompt string) error {
	mint := id.Mint{}
	p := client.Prompt{Text: prompt, Conversation: a.Chat, Run: string(mint.Run())}
	if a.NoTools {
		p.Tools = new(false)
	}
	if d.typed {
		// It reads until the process ends: nothing can take a read of the
		// terminal back.
		go d.listen(ctx, std.in)
	}
	if p.Conversation == "" {
		p.Conversation = string(mint.Conversation())
	}
	if a.JSON {
		return a.showRecords(ctx, std, d, p)
	}
	show := &textShower{out: std.out, err: std.err, reasoning: a.Reasoning, decider: d}
	for e, err := range d.client.Chat(ctx, p) {
		if err != nil {
			return a.gaveUp(ctx, d.client, p, err)
		}
		if err := show.event(ctx, e); err != nil {
			return err
		}
	}
	return show.end()
}

// showRecords starts the run over the one wire and prints it from the other,
// which has all that is stored of it.
func (a *askCommand) showRecords(ctx context.Context, std streams, d *decider, p client.Prompt) error {
	if err := d.client.Send(ctx, p); err != nil {
		return a.gaveUp(ctx, d.client, p, err)
	}
	show := &recordShower{out: std.out}
	for r, err := range d.client.Records(ctx, p.Run) {
		if err != nil {
			return a.gaveUp(ctx, d.client, p, err)
		}
		switch r.Kind {
		case event.ApprovalRequest{}.Kind():
			d.asked(ctx, r.Body)
		case event.ToolResult{}.Kind():
			d.settled(r.Body)
		}
		if err := show.record(r); err != nil {
			return err
		}
	}
	return show.outcome
}

func (a *askCommand) gaveUp(ctx context.Context, c *client.Client, p client.Prompt, err error) error {
	if ctx.Err() == nil {
		return err
	}
	later, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := c.Cancel(later, p.Run); err != nil {
		return fmt.Errorf("cancel the answer: %w", err)
	}
	return fmt.Errorf("cancelled; what was said is kept in conversation %s", p.Conversation)
}
