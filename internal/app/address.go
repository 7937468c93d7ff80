package app

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"verbatim/internal/client"
)

const addressName = "address"

// ErrNotRunning means that no server answers for a data directory.
var ErrNotRunning = errors.New("no server is running for this data directory; start one with `verbatim serve`")

// address is what a running server leaves in its data directory, so that other
// commands on this machine find it. A crash leaves it behind; who reads it asks
// whether the server is there.
type address struct {
	URL string `json:"url"`
	// Cert is the SHA-256 of the server's certificate, empty without TLS.
	// Whoever can write here is trusted, so this certificate needs no
	// other witness.
	Cert string `json:"cert,omitempty"`
}

// announce writes where the server is.
func (a *App) announce(context.Context) error {
	if a.opt.Private {
		return nil
	}
	raw, err := json.Marshal(address{URL: a.URL(), Cert: a.cert})
	if err != nil {
		return err
	}
	return writePrivate(filepath.Join(a.cfg.Data, addressName), append(raw, '\n'))
}

func (a *App) withdraw() error {
	if a.opt.Private {
		return nil
	}
	err := os.Remove(filepath.Join(a.cfg.Data, addressName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Client returns a client of the app itself.
func (a *App) Client() *client.Client {
	transport := &http.Transport{}
	if a.inside != nil {
		transport.DialContext = a.inside.Dial
	}
	if a.cert != "" {
		transport.TLSClientConfig = pinned(a.cert)
	}
	return &client.Client{Base: a.URL(), Token: a.token, HTTP: &http.Client{Transport: transport}}
}

// Connect finds the server that runs over a data directory, or returns
// ErrNotRunning.
func Connect(ctx context.Context, dir string) (*client.Client, error) {
	raw, err := os.ReadFile(filepath.Join(dir, addressName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotRunning
	}
	if err != nil {
		return nil, fmt.Errorf("find the server: %w", err)
	}
	var at address
	if err := json.Unmarshal(raw, &at); err != nil || at.URL == "" {
		return nil, ErrNotRunning
	}
	token, err := os.ReadFile(filepath.Join(dir, tokenName))
	if err != nil {
		return nil, fmt.Errorf("read the token: %w", err)
	}
	transport := &http.Transport{}
	if at.Cert != "" {
		transport.TLSClientConfig = pinned(at.Cert)
	}
	c := &client.Client{Base: at.URL, Token: strings.TrimSpace(string(token)), HTTP: &http.Client{Transport: transport}}
	if err := c.Health(ctx); err != nil {
		return nil, ErrNotRunning
	}
	return c, nil
}

// pinned trusts one certificate, whatever name it is for: the address of a
// server on this machine is seldom in its certificate.
func pinned(sum string) *tls.Config {
	return &tls.Config{
		InsecureSkipVerify: true,
		MinVersion:         tls.VersionTLS12,
		VerifyConnection: func(s tls.ConnectionState) error {
			got := sha256.Sum256(s.PeerCertificates[0].Raw)
			if hex.EncodeToString(got[:]) != sum {
				return errors.New("the server shows another certificate than the one it started with")
			}
			return nil
		},
	}
}
