package netguard

import (
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
)

// canonicalHost returns the one form of a host that is compared, shown and
// resolved: an address as netip writes it, or a name in lower case ASCII without
// the dot at its end. A host that some program would take for an address, but
// which isn't written as one, is invalid: 0x7f000001, 2130706433, 0177.0.0.1,
// 127.1.
func canonicalHost(raw string) (string, error) {
	if strings.Contains(raw, ":") {
		return canonicalAddr(raw, raw)
	}
	host := raw
	if !ascii(host) {
		mapped, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return "", &Error{Kind: Invalid, Host: raw, cause: err}
		}
		host = mapped
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	labels := strings.Split(host, ".")
	if numeric(labels[len(labels)-1]) {
		return canonicalAddr(raw, host)
	}
	if len(host) > 253 {
		return "", &Error{Kind: Invalid, Host: raw}
	}
	for _, l := range labels {
		if !label(l) {
			return "", &Error{Kind: Invalid, Host: raw}
		}
	}
	return host, nil
}

// canonicalAddr is strict about how an address is written, since netip is: four
// decimal numbers without zeros in front, or IPv6. A zone names a link of this
// machine, so it has no business here.
func canonicalAddr(raw, host string) (string, error) {
	a, err := netip.ParseAddr(host)
	if err != nil || a.Zone() != "" {
		return "", &Error{Kind: Invalid, Host: raw, cause: err}
	}
	return a.Unmap().String(), nil
}

// numeric reports whether the last label of a host makes it an address in the
// eyes of browsers and of C libraries. No top-level domain is like that.
func numeric(last string) bool {
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// label allows the underscore, which names in use have.
func label(s string) bool {
	if s == "" || len(s) > 63 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
