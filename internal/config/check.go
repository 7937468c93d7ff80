package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// check finds what no single value's own rule finds.
func (l *loader) check() []Problem {
	var found []Problem
	for _, rule := range []struct {
		key string
		try func(*Config) error
	}{
		{"addr", checkAddr},
		{"tls_cert", checkTLS},
		{"addr", checkBind},
		{"public_url", checkPublicURL},
		{"base_url", checkBaseURL},
		{"base_path", checkBasePath},
		{"allow_hosts", checkHosts},
		{"allow_origins", checkOrigins},
		{"trusted_proxies", checkProxies},
	} {
		if err := rule.try(&l.Config); err != nil {
			found = append(found, Problem{Where: l.where(rule.key), What: err.Error()})
		}
	}
	return found
}

// where says where a key was set, or names the key when it is at its default.
func (l *loader) where(key string) string {
	if from, ok := l.From[key]; ok {
		return from
	}
	return key
}

func checkAddr(c *Config) error {
	_, port, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return fmt.Errorf("want an address of the form host:port, got %q", c.Addr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("want a port from 0 to 65535, got %q", port)
	}
	return nil
}

func checkTLS(c *Config) error {
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return errors.New("tls_cert and tls_key belong together; one of them is missing")
	}
	return nil
}

// checkBind keeps the port closed to the network unless somebody said that it
// may be open: whoever reads the token off an unencrypted line owns the agent.
func checkBind(c *Config) error {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil || c.TLSCert != "" || c.InsecureListen || Loopback(host) {
		return nil //nolint:nilerr // checkAddr reports an address that can't be read
	}
	return fmt.Errorf("%s can be reached from other machines; set tls_cert and tls_key, or pass --insecure-listen if something else protects it", c.Addr)
}

// Loopback reports whether a host, without port, is only reachable from this
// machine. An empty host is every address of the machine.
func Loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

func checkPublicURL(c *Config) error {
	if c.PublicURL == "" {
		return nil
	}
	u, err := url.Parse(c.PublicURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return fmt.Errorf("want an address such as https://chat.example.org, got %q", c.PublicURL)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return fmt.Errorf("want scheme and host only (a path belongs to base_path), got %q", u.Redacted())
	}
	return nil
}

func checkBaseURL(c *Config) error {
	if c.BaseURL == "" {
		return nil
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return fmt.Errorf("want an address such as http://127.0.0.1:8080/v1, got %q", c.BaseURL)
	}
	if u.User != nil {
		return errors.New("an address with a name and password in it is not used; put the key in api_key")
	}
	return nil
}

func checkBasePath(c *Config) error {
	p := c.BasePath
	if p == "" {
		return nil
	}
	if !strings.HasPrefix(p, "/") || strings.HasSuffix(p, "/") || strings.Contains(p, "//") || strings.ContainsAny(p, "?#{} \\") {
		return fmt.Errorf("want a path such as /chat, got %q", p)
	}
	return nil
}

func checkHosts(c *Config) error {
	for _, h := range c.AllowHosts {
		if _, err := netip.ParseAddr(h); err == nil {
			continue
		}
		if h == "" || strings.ContainsAny(h, "/:@*? ") {
			return fmt.Errorf("want a host name without scheme, port or wildcard, got %q", h)
		}
	}
	return nil
}

func checkOrigins(c *Config) error {
	for _, o := range c.AllowOrigins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != o {
			return fmt.Errorf("want an origin of the form scheme://host[:port], got %q", o)
		}
	}
	return nil
}

func checkProxies(c *Config) error {
	for _, p := range c.TrustedProxies {
		if _, err := netip.ParsePrefix(p); err == nil {
			continue
		}
		if _, err := netip.ParseAddr(p); err != nil {
			return fmt.Errorf("want an address or a network such as 10.0.0.0/8, got %q", p)
		}
	}
	return nil
}
