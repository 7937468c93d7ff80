package main

import (
	"context"

	"verbatim/internal/store"
)

type backupCommand struct {
	place

	File string `arg:"" type:"path" help:"The new file. One that exists is left alone."`
}

// Run copies the database.
func (b *backupCommand) Run(ctx context.Context, std streams, flags settings) error {
	cfg, err := b.load(std, flags)
	if err != nil {
		return err
	}
	if err := store.BackupDir(ctx, cfg.Data, b.File); err != nil {
		return err
	}
	std.say("the database is copied to %s", b.File)
	return nil
}

type restoreCommand struct {
	place

	File  string `arg:"" type:"path" help:"A file that backup made."`
	Force bool   `help:"Move a database that is there aside; it is never deleted."`
}

// Run puts a backup in place.
func (r *restoreCommand) Run(ctx context.Context, std streams, flags settings) error {
	cfg, err := r.load(std, flags)
	if err != nil {
		return err
	}
	if err := store.Restore(ctx, r.File, cfg.Data, store.RestoreOptions{Force: r.Force}); err != nil {
		return err
	}
	std.say("%s is restored to %s", r.File, cfg.Data)
	return nil
}
