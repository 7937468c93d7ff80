package app

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"syscall"

	"verbatim/internal/httpapi"
)

// checkWorkspace refuses a workspace that is no folder.
func (a *App) checkWorkspace(context.Context) error {
	if a.cfg.Workspace == "" {
		return nil
	}
	info, err := os.Stat(a.cfg.Workspace)
	if err != nil {
		return fmt.Errorf("the workspace can't be used: %w; name an existing folder with --workspace", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("the workspace %s is a file; name a folder with --workspace", a.cfg.Workspace)
	}
	return nil
}

// listen takes the address. Requests that come before serve wait.
func (a *App) listen(ctx context.Context) error {
	if a.opt.Private {
		a.inside = newPipe()
		a.listener = a.inside
		a.onFailure(a.inside.Close)
		return nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.cfg.Addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use by another program; stop that, or choose another address with --addr", a.cfg.Addr)
	}
	if err != nil {
		return fmt.Errorf("listen: %w; choose another address with --addr", err)
	}
	a.listener = l
	a.onFailure(func() error { return ignoreClosed(l.Close()) })
	if a.cfg.TLSCert == "" {
		return nil
	}
	return a.addTLS()
}

func (a *App) addTLS() error {
	cert, err := tls.LoadX509KeyPair(a.cfg.TLSCert, a.cfg.TLSKey)
	if err != nil {
		return fmt.Errorf("the certificate can't be used: %w; check tls_cert and tls_key", err)
	}
	sum := sha256.Sum256(cert.Certificate[0])
	a.cert = hex.EncodeToString(sum[:])
	a.listener = tls.NewListener(a.listener, &tls.Config{
		Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12,
	})
	return nil
}

// serve starts to answer.
func (a *App) serve(context.Context) error {
	a.server = httpapi.NewServer(a.api, a.opt.Logger)
	go func() {
		defer close(a.served)
		if err := a.server.Serve(a.listener); !errors.Is(err, http.ErrServerClosed) {
			a.failure = err
		}
	}()
	a.onFailure(func() error {
		a.api.Fail()
		return a.endServer(ended())
	})
	return nil
}

// endServer stops accepting, waits for requests until ctx ends, then cuts off
// what is left. The goroutine of serve is gone when it returns.
func (a *App) endServer(ctx context.Context) error {
	err := a.server.Shutdown(ctx)
	if err != nil {
		err = a.server.Close()
	}
	<-a.served
	return errors.Join(ignoreClosed(err), ignoreClosed(a.failure))
}

// Served is closed when the app takes no more connections: after Stop, or when
// the listener broke or what the last process left can't be taken up. Stop
// returns why.
func (a *App) Served() <-chan struct{} { return a.served }

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Addr is the address that the app listens on, with the port that was free
// when 0 was asked for.
func (a *App) Addr() string { return a.listener.Addr().String() }

// URL is the address at which this machine reaches the app.
func (a *App) URL() string {
	scheme := "http"
	if a.cert != "" {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(a.Addr())
	if err != nil {
		return scheme + "://" + a.Addr()
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		// Every interface was asked for; a browser needs one of them.
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// LaunchURL mints a link that lets one browser in, once.
func (a *App) LaunchURL() string {
	base := a.URL()
	if a.cfg.PublicURL != "" {
		base = a.cfg.PublicURL
	}
	return trimSlash(base) + a.api.LaunchPath()
}

// Model is the full name of the model that would answer next.
func (a *App) Model(ctx context.Context) string { return a.models.name(ctx) }

// allowHosts adds the address that was asked for, if it names one host: people
// who say --addr box.example:443 mean to use that name.
func (a *App) allowHosts() []string {
	hosts := slices.Clone(a.cfg.AllowHosts)
	host, _, err := net.SplitHostPort(a.cfg.Addr)
	if err != nil || host == "" || a.opt.Private {
		return hosts
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		return hosts
	}
	return append(hosts, host)
}

func trimSlash(s string) string {
	if s != "" && s[len(s)-1] == '/' {
		return s[:len(s)-1]
	}
	return s
}
