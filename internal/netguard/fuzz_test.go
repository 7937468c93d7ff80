package netguard

import (
	"context"
	"errors"
	"hash/fnv"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
)

// FuzzDial asks for URLs of every spelling through an ordinary HTTP transport.
// Names are resolved as a C library would read them, which takes 0x7f.1 for an
// address, or to addresses made from the name. No connection may be made to an
// address that the standard library knows to be special, whatever was asked for.
func FuzzDial(f *testing.F) {
	for _, s := range []string{
		"http://127.0.0.1/", "http://[::ffff:127.0.0.1]:8080/", "http://0x7f000001/", "http://0177.1/", "http://2130706433/",
		"http://127.0.0.1.:80/", "http://[fe80::1%25lo]/", "http://a@127.0.0.1/", "http://①②⑦.⓪.⓪.①/", "http://LOCALHOST/",
		"http://[64:ff9b::7f00:1]/", "https://example.org/", "http://[::]/", "http://0/", "http://%31/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		d := &Dialer{Resolver: careless{}, Dial: func(_ context.Context, _, address string) (net.Conn, error) {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				t.Errorf("%q is dialed as %q, which would be resolved again", raw, address)
			} else if knownSpecial(to.Addr()) {
				t.Errorf("%q connects to %s", raw, to)
			}
			return nil, errors.New("no network here")
		}}
		// As it is, by the transport's own reading of it.
		if req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, raw, http.NoBody); err == nil && req.URL.Host != "" {
			if resp, err := d.Transport().RoundTrip(req); err == nil {
				resp.Body.Close()
			}
		}
		u, err := d.ParseURL(raw)
		if err != nil {
			return
		}
		again, err := d.ParseURL(u.String())
		if err != nil || again.String() != u.String() {
			t.Errorf("%q has the form %s, and that %v (%v)", raw, u, again, err)
		}
	})
}

// careless resolves what it can take for an address, else anything.
type careless struct{}

func (careless) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if a, ok := asNumbers(host); ok {
		return []netip.Addr{a}, nil
	}
	h := fnv.New128a()
	h.Write([]byte(host))
	sum := [16]byte(h.Sum(nil))
	switch sum[0] % 3 {
	case 0:
		return []netip.Addr{netip.AddrFrom4([4]byte(sum[1:5]))}, nil
	case 1:
		return []netip.Addr{netip.AddrFrom16(sum)}, nil
	}
	inside := []string{"127.0.0.1", "::1", "::ffff:10.0.0.1", "fe80::1%eth0", "169.254.169.254", "64:ff9b::a00:1", "2002:7f00:1::", "fd00::1", "0.0.0.0"}
	return []netip.Addr{netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr(inside[int(sum[1])%len(inside)])}, nil
}

// asNumbers reads a host like inet_aton: up to four numbers in decimal, octal or
// hexadecimal, the last of which fills what is left.
func asNumbers(host string) (netip.Addr, bool) {
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var all uint32
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 0, 32)
		if err != nil {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			all |= uint32(n) << (24 - 8*i)
		} else {
			all |= uint32(n)
		}
	}
	return netip.AddrFrom4([4]byte{byte(all >> 24), byte(all >> 16), byte(all >> 8), byte(all)}), true
}

// knownSpecial is another opinion on what is not public.
func knownSpecial(a netip.Addr) bool {
	ip := net.IP(a.AsSlice())
	switch {
	case a.Zone() != "", ip.IsLoopback(), ip.IsPrivate(), ip.IsLinkLocalUnicast(), ip.IsLinkLocalMulticast(), ip.IsInterfaceLocalMulticast(),
		ip.IsMulticast(), ip.IsUnspecified(), !ip.IsGlobalUnicast():
		return true
	}
	if v4 := ip.To4(); v4 != nil {
		return v4[0] == 0 || v4[0] >= 224 || v4[0] == 100 && v4[1]&0xc0 == 64
	}
	// Forms that hold an address of IPv4 at a known place.
	for prefix, at := range map[string]int{"\x00\x64\xff\x9b\x00\x00\x00\x00\x00\x00\x00\x00": 12, "\x20\x02": 2, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00": 12} {
		if strings.HasPrefix(string(ip), prefix) && knownSpecial(netip.AddrFrom4([4]byte(ip[at:at+4]))) {
			return true
		}
	}
	return false
}
