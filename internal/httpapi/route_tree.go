package httpapi

import (
	"net/http"
	"slices"
	"strings"
)

// routeTree finds routes by path. It is small enough to be searched.
type routeTree []Route

func newRouteTree(table []Route) routeTree { return table }

// find returns the route of a request with what stands in its braces, or the
// methods of its path if it has others, or neither. HEAD is GET without a body,
// except where GET uses something up.
func (t routeTree) find(method, p string) (r *Route, parts map[string]string, allow string) {
	var methods []string
	for i := range t {
		r := &t[i]
		parts, ok := r.match(p)
		if !ok {
			continue
		}
		head := r.Method == http.MethodGet && r.Status == http.StatusOK
		if r.Method == method || head && method == http.MethodHead {
			return r, parts, ""
		}
		methods = append(methods, r.Method)
		if head {
			methods = append(methods, http.MethodHead)
		}
	}
	slices.Sort(methods)
	return nil, nil, strings.Join(slices.Compact(methods), ", ")
}

// restPart is the name of what stands in the place of "...".
const restPart = "..."

// match reports whether a path is the route's, and returns what stands in its
// braces by their names.
func (r *Route) match(p string) (parts map[string]string, ok bool) {
	pattern := r.Path
	for pattern != "" {
		var want, got string
		want, pattern, _ = cutPart(pattern)
		if want == restPart {
			p, ok = strings.CutPrefix(p, "/")
			return map[string]string{restPart: p}, ok && p != ""
		}
		if got, p, ok = cutPart(p); !ok {
			return nil, false
		}
		name, isName := partName(want)
		switch {
		case !isName && got != want, isName && got == "":
			return nil, false
		case isName && parts == nil:
			parts = map[string]string{name: got}
		case isName:
			parts[name] = got
		}
	}
	return parts, p == ""
}

// cutPart takes the first part off a path that begins with a slash; after keeps
// its own.
func cutPart(p string) (part, after string, ok bool) {
	p, ok = strings.CutPrefix(p, "/")
	if i := strings.IndexByte(p, '/'); ok && i >= 0 {
		return p[:i], p[i:], true
	}
	return p, "", ok
}

// partName returns the name in braces.
func partName(part string) (string, bool) {
	name, ok := strings.CutPrefix(part, "{")
	return strings.TrimSuffix(name, "}"), ok
}
