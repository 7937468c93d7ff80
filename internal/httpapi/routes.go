package httpapi

import (
	"net/http"
	"slices"
	"strings"
)

// Route is one line of the wire: what it takes and what it answers. The table
// of routes makes the server and the reference page.
type Route struct {
	Method string
	// Path may have one part in braces that stands for an id, or end in
	// "/..." for all that begins with it. Errors below nativePrefix have
	// their own form.
	Path string
	// Doc is one sentence; Body and Reply sketch the JSON, empty for none.
	Doc, Body, Reply string
	// Status is that of a good answer.
	Status int

	handle func(*reply, *entry) error
	// open routes need no key, link routes may be reached by following a
	// link on another site, tokenOnly ones are not for browsers, quiet ones
	// are asked by machines all day.
	open, link, tokenOnly, quiet bool
}

// Open reports that the route needs neither token nor cookie.
func (r Route) Open() bool { return r.open }

// Routes returns the table of routes in the order of the reference page.
func Routes() []Route { return (*API)(nil).table() }

func (a *API) table() []Route {
	return []Route{
		{
			Method: "POST", Path: "/chat", Status: 200, handle: a.send,
			Doc:   "Sends a message, or attaches to the run of a known run_id, and answers with the run's stream. With Last-Event-ID or ?after= it goes on after that event; 204 when nothing follows.",
			Body:  `{"prompt", "chat_id"?, "session"?, "run_id"?, "tools"?: bool, "regenerate_of"?: row, "attachments"?: []}`,
			Reply: "text/event-stream",
		},
		{
			Method: "POST", Path: "/cancel/{run_id}", Status: 200, handle: a.cancelByPath,
			Doc:   "Stops a run. Again, or after its end, it changes nothing and is still well.",
			Reply: `{"ok": true, "run_id"}`,
		},
		{
			Method: "POST", Path: "/cancel", Status: 200, handle: a.cancelByBody,
			Doc:  "The same, with the run in the body.",
			Body: `{"run_id"}`, Reply: `{"ok": true, "run_id"}`,
		},
		{
			Method: "GET", Path: "/chats", Status: 200, handle: a.listChats,
			Doc:   "Lists the conversations, newest first.",
			Reply: `{"chats": [{"id", "title", "updated": epoch seconds, "count": rows, "project"}]}`,
		},
		{
			Method: "DELETE", Path: "/chats", Status: 200, handle: a.deleteChats,
			Doc:  "Deletes every conversation.",
			Body: `{"confirm": true}`, Reply: `{"ok": true, "deleted": count}`,
		},
		{
			Method: "GET", Path: "/chats/{id}", Status: 200, handle: a.getChat,
			Doc:   "One conversation as people see it, a running answer as far as it has come. running is the id of the run under way, or null.",
			Reply: `{"id", "title", "updated", "project", "running", "messages": [{"role", "content", "message_id", "status", "versions", "active", "version_count", "version_active", "parts", "attachments", "usage", "seq", "run_id", "error"}]}`,
		},
		{
			Method: "DELETE", Path: "/chats/{id}", Status: 200, handle: a.deleteChat,
			Doc:   "Deletes a conversation; its run is cancelled first.",
			Reply: `{"ok": true}`,
		},
		{
			Method: "PATCH", Path: "/chats/{id}", Status: 200, handle: a.patchChat,
			Doc:  "Names a conversation, or files it under a project; an empty project takes it out of its own.",
			Body: `{"title"?, "project"?}`, Reply: `{"ok": true}`,
		},
		{
			Method: "GET", Path: "/api/v1/runs/{id}/events", Status: 200, handle: a.runEvents,
			Doc:   "The records of a run in native form, its question first: what there is, then what comes, to its end. With Last-Event-ID or ?after= it goes on after that record; 204 when nothing follows.",
			Reply: "text/event-stream",
		},
		{
			Method: "GET", Path: "/settings", Status: 200, handle: a.getSettings,
			Doc:   "The settings as a flat object. Secrets are not in it.",
			Reply: `{key: value}`,
		},
		{
			Method: "POST", Path: "/settings", Status: 200, handle: a.setSettings,
			Doc:  "Changes the keys that are named, all or none; null goes back to the default. They count from the next request on.",
			Body: `{key: value}`, Reply: `{key: value}`,
		},
		{
			Method: "POST", Path: "/link", Status: 200, handle: a.link, tokenOnly: true,
			Doc:   "Mints a launch link that lets one browser in, once, within ten minutes. Needs the token itself.",
			Reply: `{"ok": true, "path", "url", "expires_in": seconds}`,
		},
		{
			Method: "GET", Path: "/launch", Status: 303, handle: a.launch, open: true, link: true,
			Doc: "Takes the one-time code of a launch link, sets the cookie and goes to the page.",
		},
		{
			Method: "GET", Path: "/health", Status: 200, handle: a.health, open: true, quiet: true,
			Doc:   "Says that the server is there, and which.",
			Reply: `{"ok": true, "version": 2, "product": "verbatim", "product_version", "model", "epoch"}`,
		},
		{
			Method: "GET", Path: "/healthz", Status: 200, handle: a.healthz, open: true, quiet: true,
			Doc: "Says that the process lives.", Reply: `{"ok": true}`,
		},
		{
			Method: "GET", Path: "/readyz", Status: 200, handle: a.readyz, open: true, quiet: true,
			Doc: "Says whether new work may be sent: 503 while it shuts down or the disk is full.", Reply: `{"ok": true}`,
		},
		{
			Method: "GET", Path: "/metrics", Status: 200, handle: a.serveMetrics, quiet: true,
			Doc: "Figures for Prometheus. No text of a turn is in them.", Reply: "text/plain",
		},
		{
			Method: "GET", Path: "/", Status: 200, handle: a.page, open: true, link: true,
			Doc: "The plain page.", Reply: "text/html",
		},
		{
			Method: "GET", Path: "/assets/...", Status: 200, handle: a.asset, open: true,
			Doc: "The page's script and style.",
		},
	}
}

// routeTree finds routes by path. It is small enough to be searched.
type routeTree []Route

func newRouteTree(table []Route) routeTree { return table }

// find returns the route of a request, or the methods of its path if it has
// others, or neither. HEAD is GET without a body, except where GET uses
// something up.
func (t routeTree) find(method, p string) (*Route, string) {
	var allow []string
	for i := range t {
		r := &t[i]
		if !r.matches(p) {
			continue
		}
		head := r.Method == http.MethodGet && r.Status == http.StatusOK
		if r.Method == method || head && method == http.MethodHead {
			return r, ""
		}
		allow = append(allow, r.Method)
		if head {
			allow = append(allow, http.MethodHead)
		}
	}
	slices.Sort(allow)
	return nil, strings.Join(allow, ", ")
}

func (r *Route) matches(p string) bool {
	if prefix, ok := strings.CutSuffix(r.Path, "..."); ok {
		return strings.HasPrefix(p, prefix) && len(p) > len(prefix)
	}
	prefix, suffix, ok := r.around()
	if !ok {
		return p == r.Path
	}
	rest, ok := strings.CutPrefix(p, prefix)
	if !ok {
		return false
	}
	name, ok := strings.CutSuffix(rest, suffix)
	return ok && name != "" && !strings.Contains(name, "/")
}

// around returns what stands before and behind the part in braces.
func (r *Route) around() (prefix, suffix string, ok bool) {
	prefix, rest, ok := strings.Cut(r.Path, "{")
	_, suffix, _ = strings.Cut(rest, "}")
	return prefix, suffix, ok
}

// name returns the part of the path that stands for an id. It is not checked.
func (a *API) name(e *entry) string {
	prefix, suffix, _ := e.route.around()
	prefix = strings.TrimSuffix(prefix, "...")
	return strings.TrimSuffix(strings.TrimPrefix(a.inside(e.URL.Path), prefix), suffix)
}
