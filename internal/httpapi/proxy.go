package httpapi

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// proxyList holds the addresses whose X-Forwarded-Proto and X-Forwarded-Host
// are believed.
type proxyList []netip.Prefix

func newProxyList(entries []string) (proxyList, error) {
	var l proxyList
	for _, s := range entries {
		if a, err := netip.ParseAddr(s); err == nil {
			a = a.Unmap()
			l = append(l, netip.PrefixFrom(a, a.BitLen()))
			continue
		}
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, fmt.Errorf("trusted_proxies: %q is neither an address nor a range like 10.0.0.0/8", s)
		}
		l = append(l, p.Masked())
	}
	return l, nil
}

func (l proxyList) trusts(remote string) bool {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	a := ap.Addr().Unmap().WithZone("")
	for _, p := range l {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// address says how the client addressed the server: by what the connection
// shows, by what public says about its own host, or by what a trusted proxy
// says.
func (l proxyList) address(r *http.Request, public *origin) (scheme, host string) {
	scheme, host = "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	if a, ok := parseAuthority(host); ok && public != nil && a.withPort(public.scheme) == public.authority {
		scheme = public.scheme
	}
	if len(l) == 0 || !l.trusts(r.RemoteAddr) {
		return scheme, host
	}
	if s := strings.ToLower(last(r.Header, "X-Forwarded-Proto")); s == "http" || s == "https" {
		scheme = s
	}
	if h := last(r.Header, "X-Forwarded-Host"); h != "" {
		host = h
	}
	return scheme, host
}

// last returns the last entry of a list header: the one that the proxy next to
// us wrote, whatever the client had put before it.
func last(h http.Header, name string) string {
	values := h.Values(name)
	if len(values) == 0 {
		return ""
	}
	list := values[len(values)-1]
	return strings.TrimSpace(list[strings.LastIndexByte(list, ',')+1:])
}
