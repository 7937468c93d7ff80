package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"verbatim/internal/client"
)

type exportCommand struct {
	place

	Conversations []string `arg:"" optional:"" name:"id" help:"The conversations. Default: all."`
	Out           string   `placeholder:"FILE" type:"path" help:"The new file, instead of standard output. One that exists is left alone."`
}

// Run writes conversations to a file, from the server that runs over the data
// directory or, when there is none, in its place.
func (e *exportCommand) Run(ctx context.Context, std streams, flags settings) error {
	cfg, err := e.load(std, flags)
	if err != nil {
		return err
	}
	return withClient(ctx, std, flags, cfg, func(c *client.Client, _ bool) error {
		if e.Out == "" {
			return e.write(ctx, c, std.out)
		}
		if err := newFile(e.Out, func(w io.Writer) error { return e.write(ctx, c, w) }); err != nil {
			return err
		}
		std.say("the export is in %s", e.Out)
		return nil
	})
}

// write writes one export after another, which import reads as one file.
func (e *exportCommand) write(ctx context.Context, c *client.Client, w io.Writer) error {
	if len(e.Conversations) == 0 {
		return c.Export(ctx, w, "")
	}
	for _, name := range e.Conversations {
		if err := c.Export(ctx, w, name); err != nil {
			return fmt.Errorf("export %s: %w", name, err)
		}
	}
	return nil
}

// newFile makes a file, for its owner only, that is there whole or not at all.
func newFile(path string, write func(io.Writer) error) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s is there already; name another file", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".verbatim-export-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
