package netguard

import (
	"errors"
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	d := &Dialer{Allow: []string{"localhost:8080", "10.0.0.1"}}
	tests := []struct {
		name, raw, want string
		kind            Kind
	}{
		{"as it is", "https://example.org/a?b=c", "https://example.org/a?b=c", 0},
		{"one form", "HTTP://EXAMPLE.org.:80/a#part", "http://example.org/a", 0},
		{"a port", "https://example.org:8443", "https://example.org:8443", 0},
		{"an empty port", "https://example.org:/", "https://example.org/", 0},
		{"other letters", "https://bücher.example/ü?ü=\"<\u202e", "https://xn--bcher-kva.example/%C3%BC?%C3%BC=%22%3C%E2%80%AE", 0},
		{"a public address", "http://93.184.216.34/", "http://93.184.216.34/", 0},
		{"a public address as IPv6", "http://[::ffff:93.184.216.34]/", "http://93.184.216.34/", 0},
		{"IPv6", "http://[2606:2800:0::0:1]:80/", "http://[2606:2800::1]/", 0},
		{"an underscore", "http://a_b.example.org/", "http://a_b.example.org/", 0},
		{"allowed", "http://localhost:8080/", "http://localhost:8080/", 0},
		{"an allowed address", "http://10.0.0.1:9/", "http://10.0.0.1:9/", 0},

		{"localhost", "http://localhost/", "", Refused},
		{"below localhost", "http://a.LOCALHOST./", "", Refused},
		{"M4: loopback as IPv6", "http://[::ffff:127.0.0.1]/", "", Refused},
		{"M4: loopback as IPv6, in hexadecimal", "http://[::ffff:7f00:1]/", "", Refused},
		{"M4: a number in hexadecimal", "http://0x7f000001/", "", Invalid},
		{"a number", "http://2130706433/", "", Invalid},
		{"octal", "http://0177.0.0.1/", "", Invalid},
		{"few parts", "http://127.1/", "", Invalid},
		{"parts in hexadecimal", "http://0x7f.0.0.0x1/", "", Invalid},
		{"a part in hexadecimal without digits", "http://127.0.0.0x/", "", Invalid},
		{"upper case", "http://0X7F000001/", "", Invalid},
		{"loopback with a dot", "http://127.0.0.1./", "", Refused},
		{"wide digits", "http://１２７.0.0.1/", "", Refused},
		{"digits in circles", "http://①②⑦.⓪.⓪.①/", "", Refused},
		{"a wide dot", "http://127。0。0。1/", "", Refused},
		{"metadata", "http://169.254.169.254/latest", "", Refused},
		{"unspecified", "http://0.0.0.0/", "", Refused},
		{"unspecified, IPv6", "http://[::]/", "", Refused},
		{"a zone", "http://[fe80::1%25eth0]/", "", Invalid},
		{"a user", "http://user@example.org/", "", Invalid},
		{"a user that looks like a host", "http://example.org@127.0.0.1/", "", Invalid},
		{"a backslash", `http://example.org\@127.0.0.1/`, "", Invalid},
		{"a space", "http://example.org 127.0.0.1/", "", Invalid},
		{"a percent sign", "http://%31%32%37.0.0.1/", "", Invalid},
		{"a line end", "http://example.org/\r\nHost: x", "", Invalid},
		{"a file", "file:///etc/passwd", "", Invalid},
		{"another scheme", "gopher://example.org/", "", Invalid},
		{"no scheme", "example.org/", "", Invalid},
		{"no host", "http:///x", "", Invalid},
		{"a host only in the path", "http:example.org", "", Invalid},
		{"a port that is none", "http://example.org:99999/", "", Invalid},
		{"two dots", "http://example..org/", "", Invalid},
		{"nothing", "", "", Invalid},
		{"too long", "http://example.org/" + strings.Repeat("x", MaxURLBytes), "", Invalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			u, err := d.ParseURL(tt.raw)
			var e *Error
			switch {
			case tt.kind == 0 && err != nil:
				t.Errorf("refused: %v", err)
			case tt.kind == 0 && u.String() != tt.want:
				t.Errorf("read as %s, want %s", u, tt.want)
			case tt.kind != 0 && (!errors.As(err, &e) || e.Kind != tt.kind):
				t.Errorf("%v, %v; want kind %d", u, err, tt.kind)
			case tt.kind != 0 && len(err.Error()) > 500:
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}
