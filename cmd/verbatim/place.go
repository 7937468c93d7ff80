package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"verbatim/internal/app"
	"verbatim/internal/client"
	"verbatim/internal/config"
)

// place are the flags of every command that needs the data directory.
type place struct {
	Data   string `placeholder:"DIR" help:"The data directory."`
	Config string `placeholder:"FILE" type:"path" help:"The configuration file, instead of verbatim.yaml in the data directory."`
}

// load reads the configuration and tells of what looks like a mistake in it.
func (p place) load(std streams, flags settings) (*config.Loaded, error) {
	loaded, err := config.Load(config.Source{Flags: flags, File: p.Config, Env: os.Environ(), Platforms: app.Platforms()})
	if err != nil {
		return nil, err
	}
	for _, note := range loaded.Notes {
		std.say("%s", note)
	}
	return loaded, nil
}

// options are what an app of this process needs.
func options(c config.Config, std streams) app.Options {
	return app.Options{Env: os.Getenv, Logger: newLogger(c, std)}
}

func newLogger(c config.Config, std streams) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		level = slog.LevelInfo
	}
	o := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(std.err, o))
	}
	return slog.New(slog.NewTextHandler(std.err, o))
}

// withClient speaks to the server that runs over the data directory or, when
// there is none, to one that runs for as long as do takes and that nobody else
// can reach, which alone tells.
func withClient(ctx context.Context, std streams, flags settings, cfg *config.Loaded, do func(c *client.Client, alone bool) error) error {
	c, err := app.Connect(ctx, cfg.Data)
	if err == nil {
		return do(c, false)
	}
	if !errors.Is(err, app.ErrNotRunning) {
		return err
	}
	if _, ok := flags["log_level"]; !ok && cfg.From["log_level"] == "" {
		cfg.LogLevel = "warn"
	}
	opt := options(cfg.Config, std)
	opt.Private = true
	server := app.New(cfg.Config, opt)
	if err := server.Start(ctx); err != nil {
		return err
	}
	return errors.Join(do(server.Client(), true), server.Stop(ctx))
}
