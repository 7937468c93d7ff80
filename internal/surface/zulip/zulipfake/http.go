package zulipfake

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"verbatim/internal/surface/surfacetest"
)

// window is what the limit of calls is counted over
// (https://zulip.com/api/http-headers).
const window = time.Minute

func (s *Server) routes() {
	s.mux = http.NewServeMux()
	for pattern, h := range map[string]http.HandlerFunc{
		"/api/v1/users/me":                 s.only("GET", s.whoami),
		"/api/v1/register":                 s.only("POST", s.register),
		"/api/v1/events":                   s.only("GET", s.events),
		"/api/v1/messages":                 s.either("GET", s.list, "POST", s.send),
		"/api/v1/messages/{id}":            s.either("GET", s.single, "PATCH", s.edit),
		"/api/v1/typing":                   s.only("POST", s.typing),
		"/api/v1/user_uploads":             s.only("POST", s.upload),
		"/api/v1/user_uploads/{path...}":   s.only("GET", s.temporary),
		"/user_uploads/temporary/{token}/": s.download,
	} {
		s.mux.HandleFunc(pattern, h)
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		w.Write([]byte("<html><h1>Page not found (404)</h1></html>"))
	})
}

// ServeHTTP serves the API under /api/v1/ and files under /user_uploads/.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	s.mux.ServeHTTP(w, r)
}

func (s *Server) only(method string, h http.HandlerFunc) http.HandlerFunc {
	return s.either(method, h, method, h)
}

// either checks the method, the key and the limit of calls.
func (s *Server) either(method string, h http.HandlerFunc, other string, h2 http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		email, key, ok := r.BasicAuth()
		switch {
		case !ok:
			refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "Not logged in: API authentication or user session required")
		case email != s.o.Email || key != s.o.Key:
			// A hostile server repeats what it was told.
			refuse(w, http.StatusUnauthorized, "INVALID_API_KEY", "Invalid API key "+key)
		case !s.allow(w, r):
		case r.Method == method:
			h(w, r)
		case r.Method == other:
			h2(w, r)
		default:
			refuse(w, http.StatusMethodNotAllowed, "BAD_REQUEST", "Method Not Allowed")
		}
	}
}

// allow counts a call and sets the headers of the limit.
func (s *Server) allow(w http.ResponseWriter, r *http.Request) bool {
	if strings.HasSuffix(r.URL.Path, "/events") {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now, most := s.o.Now(), s.o.PerMinute
	if most == 0 {
		most = 200
	}
	s.calls = slices.DeleteFunc(s.calls, func(at time.Time) bool { return now.Sub(at) >= window })
	left := most - len(s.calls)
	if s.o.PerMinute != 0 && left == 0 {
		limited(w, s.calls[0].Add(window).Sub(now))
		return false
	}
	s.calls = append(s.calls, now)
	w.Header().Set("X-RateLimit-Limit", strconv.Itoa(most))
	w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(max(1, left-1)))
	if s.o.PerMinute != 0 {
		w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(left-1))
	}
	w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(now.Add(window).Unix(), 10))
	w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
	return true
}

// limited is the answer to a call that was one too many
// (https://zulip.com/api/rest-error-handling#rate-limit-exceeded).
func limited(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", fmt.Sprint(wait.Seconds()))
	answer(w, http.StatusTooManyRequests, map[string]any{
		"result": "error", "code": "RATE_LIMIT_HIT", "msg": "API usage exceeded rate limit", "retry-after": wait.Seconds(),
	})
}

// params reads the parameters of a call, from the address of a GET and from the
// form of everything else. The real server names those that it doesn't know in
// ignored_parameters_unsupported; here they are an error.
func params(w http.ResponseWriter, r *http.Request, known ...string) (url.Values, bool) {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	err := r.ParseForm()
	values := r.PostForm
	switch {
	case r.Method == http.MethodGet:
		values = r.Form
	case kind != "application/x-www-form-urlencoded", r.URL.RawQuery != "":
		refuse(w, http.StatusBadRequest, "BAD_REQUEST", "The parameters belong into a form")
		return nil, false
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "BAD_REQUEST", "Malformed parameters")
		return nil, false
	}
	for name, all := range values {
		if !slices.Contains(known, name) || len(all) != 1 {
			refuse(w, http.StatusBadRequest, "REQUEST_CONFUSING_VAR", "Can't decide between or doesn't know '"+name+"'")
			return nil, false
		}
	}
	return values, true
}

// read reads a JSON parameter; an absent one leaves into as it is.
func read(values url.Values, name string, into any) bool {
	return !values.Has(name) || json.Unmarshal([]byte(values.Get(name)), into) == nil
}

func invalid(w http.ResponseWriter, name string) {
	refuse(w, http.StatusBadRequest, "REQUEST_VARIABLE_INVALID", name+" is not valid")
}

func refuse(w http.ResponseWriter, status int, code, msg string) {
	answer(w, status, map[string]any{"result": "error", "code": code, "msg": msg})
}

func succeed(w http.ResponseWriter, fields map[string]any) {
	all := map[string]any{"result": "success", "msg": ""}
	for name, v := range fields {
		all[name] = v
	}
	answer(w, http.StatusOK, all)
}

func answer(w http.ResponseWriter, status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // it is made of maps, text and numbers
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(raw)
}

// change plays a call that changes something under the fault that is next. do
// makes the change and returns the answer; lie is an answer without a change.
func (s *Server) change(w http.ResponseWriter, r *http.Request, content string, do func() (int, map[string]any), lie func() map[string]any) {
	fault := s.Take(s.o.Now())
	if fault == surfacetest.RefuseMarkup && fenced(content) {
		fault = surfacetest.Fine
	}
	switch fault {
	case surfacetest.Fine, surfacetest.Lost, surfacetest.GatewayTaken, surfacetest.Slow, surfacetest.Stall:
		status, out := do()
		if s.trouble(w, r, fault) {
			answer(w, status, out)
		}
	case surfacetest.Lie:
		succeed(w, lie())
	case surfacetest.Refuse:
		// https://zulip.com/api/send-message#response
		refuse(w, http.StatusBadRequest, "STREAM_WILDCARD_MENTION_NOT_ALLOWED", "You do not have permission to use channel wildcard mentions in this channel.")
	case surfacetest.RefuseMarkup:
		// https://zulip.com/api/render-message
		refuse(w, http.StatusBadRequest, "BAD_REQUEST", "Unable to render message")
	default:
		s.trouble(w, r, fault)
	}
}

// fenced reports whether a text is one block of code, which is what plain text is.
func fenced(text string) bool {
	first, rest, _ := strings.Cut(text, "text\n")
	return strings.HasPrefix(first, "```") && strings.Trim(first, "`") == "" && strings.HasSuffix(rest, "\n"+first) &&
		strings.Count(rest, first) == 1
}

// trouble does what has nothing to do with a call, and reports whether an answer
// is still to be given.
func (s *Server) trouble(w http.ResponseWriter, r *http.Request, fault surfacetest.Fault) bool {
	switch fault {
	case surfacetest.Busy:
		// The limiter itself was overrun: it does not know how long.
		answer(w, http.StatusTooManyRequests, map[string]any{
			"result": "error", "code": "RATE_LIMIT_HIT", "msg": "API usage exceeded rate limit", "retry-after": nil,
		})
	case surfacetest.Limit:
		limited(w, s.Limited(s.o.Now()))
	case surfacetest.LimitInside:
		answer(w, http.StatusOK, map[string]any{
			"result": "error", "code": "RATE_LIMIT_HIT", "msg": "API usage exceeded rate limit", "retry-after": s.Limited(s.o.Now()).Seconds(),
		})
	case surfacetest.Lost, surfacetest.Cut:
		panic(http.ErrAbortHandler)
	case surfacetest.Gateway:
		gateway(w, http.StatusBadGateway)
	case surfacetest.GatewayTaken:
		gateway(w, http.StatusGatewayTimeout)
	case surfacetest.Garbled:
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"result":"success","msg":"","queue_id":"x","events":[{"id":7,"type":"mess`))
	case surfacetest.Stall:
		<-r.Context().Done()
	case surfacetest.Slow:
		select {
		case <-time.After(surfacetest.SlowTime):
			return true
		case <-r.Context().Done():
		}
	case surfacetest.Fine, surfacetest.Refuse, surfacetest.RefuseMarkup, surfacetest.Lie:
		return true
	}
	return false
}

func gateway(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	w.Write(fmt.Appendf(nil, "<html><h1>%d %s</h1><hr>nginx</html>", status, http.StatusText(status)))
}
