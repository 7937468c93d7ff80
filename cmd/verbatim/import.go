package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"verbatim/internal/client"
	"verbatim/internal/term"
)

type importCommand struct {
	place

	Files []string `arg:"" name:"file" help:"Files that export wrote, or chat files of the desktop product; - is standard input."`
}

// Run brings the conversations of files back, and says what became of each. It
// fails when one was refused or a file is damaged; the others are imported all
// the same.
func (i *importCommand) Run(ctx context.Context, std streams, flags settings) error {
	cfg, err := i.load(std, flags)
	if err != nil {
		return err
	}
	return withClient(ctx, std, flags, cfg, func(c *client.Client, _ bool) error {
		failed := false
		for _, name := range i.Files {
			ok, err := importFile(ctx, std, c, name)
			if err != nil {
				std.complain(fmt.Errorf("%s: %w", name, err))
			}
			failed = failed || !ok || err != nil
			if ctx.Err() != nil {
				break
			}
		}
		if failed {
			return errSilent
		}
		return nil
	})
}

// importFile imports one file; ok when nothing in it was refused.
func importFile(ctx context.Context, std streams, c *client.Client, name string) (ok bool, err error) {
	in := std.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return false, err
		}
		defer f.Close()
		in = f
	}
	outcomes, err := c.Import(ctx, in)
	ok = true
	for _, o := range outcomes {
		ok = ok && o.State != "refused"
		if err := show(std.out, o); err != nil {
			return false, err
		}
	}
	return ok, err
}

func show(w io.Writer, o client.Outcome) error {
	line := o.State + " " + o.ID
	if o.Reason != "" {
		line += ": " + o.Reason
	}
	_, err := fmt.Fprintln(w, term.Line(line))
	return err
}
