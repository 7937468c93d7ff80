package main

import (
	"fmt"

	"verbatim/internal/app"
	"verbatim/internal/config"
)

type configCommand struct {
	Check   configCheck   `cmd:"" help:"Say what a process would run with and where each value comes from, or what is wrong."`
	Default configDefault `cmd:"" help:"Print a configuration file with every key and its default."`
	Doc     configDoc     `cmd:"" help:"Print the reference page of all keys."`
}

type configCheck struct{ place }

// Run prints the effective configuration without secrets.
func (c *configCheck) Run(std streams, flags settings) error {
	cfg, err := c.load(std, flags)
	if err != nil {
		return err
	}
	return cfg.WriteEffective(std.out)
}

type configDefault struct{}

// Run prints the default file.
func (*configDefault) Run(std streams) error { return config.WriteDefault(std.out) }

type configDoc struct{}

// Run prints the reference page.
func (*configDoc) Run(std streams) error { return config.WriteReference(std.out, app.Platforms()) }

type versionCommand struct{}

// Run prints the version.
func (*versionCommand) Run(std streams) error {
	_, err := fmt.Fprintln(std.out, "verbatim "+app.Version)
	return err
}
