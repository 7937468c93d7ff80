package netguard

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// CheckAllow returns an error, a sentence for who wrote it, if an entry of
// Dialer.Allow is not well formed.
func CheckAllow(entry string) error {
	if _, _, ok := readAllow(entry); !ok {
		return fmt.Errorf("%q is not a host or host:port; write a name or an address without scheme and path, such as wiki.example.org or 192.168.1.20:8080", entry)
	}
	return nil
}

func (d *Dialer) allowed(host string, port uint16) bool {
	return slices.ContainsFunc(d.Allow, func(entry string) bool {
		h, p, ok := readAllow(entry)
		return ok && h == host && (p == 0 || p == port)
	})
}

// readAllow returns the host of an entry in its one form and its port, 0 for all.
func readAllow(entry string) (host string, port uint16, ok bool) {
	raw, number := splitAllow(entry)
	if number != nil {
		n, err := strconv.ParseUint(*number, 10, 16)
		if err != nil || n == 0 {
			return "", 0, false
		}
		port = uint16(n)
	}
	host, err := canonicalHost(raw)
	return host, port, err == nil
}

// splitAllow returns the host and, if the entry has one, the port. More than one
// colon without brackets is an address of IPv6 alone.
func splitAllow(entry string) (host string, port *string) {
	if inner, ok := strings.CutPrefix(entry, "["); ok && strings.HasSuffix(inner, "]") {
		return strings.TrimSuffix(inner, "]"), nil
	}
	if !strings.HasPrefix(entry, "[") && strings.Count(entry, ":") != 1 {
		return entry, nil
	}
	host, number, err := net.SplitHostPort(entry)
	if err != nil {
		return "", nil
	}
	return host, &number
}
