package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"verbatim/internal/app"
)

type serveCommand struct {
	place

	Addr           string `placeholder:"HOST:PORT" help:"Where to listen; port 0 picks a free one. Default: 127.0.0.1:4747."`
	Model          string `placeholder:"PROVIDER/NAME" help:"The model that answers. Default: the first that is found."`
	Workspace      string `placeholder:"DIR" help:"The folder that the agent works in. Default: the current one, unless it holds the data directory."`
	InsecureListen bool   `help:"Allow an address beyond loopback without TLS."`
	TLSCert        string `name:"tls-cert" placeholder:"FILE" help:"Certificate, in PEM form, to serve HTTPS with."`
	TLSKey         string `name:"tls-key" placeholder:"FILE" help:"Its private key."`
	PublicURL      string `name:"public-url" placeholder:"URL" help:"The address that people use, if it is another."`
	BasePath       string `placeholder:"PATH" help:"The path under which a proxy serves Verbatim."`
	LogLevel       string `placeholder:"LEVEL" help:"debug, info, warn or error."`
	LogFormat      string `placeholder:"FORMAT" help:"text or json."`
}

// ready is the one line on standard output.
type ready struct {
	Ready     bool   `json:"ready"`
	URL       string `json:"url"`
	LaunchURL string `json:"launch_url"`
	PID       int    `json:"pid"`
	Version   string `json:"version"`
	Model     string `json:"model"`
}

// Run serves until a signal asks it to stop. A second signal closes what still
// runs at once.
func (s *serveCommand) Run(ctx context.Context, std streams, flags settings) error {
	cfg, err := s.load(std, flags)
	if err != nil {
		return err
	}
	a := app.New(cfg.Config, options(cfg.Config, std))
	if err := a.Start(ctx); err != nil {
		return err
	}
	line := ready{
		Ready: true, URL: a.URL(), LaunchURL: a.LaunchURL(), PID: os.Getpid(),
		Version: app.Version, Model: a.Model(ctx),
	}
	if err := sayReady(std, line); err != nil {
		return errors.Join(err, a.Stop(ctx))
	}
	select {
	case <-ctx.Done():
		std.say("stopping; answers that are under way have ten seconds to end")
	case <-a.Served():
	}
	again, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return a.Stop(again)
}

func sayReady(std streams, line ready) error {
	raw, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(std.out, "%s\n", raw); err != nil {
		return fmt.Errorf("say that the server is ready: %w", err)
	}
	std.say("%s answers; open %s", line.Model, line.LaunchURL)
	return nil
}
