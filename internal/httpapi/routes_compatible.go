package httpapi

// compatibleRoutes are those of the compatible layer.
func (a *API) compatibleRoutes() []Route {
	return []Route{
		{
			Method: "POST", Path: "/chat", Status: 200, handle: a.send,
			Doc:   "Sends a message, or attaches to the run of a known run_id, and answers with the run's stream, which begins when the message's turn has come. With Last-Event-ID or ?after= it goes on after that event; 204 when nothing follows.",
			Body:  `{"prompt", "chat_id"?, "session"?, "run_id"?, "tools"?: bool, "regenerate_of"?: row, "attachments"?: [{"name"?, "url": "data:…"} or {"name"?, "text"}]}`,
			Reply: "text/event-stream",
		},
		{
			Method: "POST", Path: "/cancel/{run_id}", Status: 200, handle: a.cancelByPath,
			Doc:   "Stops a run, and takes what waits behind it out of the queue; a run that waits is taken out alone. Again, or after its end, it changes nothing and is still well.",
			Reply: `{"ok": true, "run_id"}`,
		},
		{
			Method: "POST", Path: "/cancel", Status: 200, handle: a.cancelByBody,
			Doc:  "The same, with the run in the body.",
			Body: `{"run_id"}`, Reply: `{"ok": true, "run_id"}`,
		},
		{
			Method: "POST", Path: "/approve/{approval_id}", Status: 200, handle: a.approve,
			Doc:  "Decides about a tool call that waits. The first decision wins; the same one again is still well, and another one, or one that comes too late, finds nothing (404) and runs nothing.",
			Body: `{"choice": "allow" or "always" or "deny"}`, Reply: `{"ok": true}`,
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
			Method: "POST", Path: "/project/{id}", Status: 200, handle: a.fileChat,
			Doc:  "Files a conversation under a project; an empty one takes it out of its own.",
			Body: `{"project"}`, Reply: `{"ok": true}`,
		},
		{
			Method: "POST", Path: "/fork/{id}/{idx}", Status: 200, handle: a.fork,
			Doc:   "Copies the rows from the first to this one, with all versions, into a new conversation. An answer under way is copied as interrupted.",
			Reply: `{"ok": true, "id"}`,
		},
		{
			Method: "DELETE", Path: "/messages/{id}/{idx}", Status: 200, handle: a.deleteRow,
			Doc:   "Deletes a turn, question and answer, whichever of its rows is named; its run is cancelled first. remaining counts the rows that are left.",
			Reply: `{"ok": true, "remaining"}`,
		},
		{
			Method: "POST", Path: "/messages/{id}/{idx}", Status: 200, handle: a.deleteRow,
			Doc: "The same, for clients that can't send DELETE.", Reply: `{"ok": true, "remaining"}`,
		},
		{
			Method: "POST", Path: "/version/{id}/{idx}/{n}", Status: 200, handle: a.setVersion,
			Doc:   "Shows another version of an answer, counted from 0; idx is that of the question or of its answer.",
			Reply: `{"ok": true, "active", "count", "content"}`,
		},
		{
			Method: "GET", Path: "/search", Status: 200, handle: a.search,
			Doc:   "The newest questions and answers that have all words of ?q=, at most 20.",
			Reply: `{"hits": [{"id", "title", "snippet", "message_index"}]}`,
		},
		{
			Method: "GET", Path: "/projects", Status: 200, handle: a.listProjects,
			Doc:   "The names of all projects, those that only conversations have too, and what projects tell the model.",
			Reply: `{"projects": [name], "instructions": {name: text}}`,
		},
		{
			Method: "POST", Path: "/projects", Status: 200, handle: a.setProject,
			Doc:  "Stores what a project tells the model, from the next request on; it may be empty.",
			Body: `{"project", "instructions"}`, Reply: `{"ok": true}`,
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
	}
}
