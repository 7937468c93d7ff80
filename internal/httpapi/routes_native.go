package httpapi

// nativeRoutes are those of the native layer.
func (a *API) nativeRoutes() []Route {
	return []Route{
		{
			Method: "GET", Path: "/api/v1/runs/{id}/events", Status: 200, handle: a.runEvents,
			Doc:   "The records of a run in native form, its question first: what there is, then what comes, to its end. With Last-Event-ID or ?after= it goes on after that record; 204 when nothing follows.",
			Reply: "text/event-stream",
		},
	}
}
