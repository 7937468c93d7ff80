package httpapi

import (
	"net/http"
	"strings"
	"testing"
)

const goodBody = `{"prompt":"hi"}`

type header = map[string]string

// TestM1M2Gate is the table of who gets in. A row without a kind gets in.
func TestM1M2Gate(t *testing.T) {
	evil := "https://evil.example"
	rows := []struct {
		name string
		ask  ask
		kind Kind
	}{
		// The key.
		{"token", ask{method: "GET", path: "/chats"}, ""},
		{"token in another case of bearer", ask{method: "GET", path: "/chats", header: header{"Authorization": "bearer " + testToken}}, ""},
		{"no token", ask{method: "POST", path: "/chat", body: goodBody, noToken: true}, Unauthenticated},
		{"no token on GET", ask{method: "GET", path: "/chats", noToken: true}, Unauthenticated},
		{"no token on settings", ask{method: "GET", path: "/settings", noToken: true}, Unauthenticated},
		{"no token on metrics", ask{method: "GET", path: "/metrics", noToken: true}, Unauthenticated},
		{"no token on link", ask{method: "POST", path: "/link", noToken: true}, Unauthenticated},
		{"no token on what is not there", ask{method: "GET", path: "/no/such/route", noToken: true}, Unauthenticated},
		{"no token on another method of an open path", ask{method: "POST", path: "/health", noToken: true}, Unauthenticated},
		{"wrong token", ask{method: "GET", path: "/chats", header: header{"Authorization": "Bearer nope"}}, Unauthenticated},
		{"token with a space after it", ask{method: "GET", path: "/chats", header: header{"Authorization": "Bearer " + testToken + " "}}, Unauthenticated},
		{"beginning of the token", ask{method: "GET", path: "/chats", header: header{"Authorization": "Bearer " + testToken[:8]}}, Unauthenticated},
		{"empty token", ask{method: "GET", path: "/chats", header: header{"Authorization": "Bearer "}}, Unauthenticated},
		{"token as basic", ask{method: "GET", path: "/chats", header: header{"Authorization": "Basic " + testToken}}, Unauthenticated},
		{"token in the query", ask{method: "GET", path: "/chats?token=" + testToken, noToken: true}, Unauthenticated},

		// The host.
		{"localhost", ask{method: "GET", path: "/chats", host: "localhost:4747"}, ""},
		{"localhost in capitals", ask{method: "GET", path: "/chats", host: "LocalHost:4747"}, ""},
		{"localhost without a port", ask{method: "GET", path: "/chats", host: "localhost"}, ""},
		{"another loopback address", ask{method: "GET", path: "/chats", host: "127.8.9.1:4747"}, ""},
		{"IPv6 loopback", ask{method: "GET", path: "/chats", host: "[::1]:4747"}, ""},
		{"IPv6 loopback written out", ask{method: "GET", path: "/chats", host: "[0:0:0:0:0:0:0:1]:4747"}, ""},
		{"rebound host on health", ask{method: "GET", path: "/health", host: "evil.example:4747", noToken: true}, Denied},
		{"rebound host on the page", ask{method: "GET", path: "/", host: "evil.example:4747", noToken: true}, Denied},
		{"rebound host on the launch link", ask{method: "GET", path: "/launch?code=x", host: "evil.example:4747", noToken: true}, Denied},
		{"rebound host with token", ask{method: "GET", path: "/chats", host: "evil.example:4747"}, Denied},
		{"rebound host and origin", ask{method: "POST", path: "/chat", body: goodBody, host: "evil.example:4747", header: header{"Origin": "http://evil.example:4747"}}, Denied},
		{"empty host", ask{method: "GET", path: "/chats", host: " "}, Denied},
		{"host that begins like loopback", ask{method: "GET", path: "/chats", host: "127.0.0.1.evil.example:4747"}, Denied},
		{"host that ends like localhost", ask{method: "GET", path: "/chats", host: "evil.localhost:4747"}, Denied},
		{"user name in the host", ask{method: "GET", path: "/chats", host: "127.0.0.1@evil.example"}, Denied},
		{"loopback as the user name", ask{method: "GET", path: "/chats", host: "127.0.0.1:4747@evil.example:80"}, Denied},
		{"trailing dot", ask{method: "GET", path: "/chats", host: "localhost.:4747"}, Denied},
		{"all interfaces", ask{method: "GET", path: "/chats", host: "0.0.0.0:4747"}, Denied},
		{"IPv6 without brackets", ask{method: "GET", path: "/chats", host: "::1"}, Denied},
		{"IPv6 zone", ask{method: "GET", path: "/chats", host: "[::1%25lo]:4747"}, Denied},
		{"IPv6 with a tail", ask{method: "GET", path: "/chats", host: "[::1]evil.example"}, Denied},
		{"IPv6 of everybody", ask{method: "GET", path: "/chats", host: "[::]:4747"}, Denied},
		{"short form of loopback", ask{method: "GET", path: "/chats", host: "127.1:4747"}, Denied},
		{"loopback as a number", ask{method: "GET", path: "/chats", host: "2130706433"}, Denied},
		{"port that is none", ask{method: "GET", path: "/chats", host: "localhost:http"}, Denied},
		{"empty port", ask{method: "GET", path: "/chats", host: "localhost:"}, Denied},
		{"port out of range", ask{method: "GET", path: "/chats", host: "localhost:65536"}, Denied},

		// The origin.
		{"its own page", ask{method: "POST", path: "/chat", body: goodBody, header: header{"Origin": "http://127.0.0.1:4747", "Sec-Fetch-Site": "same-origin"}}, ""},
		{"its own page by localhost", ask{method: "POST", path: "/chat", body: goodBody, host: "localhost:4747", header: header{"Origin": "http://localhost:4747"}}, ""},
		{"its own page by IPv6", ask{method: "GET", path: "/chats", host: "[::1]:4747", header: header{"Origin": "http://[::1]:4747"}}, ""},
		{"default port left out of the origin", ask{method: "GET", path: "/chats", host: "localhost:80", header: header{"Origin": "http://localhost"}}, ""},
		{"foreign origin", ask{method: "POST", path: "/chat", body: goodBody, header: header{"Origin": evil}}, Denied},
		{"foreign origin on GET", ask{method: "GET", path: "/chats", header: header{"Origin": evil}}, Denied},
		{"foreign origin on health", ask{method: "GET", path: "/health", header: header{"Origin": evil}}, Denied},
		{"foreign origin before an upgrade (M3)", ask{method: "GET", path: "/device", header: header{"Origin": evil, "Connection": "Upgrade", "Upgrade": "websocket"}}, Denied},
		{"null origin", ask{method: "POST", path: "/chat", body: goodBody, header: header{"Origin": "null"}}, Denied},
		{"look-alike origin", ask{method: "POST", path: "/chat", body: goodBody, header: header{"Origin": "http://127.0.0.1.evil.example:4747"}}, Denied},
		{"another port of this machine", ask{method: "POST", path: "/chat", body: goodBody, header: header{"Origin": "http://127.0.0.1:9999"}}, Denied},
		{"the other name of this machine", ask{method: "POST", path: "/chat", body: goodBody, header: header{"Origin": "http://localhost:4747"}}, Denied},
		{"another scheme", ask{method: "POST", path: "/chat", body: goodBody, header: header{"Origin": "https://127.0.0.1:4747"}}, Denied},
		{"origin with a path", ask{method: "POST", path: "/chat", body: goodBody, header: header{"Origin": "http://127.0.0.1:4747/"}}, Denied},
		{"origin with a user", ask{method: "POST", path: "/chat", body: goodBody, header: header{"Origin": "http://127.0.0.1:4747@evil.example"}}, Denied},
		{"origin of an extension", ask{method: "GET", path: "/chats", header: header{"Origin": "chrome-extension://abcdef"}}, Denied},
		{"origin of a file", ask{method: "GET", path: "/chats", header: header{"Origin": "file://"}}, Denied},

		// What the browser says about the site.
		{"typed by hand", ask{method: "GET", path: "/", noToken: true, header: header{"Sec-Fetch-Site": "none"}}, ""},
		{"cross-site", ask{method: "POST", path: "/chat", body: goodBody, header: header{"Sec-Fetch-Site": "cross-site"}}, Denied},
		{"cross-site picture", ask{method: "GET", path: "/chats", header: header{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}}, Denied},
		{"another port of this machine, GET", ask{method: "GET", path: "/chats", header: header{"Sec-Fetch-Site": "same-site"}}, Denied},
		{"a site nobody knows", ask{method: "GET", path: "/chats", header: header{"Sec-Fetch-Site": "moon"}}, Denied},
		{"followed a link to the page", ask{method: "GET", path: "/", noToken: true, header: header{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}}, ""},
		{"framed the page", ask{method: "GET", path: "/", noToken: true, header: header{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}}, Denied},
		{"followed a link to the chats", ask{method: "GET", path: "/chats", header: header{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}}, Denied},
		{"posted a form to the page", ask{method: "POST", path: "/", body: goodBody, header: header{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}}, Denied},

		// The content type.
		{"JSON as UTF-8", ask{method: "POST", path: "/chat", body: goodBody, header: header{"Content-Type": "application/json; charset=UTF-8"}}, ""},
		{"text from another page", ask{method: "POST", path: "/chat", body: goodBody, header: header{"Content-Type": "text/plain", "Origin": evil}}, Denied},
		{"text", ask{method: "POST", path: "/chat", body: goodBody, header: header{"Content-Type": "text/plain"}}, ContentType},
		{"text that says JSON", ask{method: "POST", path: "/chat", body: goodBody, header: header{"Content-Type": "text/plain; application/json"}}, ContentType},
		{"form", ask{method: "POST", path: "/chat", body: "prompt=hi", header: header{"Content-Type": "application/x-www-form-urlencoded"}}, ContentType},
		{"form without a body", ask{method: "POST", path: "/cancel/r1", header: header{"Content-Type": "application/x-www-form-urlencoded"}}, ContentType},
		{"body without a type", ask{method: "POST", path: "/chat", body: goodBody, header: header{"Content-Type": "-"}}, ContentType},
		{"JSON in another encoding", ask{method: "POST", path: "/chat", body: goodBody, header: header{"Content-Type": "application/json; charset=utf-16"}}, ContentType},
		{"no body, no type", ask{method: "POST", path: "/cancel/r1"}, ""},

		// The size.
		{"a very long address", ask{method: "GET", path: "/chats?" + strings.Repeat("x", MaxURLBytes)}, Invalid},

		// Open without a key.
		{"health", ask{method: "GET", path: "/health", noToken: true}, ""},
		{"healthz", ask{method: "GET", path: "/healthz", noToken: true}, ""},
		{"readyz", ask{method: "GET", path: "/readyz", noToken: true}, ""},
		{"page", ask{method: "GET", path: "/", noToken: true}, ""},
		{"script", ask{method: "GET", path: "/assets/app.js", noToken: true}, ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w, api := newWorld(t, nil)
			rec := row.ask.of(api)
			if row.kind == "" {
				if rec.Code != http.StatusOK {
					t.Errorf("status = %d %s, want 200", rec.Code, rec.Body)
				}
				return
			}
			wantError(t, rec, row.kind)
			if len(w.calls) > 0 {
				t.Errorf("a refused request did %v", w.calls)
			}
			if rec.Header().Get("Access-Control-Allow-Origin") != "" {
				t.Error("a refused page may read the answer")
			}
		})
	}
}

func TestChallengeNamesBearer(t *testing.T) {
	_, api := newWorld(t, nil)
	rec := ask{method: "GET", path: "/chats", noToken: true}.of(api)
	if got := rec.Header().Get("WWW-Authenticate"); !strings.HasPrefix(got, "Bearer ") {
		t.Errorf("WWW-Authenticate = %q, want Bearer", got)
	}
}

func TestRepeatedHeadersAreRefused(t *testing.T) {
	for _, name := range []string{"Authorization", "Origin", "Content-Type"} {
		t.Run(name, func(t *testing.T) {
			w, api := newWorld(t, nil)
			r := ask{method: "POST", path: "/chat", body: goodBody, header: header{"Origin": "http://" + testHost}}.request()
			r.Header.Add(name, r.Header.Get(name))
			rec := serve(api, r)
			if rec.Code < 400 || len(w.calls) > 0 {
				t.Errorf("status = %d, calls %v, want a refusal", rec.Code, w.calls)
			}
		})
	}
}

func TestConfiguredNames(t *testing.T) {
	_, api := newWorld(t, func(o *Options) {
		o.AllowHosts = []string{"box.lan", "192.168.1.5:4747", "[fd00::1]:4747", "fd00::2"}
		o.AllowOrigins = []string{"https://app.example.org", "http://localhost:5173"}
		o.PublicURL = "https://v.example.org"
		o.TrustedProxies = []string{"10.0.0.0/8", "::1"}
	})
	forwarded := header{"X-Forwarded-Proto": "https", "X-Forwarded-Host": "box.lan", "Origin": "https://box.lan"}
	rows := []struct {
		name string
		ask  ask
		kind Kind
	}{
		{"host by name, any port", ask{host: "box.lan:1234"}, ""},
		{"host by name, capitals", ask{host: "BOX.lan"}, ""},
		{"host under the name", ask{host: "x.box.lan"}, Denied},
		{"host with its port", ask{host: "192.168.1.5:4747"}, ""},
		{"host with another port", ask{host: "192.168.1.5:80"}, Denied},
		{"IPv6 host", ask{host: "[fd00:0::1]:4747"}, ""},
		{"IPv6 host listed without brackets", ask{host: "[fd00::2]:9"}, ""},
		{"host of the public address", ask{host: "v.example.org"}, ""},
		{"page of the public address", ask{host: "v.example.org", header: header{"Origin": "https://v.example.org"}}, ""},
		{"page of the public address, proxy rewrote the host", ask{header: header{"Origin": "https://v.example.org"}}, ""},
		{"public address without TLS", ask{host: "v.example.org", header: header{"Origin": "http://v.example.org"}}, Denied},
		{"allowed page", ask{header: header{"Origin": "https://app.example.org", "Sec-Fetch-Site": "cross-site"}}, ""},
		{"allowed page on another port", ask{header: header{"Origin": "https://app.example.org:8443"}}, Denied},
		{"allowed page without TLS", ask{header: header{"Origin": "http://app.example.org"}}, Denied},
		{"allowed page without the token", ask{noToken: true, header: header{"Origin": "https://app.example.org"}}, Unauthenticated},
		{"trusted proxy", ask{remote: "10.1.2.3:999", host: "box.lan", header: forwarded}, ""},
		{"trusted proxy by IPv6", ask{remote: "[::1]:999", host: "box.lan", header: forwarded}, ""},
		{"anybody who plays proxy", ask{remote: "192.0.2.1:999", host: "box.lan", header: forwarded}, Denied},
		{"trusted proxy with an unknown host", ask{remote: "10.1.2.3:999", header: header{"X-Forwarded-Host": "evil.example"}}, Denied},
		{"rebound page that plays proxy on this machine", ask{remote: "[::1]:999", host: "evil.example:4747", header: header{"X-Forwarded-Host": "127.0.0.1"}}, Denied},
		{"client's own entry before the proxy's", ask{remote: "10.1.2.3:999", header: header{"X-Forwarded-Host": "box.lan, evil.example"}}, Denied},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			row.ask.method, row.ask.path = "GET", "/chats"
			rec := row.ask.of(api)
			if row.kind != "" {
				wantError(t, rec, row.kind)
				return
			}
			if rec.Code != http.StatusOK {
				t.Errorf("status = %d %s, want 200", rec.Code, rec.Body)
			}
		})
	}
}

func TestCORSEchoesAllowedOriginsOnly(t *testing.T) {
	w, api := newWorld(t, func(o *Options) { o.AllowOrigins = []string{"https://app.example.org"} })
	preflight := header{"Origin": "https://app.example.org", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
	rec := ask{method: "OPTIONS", path: "/chat", noToken: true, header: preflight}.of(api)
	if rec.Code != http.StatusNoContent || rec.Header().Get("Access-Control-Allow-Origin") != "https://app.example.org" {
		t.Errorf("preflight = %d %v", rec.Code, rec.Header())
	}
	if got := rec.Header().Get("Access-Control-Allow-Headers"); !strings.Contains(got, "Authorization") || !strings.Contains(got, "Last-Event-ID") {
		t.Errorf("allowed headers = %q", got)
	}
	if rec.Header().Get("Access-Control-Allow-Credentials") != "" {
		t.Error("another page may send the cookie")
	}
	preflight["Origin"] = "https://evil.example"
	wantError(t, ask{method: "OPTIONS", path: "/chat", noToken: true, header: preflight}.of(api), Denied)

	rec = ask{method: "GET", path: "/chats", header: header{"Origin": "https://app.example.org"}}.of(api)
	if rec.Header().Get("Access-Control-Allow-Origin") != "https://app.example.org" || rec.Header().Get("Vary") != "Origin" {
		t.Errorf("answer to an allowed page = %v", rec.Header())
	}
	rec = ask{method: "GET", path: "/chats", header: header{"Origin": "http://" + testHost}}.of(api)
	if got := rec.Header().Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("own page got %q, it needs none", got)
	}
	if len(w.calls) > 0 {
		t.Errorf("a preflight did %v", w.calls)
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	rows := []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"no token", func(o *Options) { o.Token = "" }, "token"},
		{"host", func(o *Options) { o.AllowHosts = []string{"https://x"} }, "allow_hosts"},
		{"origin", func(o *Options) { o.AllowOrigins = []string{"app.example.org"} }, "allow_origins"},
		{"any origin", func(o *Options) { o.AllowOrigins = []string{"*"} }, "allow_origins"},
		{"public address with a path", func(o *Options) { o.PublicURL = "https://x.example/y" }, "public_url"},
		{"proxy", func(o *Options) { o.TrustedProxies = []string{"proxy.lan"} }, "trusted_proxies"},
		{"base path", func(o *Options) { o.BasePath = "a/../b" }, "base_path"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			o := Options{Token: "x"}
			row.change(&o)
			if _, err := New(o); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error = %v, want one that names %s", err, row.want)
			}
		})
	}
}
