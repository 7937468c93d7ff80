package main

import (
	"context"
	"fmt"

	"verbatim/internal/app"
	"verbatim/internal/term"
)

type doctorCommand struct {
	place

	Model string `placeholder:"PROVIDER/NAME" help:"The model to try. Default: the one that would answer."`
}

// Run prints a line for each thing that was looked at and fails when one of
// them is not as it should be.
func (d *doctorCommand) Run(ctx context.Context, std streams, flags settings) error {
	cfg, err := d.load(std, flags)
	if err != nil {
		return err
	}
	opt := options(cfg.Config, std)
	var bad error
	for _, f := range app.Diagnose(ctx, cfg.Config, opt) {
		word := "ok  "
		if !f.OK {
			word, bad = "FAIL", errSilent
		}
		if _, err := fmt.Fprintf(std.out, "%s  %s: %s\n", word, f.What, term.Line(f.Detail)); err != nil {
			return err
		}
	}
	return bad
}
