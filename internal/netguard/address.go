package netguard

import (
	"net/netip"
	"slices"
)

// Public reports whether an address belongs to the public internet: one that
// anybody's packets reach and that stands for a single host. An address with a
// zone is not public; one of IPv4 written as IPv6 counts as what it is.
func Public(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if a.Is4() {
		return !in(special4, a)
	}
	if translated.Contains(a) {
		b := a.As16()
		return Public(netip.AddrFrom4([4]byte(b[12:])))
	}
	return unicast6.Contains(a) && !in(special6, a)
}

func in(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

// unicast6 is all that IANA hands out to public hosts; everything else of IPv6
// is refused without being listed: loopback, unspecified, unique local,
// link-local, site-local, multicast, discard, addresses of IPv4 as ::a.b.c.d or
// ::ffff:0:a.b.c.d, local translation (64:ff9b:1::/48) and segment routing.
var unicast6 = netip.MustParsePrefix("2000::/3")

// translated holds all of IPv4 behind a public translator (RFC 6052). A network
// that has only IPv6 reaches public hosts by it, so what counts is the address
// inside.
var translated = netip.MustParsePrefix("64:ff9b::/96")

// special4 and special6 follow the registries of special-purpose addresses that
// IANA keeps (iana-ipv4-special-registry, iana-ipv6-special-registry), with
// multicast, as of 2026. A block is refused whole where only few of its
// addresses are public. Neither is ever written to.
var special4 = prefixes(
	"0.0.0.0/8",        // this network, RFC 791; many systems take 0.0.0.0 for themselves
	"10.0.0.0/8",       // private, RFC 1918
	"100.64.0.0/10",    // shared by carriers, RFC 6598
	"127.0.0.0/8",      // loopback, RFC 1122
	"168.63.129.16/32", // a host's own agent in one large cloud: public by number only
	"169.254.0.0/16",   // link-local, RFC 3927; metadata of most clouds
	"172.16.0.0/12",    // private, RFC 1918
	"192.0.0.0/24",     // protocol assignments, RFC 6890
	"192.0.2.0/24",     // documentation, RFC 5737
	"192.88.99.0/24",   // 6to4 relays, RFC 7526
	"192.168.0.0/16",   // private, RFC 1918
	"198.18.0.0/15",    // benchmarks, RFC 2544
	"198.51.100.0/24",  // documentation, RFC 5737
	"203.0.113.0/24",   // documentation, RFC 5737
	"224.0.0.0/4",      // multicast, RFC 5771
	"240.0.0.0/4",      // reserved, RFC 1112, and broadcast
)

var special6 = prefixes(
	"2001::/23",     // protocol assignments, RFC 2928, with Teredo, which holds IPv4
	"2001:db8::/32", // documentation, RFC 3849
	"2002::/16",     // 6to4, RFC 3056: holds IPv4
	"3fff::/20",     // documentation, RFC 9637
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}
