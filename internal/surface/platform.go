package surface

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// ErrGone means that a message is not on the platform any more.
var ErrGone = errors.New("the message is gone")

// Platform is a line in the table of platforms.
type Platform struct {
	// Name is how verbatim.yaml names it.
	Name string
	// Doc is a sentence for the reference page.
	Doc string
	// Keys returns a pointer to a new struct of the platform's own keys: see
	// Setup.Keys.
	Keys func() any
	// New makes a surface. It makes no request. Its error says what is wrong
	// with which key.
	New func(s Setup) (Surface, error)
}

// Setup is what a surface is made of.
type Setup struct {
	// Name is that of the surface in verbatim.yaml: [A-Za-z0-9_-]{1,32}.
	Name string
	// Keys is what Platform.Keys returned, filled in. Its fields carry the
	// tags yaml (the name), doc (a sentence), default, and secret:"true" for
	// what may also be given as <name>_env or <name>_file and is never
	// printed; their types are string, bool, int, time.Duration, []string, and
	// structs of these.
	Keys any
	// Client is for calls to addresses that a person configured by name
	// (private networks included), Guarded for those that must be on the
	// public internet. Both follow no redirects and retry nothing.
	Client, Guarded *http.Client
	// PublicURL is where the world reaches this server's base path, empty if
	// that is not known.
	PublicURL string
	// Now is the clock.
	Now    func() time.Time
	Logger *slog.Logger
}

// NotWritten reports whether an error of an HTTP call shows that the platform
// can't have read a request: the connection was never made.
func NotWritten(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true
	}
	_, dns := errors.AsType[*net.DNSError](err)
	return dns
}
