package httpapi

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRouteTree(t *testing.T) {
	tree := newRouteTree([]Route{
		{Method: "GET", Path: "/"}, {Method: "GET", Path: "/a", Status: 200}, {Method: "POST", Path: "/a/{x}"}, {Method: "GET", Path: "/a/{x}/b/{y}"},
		{Method: "POST", Path: "/a/{x}/b/{y}"}, {Method: "GET", Path: "/c/{x}/"}, {Method: "DELETE", Path: "/d/fixed"},
		{Method: "DELETE", Path: "/d/{x}"}, {Method: "GET", Path: "/e/..."},
	})
	rows := []struct {
		method, path string
		want         string // the route's path
		parts        map[string]string
		allow        string
	}{
		{method: "GET", path: "/", want: "/"},
		{method: "GET", path: "/a", want: "/a"},
		{method: "HEAD", path: "/a", want: "/a"},
		{method: "POST", path: "/a/1", want: "/a/{x}", parts: map[string]string{"x": "1"}},
		{method: "GET", path: "/a/1/b/2", want: "/a/{x}/b/{y}", parts: map[string]string{"x": "1", "y": "2"}},
		{method: "GET", path: "/a/{x}/b/b", want: "/a/{x}/b/{y}", parts: map[string]string{"x": "{x}", "y": "b"}},
		{method: "DELETE", path: "/d/fixed", want: "/d/fixed"},
		{method: "DELETE", path: "/d/free", want: "/d/{x}", parts: map[string]string{"x": "free"}},
		{method: "GET", path: "/e/f", want: "/e/...", parts: map[string]string{"...": "f"}},
		{method: "GET", path: "/e/f/g/", want: "/e/...", parts: map[string]string{"...": "f/g/"}},
		{method: "PUT", path: "/a", allow: "GET, HEAD"},
		{method: "GET", path: "/a/1", allow: "POST"},
		{method: "PUT", path: "/a/1/b/2", allow: "GET, POST"},
		{method: "PUT", path: "/d/fixed", allow: "DELETE"},
		{method: "GET", path: ""}, {method: "OPTIONS", path: "*"}, {method: "GET", path: "a"}, {method: "GET", path: "//"},
		{method: "GET", path: "//a"}, {method: "GET", path: "/a/"}, {method: "POST", path: "/a//"}, {method: "GET", path: "/a//b/2"},
		{method: "GET", path: "/a/1/b/"}, {method: "GET", path: "/a/1/b"}, {method: "GET", path: "/a/1/b/2/"}, {method: "GET", path: "/a/1/c/2"},
		{method: "GET", path: "/A"}, {method: "GET", path: "/e/"}, {method: "GET", path: "/e"}, {method: "GET", path: "/ef"},
	}
	for _, row := range rows {
		t.Run(row.method+" "+row.path, func(t *testing.T) {
			r, parts, allow := tree.find(row.method, row.path)
			got := ""
			if r != nil {
				got = r.Path
			}
			if got != row.want || allow != row.allow {
				t.Errorf("route %q, allow %q, want %q and %q", got, allow, row.want, row.allow)
			}
			if diff := cmp.Diff(row.parts, parts); diff != "" {
				t.Error(diff)
			}
		})
	}
}
