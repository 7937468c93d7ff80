package main

import (
	"context"
	"fmt"

	"verbatim/internal/app"
)

type linkCommand struct {
	place
}

// Run asks the running server for a link.
func (l *linkCommand) Run(ctx context.Context, std streams, flags settings) error {
	cfg, err := l.load(std, flags)
	if err != nil {
		return err
	}
	c, err := app.Connect(ctx, cfg.Data)
	if err != nil {
		return err
	}
	url, err := c.Link(ctx)
	if err != nil {
		return fmt.Errorf("get a link from the server: %w", err)
	}
	_, err = fmt.Fprintln(std.out, url)
	return err
}
