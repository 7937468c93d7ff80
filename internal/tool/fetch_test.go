package tool

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/netguard"
)

// web is a server of this machine that is reached under several names, of which
// some are allowed.
type web struct {
	server *httptest.Server
	port   string
	fetch  *fetchURL

	mu       sync.Mutex
	requests []*http.Request
	answers  map[string][]string // what a name resolves to next; the last stays
}

// newWeb serves with a handler. The names site.test and other.test are allowed,
// inside.test leads to the same server without being allowed.
func newWeb(t *testing.T, handler http.HandlerFunc) *web {
	t.Helper()
	w := &web{answers: map[string][]string{
		"site.test": {"127.0.0.1"}, "other.test": {"127.0.0.1"}, "inside.test": {"127.0.0.1"}, "public.test": {"93.184.216.34"},
	}}
	w.server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.requests = append(w.requests, r)
		w.mu.Unlock()
		handler(rw, r)
	}))
	w.server.Config.ErrorLog = nil
	w.server.Start()
	t.Cleanup(w.server.Close)
	u, err := url.Parse(w.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	w.port = u.Port()
	w.fetch = newFetchURL(FetchConfig{
		Dialer:    &netguard.Dialer{Allow: []string{"site.test", "other.test"}, Resolver: w, Dial: w.dial},
		UserAgent: "Verbatim/1.2.3",
	}).(*fetchURL)
	return w
}

// LookupNetIP is the resolver of the test.
func (w *web) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	answers := w.answers[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(answers) > 1 {
		w.answers[host] = answers[1:]
	}
	return []netip.Addr{netip.MustParseAddr(answers[0])}, nil
}

// dial takes the public address and port 80 of this machine to the server.
func (w *web) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if host, _, _ := strings.Cut(address, ":"); host == "93.184.216.34" || address == "127.0.0.1:80" {
		address = "127.0.0.1:" + w.port
	}
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}

func (w *web) paths() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var paths []string
	for _, r := range w.requests {
		paths = append(paths, r.Host+r.URL.String())
	}
	return paths
}

// get fetches an address and returns the output.
func (w *web) get(ctx context.Context, t *testing.T, address string) (string, error) {
	t.Helper()
	a, err := w.prepare(t, address)
	if err != nil {
		return "", err
	}
	out := &record{}
	err = a.Run(ctx, out)
	return out.String(), err
}

func (w *web) prepare(t *testing.T, address string) (Action, error) {
	t.Helper()
	args, err := json.Marshal(map[string]string{"url": address})
	if err != nil {
		t.Fatal(err)
	}
	return w.fetch.Prepare(args)
}

// answer serves a body as a type.
func answer(contentType, body string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header()["Content-Type"] = nil
		if contentType != "" {
			rw.Header().Set("Content-Type", contentType)
		}
		io.WriteString(rw, body)
	}
}

func TestFetchPages(t *testing.T) {
	t.Parallel()
	head := func(media string) string { return "200 OK\nhttp://site.test/\n" + media + "\n\n" }
	tests := []struct {
		name, media, body, output, err string
	}{
		{"text", "text/plain", " a\r\n\tb ", head("text/plain") + " a\r\n\tb ", ""},
		{"JSON", "application/json", `{"a": [1]}`, head("application/json") + `{"a": [1]}`, ""},
		{"JSON of a kind", "application/problem+json; x=1", `{}`, head("application/problem+json; x=1") + `{}`, ""},
		{"HTML", "text/html; charset=utf-8", "<p>Hello <a href=/there>you</a>", head("text/html; charset=utf-8") + "Hello [you](http://site.test/there)\n", ""},
		{"another charset", "text/plain; charset=iso-8859-1", "caf\xe9", head("text/plain; charset=iso-8859-1") + "café", ""},
		{"a charset in the page", "text/html", "<meta charset=shift_jis><p>\x93\xfa\x96\x7b", head("text/html") + "日本\n", ""},
		{"a charset of windows that nothing says", "text/plain", "\x93caf\xe9\x94", head("text/plain") + "“café”", ""},
		{"UTF-8 that nothing says", "text/html", strings.Repeat(" ", 2000) + "<p>日本", head("text/html") + "日本\n", ""},
		{"UTF-16 by its mark", "text/plain", "\xff\xfeh\x00i\x00", head("text/plain") + "hi", ""},
		{"broken UTF-8", "text/plain; charset=utf-8", "a\xffb", head("text/plain; charset=utf-8") + "a\ufffdb", ""},
		{"no type", "", "<!doctype html><p>x", head("text/html; charset=utf-8") + "x\n", ""},
		{"nothing", "text/plain", "", head("text/plain"), ""},
		{"a file", "application/pdf", "%PDF-secret", "", `the page is of the type "application/pdf" (11 bytes), which is no text; nothing of it is shown`},
		{"a file without type", "", "\x89PNG\r\n\x1a\n", "", `the page is of the type "image/png" (8 bytes), which is no text; nothing of it is shown`},
		{"a file that calls itself text", "text/plain", "a\x00b", "", `the page calls itself "text/plain" but is no text (3 bytes); nothing of it is shown`},
		{"a type with a trick", "text/html\u202e", "<p>x", "200 OK\nhttp://site.test/\n" + `"text/html\u202e"` + "\n\n<p>x", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := newWeb(t, answer(tt.media, tt.body)).get(t.Context(), t, "http://site.test")
			want := strings.Replace(tt.output, "http://site.test/\n", "http://site.test\n", 1)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.err, says(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFetchSendsNothingOfOurs(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	w := newWeb(t, func(rw http.ResponseWriter, r *http.Request) {
		http.SetCookie(rw, &http.Cookie{Name: "a", Value: "b"})
		if r.URL.Path == "/from" {
			http.Redirect(rw, r, "/to", http.StatusFound)
		}
	})
	if _, err := w.get(t.Context(), t, "http://public.test/from"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"public.test/from", "public.test/to"}, w.paths()); diff != "" {
		t.Fatalf("requests (-want +got):\n%s", diff)
	}
	for _, r := range w.requests {
		want := http.Header{
			"User-Agent": {"Verbatim/1.2.3"}, "Accept": {"text/html, text/plain, application/json, */*;q=0.1"}, "Accept-Encoding": {"gzip"}, "Connection": {"close"},
		}
		if diff := cmp.Diff(want, r.Header); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
	}
}

func TestFetchFailures(t *testing.T) {
	t.Parallel()
	w := newWeb(t, func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/missing":
			rw.Header().Set("Content-Type", "text/html")
			rw.WriteHeader(http.StatusNotFound)
			io.WriteString(rw, "<h1>Not here</h1>")
		case "/picture":
			rw.Header().Set("Content-Type", "image/png")
			rw.WriteHeader(http.StatusTeapot)
		case "/broken":
			panic(http.ErrAbortHandler)
		case "/short":
			rw.Header().Set("Content-Length", "100")
			io.WriteString(rw, "short")
		case "/packed":
			rw.Header().Set("Content-Encoding", "br")
			io.WriteString(rw, "x")
		case "/headers":
			rw.Header().Set("X", strings.Repeat("x", 200<<10))
		}
	})
	tests := []struct{ name, address, output, err string }{
		{"a status", "http://site.test/missing", "404 Not Found\nhttp://site.test/missing\ntext/html\n\n# Not here\n", "the server answered 404 Not Found"},
		{"a status with a file", "http://site.test/picture", "", "the server answered 418 I'm a teapot"},
		{"no answer", "http://site.test/broken", "", "site.test ended the connection before its answer was complete"},
		{"half an answer", "http://site.test/short", "", "site.test ended the connection before its answer was complete"},
		{"a coding that was not asked for", "http://site.test/packed", "", `the page is packed as "br", which can't be read`},
		{"no such host", "http://nowhere.test/", "", `there is no host "nowhere.test"`},
		{"no port", "http://site.test:1/", "", `"site.test" can't be reached`},
		{"no TLS", "https://site.test:" + w.port + "/", "", "site.test could not be fetched: tls: first record does not look like a TLS handshake"},
		{"M4: a name inside", "http://inside.test/", "", `"inside.test" is not on the public internet, so it was not contacted`},
		{"M4: loopback as IPv6", "http://[::ffff:127.0.0.1]/", "", `"127.0.0.1" is not on the public internet, so it was not contacted`},
		{"M4: a number in hexadecimal", "http://0x7f000001/", "", `"0x7f000001" is not an address that can be used; write it as http://host/ or https://host/ with an ordinary host name`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := w.get(t.Context(), t, tt.address)
			if diff := cmp.Diff([]string{tt.output, tt.err}, []string{got, says(err)}); diff != "" {
				t.Errorf("output and error (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("headers without end", func(t *testing.T) {
		t.Parallel()
		if got, err := w.get(t.Context(), t, "http://site.test/headers"); err == nil || got != "" {
			t.Errorf("read as %q", got)
		}
	})
}

func TestFetchRedirects(t *testing.T) {
	t.Parallel()
	w := newWeb(t, func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/to/"):
			rw.Header().Set("Location", r.URL.RawQuery)
			rw.WriteHeader(http.StatusFound)
			io.WriteString(rw, "the response that must not be seen")
		case strings.HasPrefix(r.URL.Path, "/n"):
			var n int
			fmt.Sscanf(r.URL.Path, "/n%d", &n)
			if n > 0 {
				http.Redirect(rw, r, fmt.Sprintf("n%d", n-1), http.StatusMovedPermanently)
				return
			}
			fallthrough
		default:
			rw.Header().Set("Content-Type", "text/plain")
			io.WriteString(rw, "there")
		}
	})
	leads := func(from, to string) string {
		return "302 Found\n" + from + "\n\nThis page leads to another host, which was not contacted: " + to + "\nCall fetch_url with that address to fetch it.\n"
	}
	tests := []struct{ name, address, output, err string }{
		{"on the same host", "http://site.test/n2", "200 OK\nredirected to: http://site.test/n1\nredirected to: http://site.test/n0\nhttp://site.test/n0\ntext/plain\n\nthere", ""},
		{"as many as are followed", "http://site.test/n5", "200 OK\nredirected to: http://site.test/n4\nredirected to: http://site.test/n3\n" +
			"redirected to: http://site.test/n2\nredirected to: http://site.test/n1\nredirected to: http://site.test/n0\nhttp://site.test/n0\ntext/plain\n\nthere", ""},
		{"one more", "http://site.test/n6", "", "site.test redirects more than 5 times; the last one leads to http://site.test/n0"},
		{"to another host", "http://site.test/to/?http://other.test/x", leads("http://site.test/to/?http://other.test/x", "http://other.test/x"), ""},
		{"to another host that is allowed nowhere", "http://site.test/to/?http://inside.test/x", leads("http://site.test/to/?http://inside.test/x", "http://inside.test/x"), ""},
		{"to another port", "http://site.test/to/?http://site.test:8080/", leads("http://site.test/to/?http://site.test:8080/", "http://site.test:8080/"), ""},
		{"M4: to metadata", "http://site.test/to/?http://169.254.169.254/", "", `site.test redirects to where no fetch may go: "169.254.169.254" is not on the public internet, so it was not contacted`},
		{"M4: to loopback in hexadecimal", "http://site.test/to/?//0x7f000001/", "", `site.test redirects to where no fetch may go: "0x7f000001" is not an address that can be used; write it as http://host/ or https://host/ with an ordinary host name`},
		{"to a file", "http://site.test/to/?file:///etc/passwd", "", `site.test redirects to where no fetch may go: "file:///etc/passwd" is not an address that can be used; write it as http://host/ or https://host/ with an ordinary host name`},
		{"to nothing", "http://site.test/to/?http://%zz/", "", "site.test redirects to something that is no address"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := w.get(t.Context(), t, tt.address)
			if diff := cmp.Diff([]string{tt.output, tt.err}, []string{got, says(err)}); diff != "" {
				t.Errorf("output and error (-want +got):\n%s", diff)
			}
		})
	}
	t.Cleanup(func() {
		for _, p := range w.paths() {
			if !strings.HasPrefix(p, "site.test/") {
				t.Errorf("%s was asked for", p)
			}
		}
	})
}

// Whoever is asked about a fetch learns that a page sent the model there.
func TestReasonNamesTheRedirect(t *testing.T) {
	t.Parallel()
	w := newWeb(t, func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "http://other.test/a?b=c#d", http.StatusFound)
	})
	reason := func(address string) string {
		a, err := w.prepare(t, address)
		if err != nil {
			t.Fatal(err)
		}
		return a.Reason
	}
	before := reason("http://other.test/a?b=c")
	if _, err := w.get(t.Context(), t, "http://site.test/"); err != nil {
		t.Fatal(err)
	}
	got := []string{before, reason("HTTP://other.TEST:80/a?b=c"), reason("http://other.test/a")}
	want := []string{"fetches http://other.test/a?b=c", "fetches http://other.test/a?b=c (redirected from site.test)", "fetches http://other.test/a"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	long := "http://other.test/" + strings.Repeat("x", 400)
	w.fetch.named.add(long, "site.test")
	if got, want := reason(long), "fetches, redirected from site.test, http://other.test/xx"; !strings.HasPrefix(got, want) {
		t.Errorf("a long reason is %q", got)
	}
	for i := range maxNamed {
		w.fetch.named.add(fmt.Sprint("http://other.test/", i), "site.test")
	}
	if got, want := reason("http://other.test/a?b=c"), "fetches http://other.test/a?b=c"; got != want {
		t.Errorf("after %d others the reason is %q", maxNamed, got)
	}
}

// A name that was public when a fetch was allowed, or in an earlier fetch, and
// leads inside now.
func TestM4RebindingFetch(t *testing.T) {
	t.Parallel()
	w := newWeb(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/again" {
			http.Redirect(rw, r, "/", http.StatusFound)
		}
	})
	w.answers["rebind.test"] = []string{"93.184.216.34", "127.0.0.1"}
	got, err := w.get(t.Context(), t, "http://rebind.test/again")
	want := `"rebind.test" is not on the public internet, so it was not contacted`
	if diff := cmp.Diff([]string{"", want}, []string{got, says(err)}); diff != "" {
		t.Errorf("output and error (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"rebind.test/again"}, w.paths()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestFetchBounds(t *testing.T) {
	t.Parallel()
	// A thousand of these are 1 MB that unpacks to 1 GB.
	var member bytes.Buffer
	z := gzip.NewWriter(&member)
	z.Write(bytes.Repeat([]byte("0"), 1<<20))
	z.Close()
	w := newWeb(t, func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
		switch r.URL.Path {
		case "/endless":
			for {
				// The first character ends where the limit is not a multiple.
				if _, err := io.WriteString(rw, strings.Repeat("日", 10000)); err != nil {
					return
				}
			}
		case "/bomb":
			rw.Header().Set("Content-Encoding", "gzip")
			for range 1000 {
				if _, err := rw.Write(member.Bytes()); err != nil {
					return
				}
			}
		}
	})
	for _, path := range []string{"/endless", "/bomb"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			got, err := w.get(t.Context(), t, "http://site.test"+path)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(got, "\n[cut: the page is longer than 5,242,880 bytes]\n") {
				t.Errorf("the end is %q", got[max(len(got)-100, 0):])
			}
			if strings.Contains(got, "\ufffd") {
				t.Error("a character was cut in two")
			}
			if len(got) > MaxFetchBytes+1000 {
				t.Errorf("%d bytes were kept", len(got))
			}
		})
	}
}

func TestFetchEndsInTime(t *testing.T) {
	t.Parallel()
	w := newWeb(t, func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/plain")
		io.WriteString(rw, "beginning")
		rw.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	w.fetch.timeout = 50 * time.Millisecond
	got, err := w.get(t.Context(), t, "http://site.test/")
	if diff := cmp.Diff([]string{"", "the page was not there within 0.05 s"}, []string{got, says(err)}); diff != "" {
		t.Errorf("output and error (-want +got):\n%s", diff)
	}
}

func TestFetchIsStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	w := newWeb(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	_, err := w.get(ctx, t, "http://site.test/")
	if got, want := says(err), "the fetch was stopped"; got != want {
		t.Errorf("the error is %q, want %q", got, want)
	}
}

func TestFetchChecksCertificates(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "http://example.com/", http.StatusFound)
	}))
	t.Cleanup(server.Close)
	server.Config.ErrorLog = nil
	port := server.Listener.Addr().(*net.TCPAddr).Port
	w := newWeb(t, answer("text/plain", "x"))
	w.answers["example.com"] = []string{"127.0.0.1"}
	w.fetch.dialer.Allow = append(w.fetch.dialer.Allow, "example.com")

	_, err := w.get(t.Context(), t, fmt.Sprintf("https://example.com:%d/", port))
	if got, want := says(err), "the certificate of example.com is not to be trusted: "; !strings.HasPrefix(got, want) {
		t.Errorf("the error is %q, want %q", got, want)
	}
	// From https to http is a step that nobody allowed.
	w.fetch.transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	got, err := w.get(t.Context(), t, fmt.Sprintf("https://example.com:%d/", port))
	if err != nil || !strings.Contains(got, "was not contacted: http://example.com/\n") {
		t.Errorf("the output is %q, the error %v", got, err)
	}
}

func TestSameHost(t *testing.T) {
	t.Parallel()
	tests := []struct {
		from, to string
		want     bool
	}{
		{"http://a.test/x", "http://a.test/y", true},
		{"http://a.test/", "https://a.test/", true},
		{"https://a.test/", "http://a.test/", false},
		{"http://a.test/", "http://www.a.test/", false},
		{"http://a.test:8080/", "http://a.test:8080/", true},
		{"http://a.test:8080/", "http://a.test/", false},
		{"http://a.test:8080/", "https://a.test:8080/", false},
		{"http://a.test/", "http://a.test:8080/", false},
	}
	for _, tt := range tests {
		from, err1 := url.Parse(tt.from)
		to, err2 := url.Parse(tt.to)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if got := sameHost(from, to); got != tt.want {
			t.Errorf("from %s to %s is the same host: %v, want %v", from, to, got, tt.want)
		}
	}
}
