package netguard

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// MaxURLBytes is how long a URL may be.
const MaxURLBytes = 8 << 10

// defaultPorts of the schemes that are known. It is never written to.
var defaultPorts = map[string]uint16{"http": 80, "https": 443}

// ParseURL reads an absolute http or https URL and returns its one form: the
// host as it is resolved, no port where it is the scheme's own, no fragment, ASCII throughout. It
// looks nothing up, but refuses what can't be right whatever a look-up says: a
// host that is an address which is not public, credentials, a spelling that
// programs read differently. The error is an *Error.
func (d *Dialer) ParseURL(raw string) (*url.URL, error) {
	u, err := parse(raw)
	if err != nil {
		return nil, &Error{Kind: Invalid, Host: shorten(raw)}
	}
	host, err := canonicalHost(u.Hostname())
	if err != nil {
		return nil, err
	}
	own := defaultPorts[u.Scheme]
	port := own
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return nil, &Error{Kind: Invalid, Host: shorten(u.Host)}
		}
		port = uint16(n)
	}
	if !d.allowed(host, port) && local(host) {
		return nil, &Error{Kind: Refused, Host: host}
	}
	u.Host = join(host, port, own)
	u.Fragment, u.RawFragment = "", ""
	u.RawQuery = escapeQuery(u.RawQuery)
	return u, nil
}

// escapeQuery writes what may not stand in a query as browsers do. The package
// url does that for paths only.
func escapeQuery(q string) string {
	var b strings.Builder
	for i := range len(q) {
		if c := q[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"<>`, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// parse returns what has the shape of a URL that can be asked for.
func parse(raw string) (*url.URL, error) {
	if len(raw) > MaxURLBytes {
		return nil, url.InvalidHostError("")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, err
	}
	if _, ok := defaultPorts[u.Scheme]; !ok || u.Opaque != "" || u.User != nil || u.Hostname() == "" {
		return nil, url.InvalidHostError(u.Host)
	}
	return u, nil
}

// local reports whether a host, without any look-up, can't be public.
func local(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return !Public(a)
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

func join(host string, port, own uint16) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port == own {
		return host
	}
	return host + ":" + strconv.Itoa(int(port))
}

// shorten keeps errors readable. The whole is in the hands of those who asked.
func shorten(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
