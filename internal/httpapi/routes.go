package httpapi

import "slices"

// Route is one line of the wire: what it takes and what it answers. The table
// of routes makes the server and the reference page.
type Route struct {
	Method string
	// Path may have parts in braces, each for one part of an address, or end
	// in "/..." for all that begins with it. Errors below nativePrefix have
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
	// signed ones are let in by a signature that their handler checks.
	open, link, tokenOnly, quiet, signed bool
	// file routes take a body of any type, at most limit bytes if that is not
	// 0, else MaxBodyBytes.
	file  bool
	limit int64
}

// bodyLimit is the largest body that the route takes; of no route that of all.
func (r *Route) bodyLimit() int64 {
	if r == nil || r.limit == 0 {
		return MaxBodyBytes
	}
	return r.limit
}

// Open reports that the route needs neither token nor cookie.
func (r Route) Open() bool { return r.open }

// Routes returns the table of routes in the order of the reference page.
func Routes() []Route { return (*API)(nil).table() }

// table is the compatible layer, the native one, and the server's own routes. Of
// two routes that fit an address the first is taken.
func (a *API) table() []Route {
	return slices.Concat(a.compatibleRoutes(), a.nativeRoutes(), a.hookRoutes(), a.ownRoutes())
}

// ownRoutes are those of the server itself: the way in, figures, the page.
func (a *API) ownRoutes() []Route {
	return []Route{
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
