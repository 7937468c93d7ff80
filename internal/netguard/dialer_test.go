package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// names resolves each name to the next of its answers; the last one stays.
type names map[string][][]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	answers, ok := n[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, Server: "10.9.9.9:53", IsNotFound: true}
	}
	if len(answers) > 1 {
		n[host] = answers[1:]
	}
	var out []netip.Addr
	for _, s := range answers[0] {
		out = append(out, netip.MustParseAddr(s))
	}
	return out, nil
}

// dials notes where it is asked to connect to, and fails for some of it.
type dials struct {
	to   []string
	fail map[string]error
}

func (d *dials) dial(_ context.Context, _, address string) (net.Conn, error) {
	d.to = append(d.to, address)
	if err := d.fail[address]; err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	far.Close()
	return near, nil
}

func TestDialer(t *testing.T) {
	t.Parallel()
	resolver := names{
		"public.example": {{"93.184.216.34", "2606:2800::1"}},
		"mapped.example": {{"::ffff:93.184.216.34"}},
		"inside.example": {{"10.1.2.3"}},
		"half.example":   {{"93.184.216.34", "127.0.0.1"}},
		"none.example":   {{}},
		"wiki.lan":       {{"192.168.1.20"}},
		"other.lan":      {{"192.168.1.20"}},
	}
	refusedDial := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(93, 184, 216, 34), Port: 80}, Err: errors.New("connection refused")}
	tests := []struct {
		name, network, address string
		allow                  []string
		fail                   map[string]error
		to                     []string
		kind                   Kind
	}{
		{"a name", "tcp", "public.example:443", nil, nil, []string{"93.184.216.34:443"}, 0},
		{"upper case and a dot", "tcp", "PUBLIC.example.:443", nil, nil, []string{"93.184.216.34:443"}, 0},
		{"an address", "tcp", "93.184.216.34:80", nil, nil, []string{"93.184.216.34:80"}, 0},
		{"an address of IPv6", "tcp6", "[2606:2800::1]:80", nil, nil, []string{"[2606:2800::1]:80"}, 0},
		{"IPv4 as IPv6", "tcp", "mapped.example:80", nil, nil, []string{"93.184.216.34:80"}, 0},
		{"the second address", "tcp", "public.example:80", nil, map[string]error{"93.184.216.34:80": refusedDial}, []string{"93.184.216.34:80", "[2606:2800::1]:80"}, 0},
		{"no address answers", "tcp", "93.184.216.34:80", nil, map[string]error{"93.184.216.34:80": refusedDial}, []string{"93.184.216.34:80"}, Unreachable},
		{"a name inside", "tcp", "inside.example:80", nil, nil, nil, Refused},
		{"a name half inside", "tcp", "half.example:80", nil, nil, nil, Refused},
		{"loopback", "tcp", "127.0.0.1:80", nil, nil, nil, Refused},
		{"loopback as IPv6", "tcp", "[::ffff:127.0.0.1]:80", nil, nil, nil, Refused},
		{"a zone", "tcp", "[fe80::1%eth0]:80", nil, nil, nil, Invalid},
		{"hexadecimal", "tcp", "0x7f000001:80", nil, nil, nil, Invalid},
		{"a port by name", "tcp", "public.example:http", nil, nil, nil, Invalid},
		{"no port", "tcp", "public.example", nil, nil, nil, Invalid},
		{"another network", "udp", "public.example:53", nil, nil, nil, Invalid},
		{"no such host", "tcp", "nowhere.example:80", nil, nil, nil, Unknown},
		{"no addresses", "tcp", "none.example:80", nil, nil, nil, Unknown},
		{"allowed by name", "tcp", "wiki.lan:80", []string{"Wiki.LAN."}, nil, []string{"192.168.1.20:80"}, 0},
		{"allowed by name and port", "tcp", "wiki.lan:8080", []string{"wiki.lan:8080"}, nil, []string{"192.168.1.20:8080"}, 0},
		{"allowed on another port", "tcp", "wiki.lan:80", []string{"wiki.lan:8080"}, nil, nil, Refused},
		{"another name of what is allowed", "tcp", "other.lan:80", []string{"wiki.lan", "192.168.1.20"}, nil, nil, Refused},
		{"an allowed address", "tcp", "[::1]:80", []string{"::1"}, nil, []string{"[::1]:80"}, 0},
		{"an allowed address and port", "tcp", "[::1]:80", []string{"[::1]:80"}, nil, []string{"[::1]:80"}, 0},
		{"allowed by a broken entry", "tcp", "127.0.0.1:80", []string{"", "*", "127.0.0.1:", "http://127.0.0.1"}, nil, nil, Refused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := &dials{fail: tt.fail}
			d := &Dialer{Allow: tt.allow, Resolver: resolver, Dial: rec.dial}
			conn, err := d.DialContext(t.Context(), tt.network, tt.address)
			if conn != nil {
				conn.Close()
			}
			if diff := cmp.Diff(tt.to, rec.to); diff != "" {
				t.Errorf("connections (-want +got):\n%s", diff)
			}
			var e *Error
			switch {
			case tt.kind == 0 && err != nil:
				t.Errorf("the error is %v", err)
			case tt.kind != 0 && (!errors.As(err, &e) || e.Kind != tt.kind):
				t.Errorf("the error is %v, want kind %d", err, tt.kind)
			}
			for _, secret := range []string{"10.1.2.3", "10.9.9.9", "192.168.1.20"} {
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("the error tells an address: %v", err)
				}
			}
		})
	}
}

// A name that is public when it is checked and private when it is looked up
// again is looked up once.
func TestM4Rebinding(t *testing.T) {
	t.Parallel()
	rec := &dials{}
	d := &Dialer{Resolver: names{"rebind.example": {{"93.184.216.34"}, {"127.0.0.1"}}}, Dial: rec.dial}
	conn, err := d.DialContext(t.Context(), "tcp", "rebind.example:80")
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if _, err = d.DialContext(t.Context(), "tcp", "rebind.example:80"); err == nil {
		t.Error("the private address was taken")
	}
	if diff := cmp.Diff([]string{"93.184.216.34:80"}, rec.to); diff != "" {
		t.Errorf("connections (-want +got):\n%s", diff)
	}
}

// The addresses of a name share the time, so one that never answers leaves some
// to the others.
func TestDialerTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var tried []string
		d := &Dialer{
			Resolver: names{"slow.example": {{"1.0.0.1", "1.0.0.2"}}},
			Dial: func(ctx context.Context, _, address string) (net.Conn, error) {
				<-ctx.Done()
				tried = append(tried, fmt.Sprint(address, " ", time.Since(begun)))
				return nil, ctx.Err()
			},
		}
		_, err := d.DialContext(t.Context(), "tcp", "slow.example:80")
		var e *Error
		if !errors.As(err, &e) || e.Kind != Late {
			t.Errorf("the error is %v", err)
		}
		if diff := cmp.Diff([]string{"1.0.0.1:80 5s", "1.0.0.2:80 10s"}, tried); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := d.DialContext(ctx, "tcp", "slow.example:80"); !errors.Is(err, context.Canceled) {
			t.Errorf("a dial that was cancelled ends with %v", err)
		}
	})
}

func TestCheckAllow(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"wiki", "wiki.example.org", "wiki.example.org:8080", "192.168.1.20", "192.168.1.20:80", "::1", "[::1]", "[::1]:80", "bücher.example"} {
		if err := CheckAllow(entry); err != nil {
			t.Errorf("%s: %v", entry, err)
		}
	}
	for _, entry := range []string{"", "*", "*.example.org", "http://wiki", "wiki/x", "wiki:", "wiki:0", "wiki:http", "wiki:70000", "10.0.0.0/8", "0x7f.1", "[::1", "fe80::1%eth0", " wiki"} {
		if CheckAllow(entry) == nil {
			t.Errorf("%q is taken", entry)
		}
	}
}
