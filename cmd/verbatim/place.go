package main

import (
	"log/slog"
	"os"

	"verbatim/internal/app"
	"verbatim/internal/config"
)

// place are the flags of every command that needs the data directory.
type place struct {
	Data   string `placeholder:"DIR" help:"The data directory."`
	Config string `placeholder:"FILE" type:"path" help:"The configuration file, instead of verbatim.yaml in the data directory."`
}

// load reads the configuration and tells of what looks like a mistake in it.
func (p place) load(std streams, flags settings) (*config.Loaded, error) {
	loaded, err := config.Load(config.Source{Flags: flags, File: p.Config, Env: os.Environ()})
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
