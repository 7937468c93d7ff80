// Package netguard connects to public addresses on behalf of somebody who may
// name any address: a model that fetches a page, a person who enters a webhook.
//
// Guarantee: a connection that a Dialer makes goes to a public address, or to a
// host that was allowed by its name. A name is resolved once, every address that
// it has is checked, and the connection is made to a checked address itself, so
// that an answer which changes between two look-ups changes nothing. No error
// tells which address a name has.
//
// Not promised: that a public address leads nowhere private. Somebody's public
// gateway may forward into a network of theirs, a provider may translate
// addresses by a prefix of its own, and this machine's own public address is
// public. A proxy resolves names by itself, so none may be put in between.
package netguard

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// DefaultTimeout is how long a connection may take to be made.
const DefaultTimeout = 10 * time.Second

// maxAddresses is how many addresses of a name are tried. A name that has more
// is still checked as a whole.
const maxAddresses = 8

// Resolver finds the addresses of a host name; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Dialer makes connections to public addresses. The zero value is ready to use.
// Its fields must not change once it is used; it is then safe for concurrent
// use.
type Dialer struct {
	// Allow lists hosts that are reached whatever their addresses are, as
	// "host" for all ports or "host:port" for one. A host is a name or an
	// address; the name must be the one that is asked for, an address that
	// another name has is not allowed by it. CheckAllow tells whether an entry
	// is well formed; one that is not allows nothing.
	Allow []string
	// Resolver finds addresses; net.DefaultResolver if nil.
	Resolver Resolver
	// Timeout bounds the look-up and all attempts to connect together;
	// DefaultTimeout if zero.
	Timeout time.Duration
	// Dial connects to an address and port that were checked; a net.Dialer if
	// nil.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// DialContext connects to "host:port" over "tcp", "tcp4" or "tcp6". It is what
// an http.Transport wants as its DialContext. The error is an *Error, or ctx's
// own if that ended.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	lookup, ok := networks[network]
	if !ok {
		return nil, &Error{Kind: Invalid, Host: address}
	}
	host, port, err := splitHostPort(address)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, d.timeout())
	defer cancel()
	addrs, err := d.lookup(limited, lookup, host)
	if err == nil && !d.allowed(host, port) && slices.ContainsFunc(addrs, notPublic) {
		return nil, &Error{Kind: Refused, Host: host}
	}
	var conn net.Conn
	if err == nil {
		conn, err = d.first(limited, network, addrs, port)
	}
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	default:
		return nil, explain(host, err)
	}
}

// networks are those that a Dialer knows, with what to look up for each. It is
// never written to.
var networks = map[string]string{"tcp": "ip", "tcp4": "ip4", "tcp6": "ip6"}

// Transport returns a transport of its own that connects through d: without
// proxy, connections kept or cookies, and with headers of at most 100 KiB. Each
// request thus has its address checked anew.
func (d *Dialer) Transport() *http.Transport {
	return &http.Transport{
		DialContext:            d.DialContext,
		DisableKeepAlives:      true,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: 100 << 10,
		TLSHandshakeTimeout:    d.timeout(),
	}
}

func (d *Dialer) timeout() time.Duration {
	if d.Timeout > 0 {
		return d.Timeout
	}
	return DefaultTimeout
}

// lookup returns all addresses of a host, at least one. It resolves once; an
// address is its own answer.
func (d *Dialer) lookup(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	var r Resolver = net.DefaultResolver
	if d.Resolver != nil {
		r = d.Resolver
	}
	addrs, err := r.LookupNetIP(ctx, network, host)
	if err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, &Error{Kind: Unknown, Host: host}
	}
	plain := make([]netip.Addr, len(addrs))
	for i, a := range addrs {
		plain[i] = a.Unmap()
	}
	return plain, nil
}

// first connects to the first address that takes the connection. Each gets an
// equal share of the time that is left.
func (d *Dialer) first(ctx context.Context, network string, addrs []netip.Addr, port uint16) (net.Conn, error) {
	addrs = addrs[:min(len(addrs), maxAddresses)]
	var first error
	for i, a := range addrs {
		conn, err := d.dial(ctx, network, netip.AddrPortFrom(a, port), len(addrs)-i)
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

func (d *Dialer) dial(ctx context.Context, network string, to netip.AddrPort, left int) (net.Conn, error) {
	if end, ok := ctx.Deadline(); ok {
		share, cancel := context.WithTimeout(ctx, time.Until(end)/time.Duration(left))
		defer cancel()
		ctx = share
	}
	if d.Dial != nil {
		return d.Dial(ctx, network, to.String())
	}
	var plain net.Dialer
	return plain.DialContext(ctx, network, to.String())
}

func notPublic(a netip.Addr) bool { return !Public(a) }

// splitHostPort is strict where net.SplitHostPort and the dialer are not: the
// port is a number, the host is in its one form.
func splitHostPort(address string) (host string, port uint16, err error) {
	raw, number, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, &Error{Kind: Invalid, Host: address}
	}
	host, err = canonicalHost(raw)
	if err != nil {
		return "", 0, err
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || n == 0 {
		return "", 0, &Error{Kind: Invalid, Host: address}
	}
	return host, uint16(n), nil
}

// explain makes an error of a look-up or a connection one that tells nothing of
// the address.
func explain(host string, err error) error {
	var own *Error
	var dns *net.DNSError
	var late net.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &dns) && dns.IsNotFound:
		return &Error{Kind: Unknown, Host: host, cause: err}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &late) && late.Timeout():
		return &Error{Kind: Late, Host: host, cause: err}
	default:
		return &Error{Kind: Unreachable, Host: host, cause: err}
	}
}
