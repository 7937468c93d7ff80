package httpapi

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// authority is a host and a port as a client names them: lower case, an IPv6
// address without its brackets, the port empty where none was given.
type authority struct{ name, port string }

// parseAuthority reads a Host header or the host of an Origin. It is strict:
// what browsers never send (user names, empty ports, trailing dots, spaces,
// percent signs) is no authority.
func parseAuthority(s string) (authority, bool) {
	name, port := s, ""
	switch {
	case strings.HasPrefix(s, "["):
		inner, rest, ok := strings.Cut(s[1:], "]")
		if !ok || (rest != "" && rest[0] != ':') {
			return authority{}, false
		}
		a, err := netip.ParseAddr(inner)
		if err != nil || !a.Is6() || a.Zone() != "" || rest == ":" {
			return authority{}, false
		}
		name, port = a.String(), strings.TrimPrefix(rest, ":")
	case strings.Contains(s, ":"):
		name, port, _ = strings.Cut(s, ":")
		if port == "" {
			return authority{}, false
		}
		fallthrough
	default:
		if !isHostName(name) {
			return authority{}, false
		}
	}
	if port != "" && !isPort(port) {
		return authority{}, false
	}
	return authority{name: strings.ToLower(name), port: port}, true
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0 && s[0] != '0'
}

// isHostName accepts letters, digits, dash, underscore and inner dots.
func isHostName(s string) bool {
	if s == "" || len(s) > 253 || s[0] == '.' || s[len(s)-1] == '.' || strings.Contains(s, "..") {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// loopback reports that the name can only mean this machine. Names are not
// resolved: what they resolve to is what an attacker would choose.
func (a authority) loopback() bool {
	if a.name == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(a.name)
	return err == nil && ip.Unmap().IsLoopback()
}

// String writes the authority as it stands in a URL.
func (a authority) String() string {
	name := a.name
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	if a.port == "" {
		return name
	}
	return name + ":" + a.port
}

// withPort returns the authority with the port that the scheme implies.
func (a authority) withPort(scheme string) authority {
	if a.port == "" {
		a.port = "80"
		if scheme == "https" {
			a.port = "443"
		}
	}
	return a
}

// hostList holds the names under which the server answers besides loopback. A
// name without a port is good for any.
type hostList []authority

func newHostList(names []string) (hostList, error) {
	var l hostList
	for _, n := range names {
		a, ok := parseAuthority(n)
		if ip, err := netip.ParseAddr(n); err == nil && ip.Zone() == "" {
			// In a list an IPv6 address may stand without brackets.
			a, ok = authority{name: ip.String()}, true
		}
		if !ok {
			return nil, fmt.Errorf("allow_hosts: %q is no host name, address or host:port", n)
		}
		l = append(l, a)
	}
	return l, nil
}

func (l hostList) allows(host string) bool {
	a, ok := parseAuthority(host)
	if !ok {
		return false
	}
	if a.loopback() {
		return true
	}
	for _, h := range l {
		if h.name == a.name && (h.port == "" || h.port == a.port) {
			return true
		}
	}
	return false
}

// checkHost refuses names that are not the server's own: a page whose name was
// pointed at this machine after it was loaded still sends its own name. Both
// the name on the connection and the one a proxy passes on must be known.
func (g *gate) checkHost(e *entry) *Problem {
	if !g.hosts.allows(e.Host) || !g.hosts.allows(e.host) {
		return problem(Denied, "Verbatim does not answer under this host name; add it to allow_hosts if it should.")
	}
	return nil
}
