package httpapi

import (
	"fmt"
	"net/http"
	"strings"
)

// gate is what every request passes before its route's code runs. Each check is
// a function of its own; the first that refuses decides the answer.
type gate struct {
	hosts   hostList
	origins originList
	proxies proxyList
	key     key
}

// entry is a request on its way through the gate.
type entry struct {
	*http.Request
	// route is where it goes, nil for a path or method that is not there:
	// such a request passes the same checks before it is told so.
	route *Route
	// parts is what stands in the braces of the route's path. It is not
	// checked.
	parts map[string]string
	// allow lists the methods of a path that is there, when route is nil
	// because it has not the one that was asked.
	allow string
	// host and scheme are how the client addressed the server.
	host   string
	scheme string
	// by is the credential that let it in.
	by credential
}

// check runs the checks in order and returns nil for a request that may pass.
func (g *gate) check(e *entry) *Problem {
	for _, check := range []func(*entry) *Problem{
		checkLimits, g.checkHost, g.checkOrigin, g.checkSite, checkContentType, g.checkKey,
	} {
		if p := check(e); p != nil {
			return p
		}
	}
	return nil
}

// checkPreflight judges the question before a request: it carries no
// credential and no body yet.
func (g *gate) checkPreflight(e *entry) *Problem {
	for _, check := range []func(*entry) *Problem{checkLimits, g.checkHost, g.checkOrigin} {
		if p := check(e); p != nil {
			return p
		}
	}
	return nil
}

// What a request may have. Its header as a whole is bounded by the server (see
// NewServer).
const (
	MaxBodyBytes = 16 << 20
	MaxURLBytes  = 8 << 10
)

func checkLimits(e *entry) *Problem {
	if len(e.RequestURI) > MaxURLBytes {
		return problem(Invalid, "The address is longer than 8 KiB.")
	}
	if most := e.route.bodyLimit(); e.ContentLength > most {
		return problem(TooLarge, fmt.Sprintf("The body is larger than %d MiB; send less at once.", most>>20))
	}
	return nil
}

// checkContentType asks for JSON wherever something can be changed. A page of
// another site can send text or a form without being asked first, but not JSON.
func checkContentType(e *entry) *Problem {
	switch e.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return nil
	}
	if e.route != nil && e.route.signed {
		// Whoever sends it proves it by a signature, which no page can make.
		return nil
	}
	if e.route != nil && e.route.file {
		return checkFile(e)
	}
	types := e.Header.Values("Content-Type")
	if len(types) == 0 && e.ContentLength == 0 {
		return nil
	}
	if len(types) != 1 || !isJSON(types[0]) {
		return problem(ContentType, "")
	}
	return nil
}

// isJSON accepts application/json, alone or as UTF-8. The parameters are few
// enough to be named, so nothing else hides among them.
func isJSON(contentType string) bool {
	kind, params, _ := strings.Cut(strings.ToLower(contentType), ";")
	if strings.TrimSpace(kind) != "application/json" {
		return false
	}
	switch strings.TrimSpace(params) {
	case "", "charset=utf-8", `charset="utf-8"`:
		return true
	}
	return false
}
