package httpapi

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
)

// ServeHTTP takes a request through the gate to its route.
func (a *API) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	began := a.opt.Now()
	w := &reply{ResponseWriter: rw}
	r, body := takeUpload(w, r)
	e := a.enter(r)
	w.native = isNative(a.inside(r.URL.Path))
	pattern := "none"
	if e.route != nil {
		pattern = e.route.Path
	}
	done := a.metrics.begin()
	defer func() {
		fault, half := recover(), w.begun() && !w.taken
		if fault != nil && fault != http.ErrAbortHandler {
			a.fail(w, e, fault)
		}
		done(e.Method, pattern, w.status)
		a.access(w, e, pattern, a.opt.Now().Sub(began))
		if fault != nil && half {
			// A half-sent answer must not look whole.
			panic(http.ErrAbortHandler)
		}
		body.discard(w, r)
	}()
	a.serve(w, e)
}

// enter finds out where a request goes and how the client addressed us.
func (a *API) enter(r *http.Request) *entry {
	e := &entry{Request: r}
	e.scheme, e.host = a.gate.proxies.address(r, a.gate.origins.own)
	e.route, e.parts, e.allow = a.routes.find(r.Method, a.inside(r.URL.Path))
	return e
}

// inside takes the base path off, if it is there. The base path itself is the
// page, which sends the browser on to its own address.
func (a *API) inside(p string) string {
	rest, ok := strings.CutPrefix(p, a.base)
	switch {
	case ok && rest == "":
		return "/"
	case ok && rest[0] == '/':
		return rest
	}
	return p
}

func (a *API) serve(w *reply, e *entry) {
	secure(w.Header())
	a.gate.allowOrigin(w.Header(), e)
	if p := a.refuse(e); p != nil {
		writeProblem(w, p)
		return
	}
	if isPreflight(e.Request) {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.surface = e.by.surface()
	err := a.handle(w, e)
	if err == nil {
		return
	}
	p := problemOf(err)
	if p.Kind == Internal {
		w.fault = faultID()
		a.log.Error("request failed", "ref", w.fault, "route", e.route.Path, "err", err)
	}
	if !w.begun() {
		writeProblem(w, p)
	}
}

// handle runs the route's code, when the server has started.
func (a *API) handle(w *reply, e *entry) error {
	if !e.route.early() {
		if err := a.door.wait(e.Context()); err != nil {
			return err
		}
	}
	limitBody(w, e.Request)
	return a.once(w, e)
}

// refuse returns why the request goes no further, or nil.
func (a *API) refuse(e *entry) *Problem {
	if isPreflight(e.Request) {
		return a.gate.checkPreflight(e)
	}
	if p := a.gate.check(e); p != nil {
		return p
	}
	switch {
	case e.route != nil:
		return nil
	case e.allow != "":
		return &Problem{Kind: Method, Allow: e.allow}
	}
	return problem(Missing, "There is no such path here.")
}

// fail answers for a handler that panicked. What happened is for the log.
func (a *API) fail(w *reply, e *entry, fault any) {
	w.fault = faultID()
	a.log.Error("request panicked", "ref", w.fault, "method", e.Method,
		"fault", fmt.Sprint(fault), "stack", string(debug.Stack()))
	if !w.begun() {
		writeProblem(w, problem(Internal, ""))
	}
}

func faultID() string { return strings.ToLower(rand.Text()[:12]) }

// access writes a line about a request: nothing of its text, its query or its
// credentials.
func (a *API) access(w *reply, e *entry, pattern string, took time.Duration) {
	level := slog.LevelInfo
	if e.route != nil && e.route.quiet {
		level = slog.LevelDebug
	}
	attrs := []slog.Attr{
		slog.String("method", e.Method), slog.String("route", pattern), slog.Int("status", w.status),
		slog.Float64("ms", float64(took.Microseconds())/1000), slog.Int64("bytes", w.bytes),
	}
	if w.taken {
		attrs = append(attrs, slog.Bool("following", true))
	}
	if w.conversation != "" {
		attrs = append(attrs, slog.String("conversation", string(w.conversation)))
	}
	if w.run != "" {
		attrs = append(attrs, slog.String("run", string(w.run)))
	}
	a.log.LogAttrs(e.Context(), level, "request", attrs...)
}

// contentPolicy lets the page load its own script and style, and nothing else
// from anywhere; scripts can't write markup.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

func secure(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// Limits of a connection, kept by NewServer.
const (
	// MaxHeaderBytes is the largest head of a request.
	MaxHeaderBytes = 64 << 10
	// HeaderTime is how long a client may take to send it, BodyTime how
	// long for a body.
	HeaderTime = 10 * time.Second
	BodyTime   = time.Minute
	// IdleTime is how long a connection may wait for its next request.
	IdleTime = 2 * time.Minute
)

// NewServer returns a server for h with the limits of this package. Streams
// have no limit in time.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: HeaderTime,
		IdleTimeout:       IdleTime,
		MaxHeaderBytes:    MaxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
