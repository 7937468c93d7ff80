package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"verbatim/internal/sse"
)

// origin is where a page came from.
type origin struct {
	scheme string
	authority
}

// parseOrigin reads an Origin header: http or https, a host, perhaps a port,
// and nothing else. "null" is no origin.
func parseOrigin(s string) (origin, bool) {
	scheme, rest, ok := strings.Cut(s, "://")
	scheme = strings.ToLower(scheme)
	if !ok || (scheme != "http" && scheme != "https") {
		return origin{}, false
	}
	a, ok := parseAuthority(rest)
	if !ok {
		return origin{}, false
	}
	return origin{scheme: scheme, authority: a.withPort(scheme)}, true
}

// String writes the origin as browsers do: without the port that its scheme
// implies.
func (o origin) String() string {
	a := o.authority
	a.port = ""
	if a.withPort(o.scheme) != o.authority {
		a.port = o.port
	}
	return o.scheme + "://" + a.String()
}

// originList holds the origins that may talk to the server besides its own.
type originList struct {
	own   *origin // of public_url
	other map[origin]bool
}

func newOriginList(public *origin, allowed []string) (originList, error) {
	l := originList{own: public, other: map[origin]bool{}}
	for _, s := range allowed {
		o, ok := parseOrigin(s)
		if !ok {
			return originList{}, fmt.Errorf("allow_origins: %q is not like https://app.example.org", s)
		}
		l.other[o] = true
	}
	return l, nil
}

// own reports whether o is the server itself, as the client addressed it.
func (g *gate) own(e *entry, o origin) bool {
	if g.origins.own != nil && o == *g.origins.own {
		return true
	}
	host, ok := parseAuthority(e.host)
	return ok && o == origin{scheme: e.scheme, authority: host.withPort(e.scheme)}
}

// foreign returns the request's origin if it is another, allowed one.
func (g *gate) foreign(e *entry) (string, bool) {
	s := e.Header.Get("Origin")
	o, ok := parseOrigin(s)
	return s, ok && !g.own(e, o) && g.origins.other[o]
}

// checkOrigin refuses pages of other origins. Clients that are no pages send
// no Origin; the token is what lets those in.
func (g *gate) checkOrigin(e *entry) *Problem {
	values := e.Header.Values("Origin")
	if len(values) == 0 {
		return nil
	}
	o, ok := parseOrigin(values[0])
	if len(values) > 1 || !ok || (!g.own(e, o) && !g.origins.other[o]) {
		return problem(Denied, "Pages of this origin may not talk to Verbatim; add it to allow_origins if they should.")
	}
	return nil
}

// checkSite refuses what a browser says was set off by another site, or by
// another port of this machine. A person who follows a link to the page is let
// through: it shows nothing by itself.
func (g *gate) checkSite(e *entry) *Problem {
	switch e.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return nil
	}
	if _, allowed := g.foreign(e); allowed {
		return nil
	}
	if e.route != nil && e.route.link && navigates(e.Request) {
		return nil
	}
	return problem(Denied, "Pages of other sites may not talk to Verbatim.")
}

func navigates(r *http.Request) bool {
	return r.Method == http.MethodGet &&
		r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// isPreflight reports that a browser asks on behalf of a page whether it may
// send the request proper.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" &&
		r.Header.Get("Access-Control-Request-Method") != ""
}

// allowOrigin adds the headers that let a page of an allowed origin read the
// answer. Cookies are not among what it may send: it needs the token.
func (g *gate) allowOrigin(h http.Header, e *entry) {
	h.Add("Vary", "Origin")
	o, ok := g.foreign(e)
	if !ok {
		return
	}
	h.Set("Access-Control-Allow-Origin", o)
	h.Set("Access-Control-Expose-Headers", "Retry-After, WWW-Authenticate, Content-Disposition, ETag, "+ReplayedHeader+", "+sse.ResetHeader)
	if isPreflight(e.Request) {
		h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, If-Match, If-None-Match, Last-Event-ID, Range, "+KeyHeader)
		h.Set("Access-Control-Max-Age", "600")
	}
}
